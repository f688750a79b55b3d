"""How a program is asked on the far side: two shell scripts, built here, and the frame around what they print.

Rules as in `remote_commands`: POSIX shell, every word quoted, nothing written, no newline, no backslash. What the
program prints stands between two marks that only this call knows, so that neither a login shell that greets nor any
line of a log can pass for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from specmon.sources.file_commands import fresh_mark
from specmon.sources.shell_words import command_text

# A shell without a login has a short PATH on many hosts.
_PATH = (
    'PATH="$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/bin:/snap/bin:/opt/slurm/bin:/usr/local/slurm/bin"; '
    "export PATH; "
)
_HAVE = 'm=$1; shift; command -v "$1" >/dev/null 2>&1 || { echo "$m|missing"; exit 0; }; echo "$m|begin"; '

_ASK = _PATH + "export LC_ALL=C; " + _HAVE + 'exec "$@" </dev/null'

# The program runs in a session of its own where `setsid` is there, so that all of a pipeline ends with it. `cat` ends
# when the channel closes and takes the program with it: a remote signal does not reach every sshd, and a silent program
# would never notice that nobody reads. It watches from beside, and only once the program's number is known: a trap
# would come too late for a reader that leaves at once, or be inherited by a program just forked, which then misses the
# signal. It outlives a shell that is told to go, or the program, in a session of its own, would stay. What does not
# heed a TERM is killed a while later. $1: mark, $2: where stderr goes (1 or 2), $3: LC_ALL or nothing, $4: that while,
# s; then the program's words.
_STREAM = (
    _PATH
    + 'm=$1 e=$2 g=$4; [ -z "$3" ] || { LC_ALL=$3; export LC_ALL; }; shift 4; set -- "$m" "$@"; '
    + _HAVE
    + "w=; command -v setsid >/dev/null 2>&1 && w=setsid; "
    'exec 3<&0 </dev/null; $w "$@" 2>&$e 3<&- & p=$!; '
    '{ trap "" TERM; exec >/dev/null 2>&1; cat <&3; kill -TERM -$p || kill $p; '
    "sleep $g; kill -KILL -$p || kill -KILL $p; } & q=$!; exec 3<&-; "
    "wait $p 2>/dev/null; "
    's=$?; kill -KILL $q 2>/dev/null; kill -TERM -$p 2>/dev/null; echo "$m|end|$s"; exec >/dev/null 2>&1; '
    # What the program has started may be left, and nobody waits for it.
    'kill -0 -$p && { trap "" TERM; sleep $g; kill -KILL -$p; } & exit 0'
)


@dataclass(frozen=True, slots=True)
class Ask:
    """Run a program to its end; `answer_of` reads what came."""

    words: tuple[str, ...]
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        return command_text(_ASK, self.mark, *self.words)

    def answer_of(self, stdout: bytes) -> bytes | None:
        """What the program printed; None when it is not installed there.

        ValueError when the host's shell gave something else altogether.
        """
        _, found, rest = stdout.partition(self.mark.encode("ascii") + b"|")
        word, _, answer = rest.partition(b"\n")
        if not found or word not in (b"begin", b"missing"):
            raise ValueError("no usable answer")
        return answer if word == b"begin" else None


@dataclass(frozen=True, slots=True)
class Stream:
    """Run a program for as long as it goes; `Frame` reads what comes."""

    words: tuple[str, ...]
    joins_stderr: bool = True
    locale: str = "C"  # so that a program complains in English; empty: the user's own
    grace_s: int = 3  # for a program that is told to go, before it is killed
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        return command_text(
            _STREAM, self.mark, "1" if self.joins_stderr else "2", self.locale, str(self.grace_s), *self.words
        )


class Frame:
    """Takes the bytes of a program out of what a `Stream` sends."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode("ascii") + b"|"
        self._held = bytearray()
        self.has_begun = False
        self.is_missing = False
        self.status: int | None = None  # of the program; None while it runs

    @property
    def held_bytes(self) -> int:
        """Bytes that may still be part of a mark, or of a greeting."""
        return len(self._held)

    @property
    def held(self) -> bytes:
        """These bytes."""
        return bytes(self._held)

    def feed(self, data: bytes) -> bytes:
        """The program's own bytes among these."""
        self._held += data
        if not self.has_begun and not self._begin():
            return b""
        end_mark = self._mark + b"end|"
        if (start := self._held.find(end_mark)) >= 0:  # behind a line feed, or behind a last line that has none
            word, end, _ = bytes(self._held[start + len(end_mark) :]).partition(b"\n")
            if end:
                self.status = int(word) if word.isdigit() else 0
            return self._take(start)
        is_open = (size for size in range(len(end_mark) - 1, 0, -1) if self._held.endswith(end_mark[:size]))
        return self._take(len(self._held) - next(is_open, 0))

    def _begin(self) -> bool:
        start = self._held.find(self._mark)
        if start < 0:
            return False
        end = self._held.find(b"\n", start)
        if end < 0:
            return False
        self.is_missing = bytes(self._held[start + len(self._mark) : end]) == b"missing"
        del self._held[: end + 1]
        self.has_begun = True
        return True

    def _take(self, count: int) -> bytes:
        data = bytes(self._held[:count])
        del self._held[:count]
        return data
