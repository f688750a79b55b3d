"""Which files a pattern means, on this machine or over SSH."""

from __future__ import annotations

import re
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from glob import iglob
from pathlib import Path

from specmon.sources.file_commands import fresh_mark
from specmon.sources.files import is_compressed
from specmon.sources.machine import Machine, NoAnswer
from specmon.sources.shell_words import command_text, operand

# What a rotation or a packer makes of a log's name: a.log.1, a.log-20261130, a.log.2.gz.
_ROTATED = re.compile(r"[.-][0-9][0-9.:T_-]*(?:\.\w+)?")
_ROTATION_BEGINS = re.compile(r"[.-](?=[0-9])")

# $1: pattern, $2: mark. The pattern's own expansion is a matter of names only: nothing in it is run as a command. A
# folder may hold thousands of matches and is looked at each second, so that no process is started for each of them.
# A file is "/MARK/device,inode,seconds,mode,name" and a line feed: no name holds the mark. GNU and BusyBox, then BSD;
# without `stat`, only the names are known.
_MATCH = (
    'IFS=; p=$1 m=$2; echo "$m"; '
    "if stat -L -c %d / >/dev/null 2>&1; then "
    't() { stat -L -c "/$m/%d,%i,%Y,%f,%n" -- "$@"; }; '
    "elif stat -L -f %d / >/dev/null 2>&1; then "
    't() { stat -L -f "/$m/%d,%i,%m,%Xp,%N" -- "$@"; }; '
    'else t() { for f in "$@"; do [ -f "$f" ] && echo "/$m/0,0,0,8000,$f"; done; }; fi; '
    'if [ -e "$p" ]; then set -f; fi; n=0; set --; '
    'for f in $p; do set -- "$@" "$f"; n=$((n+1)); [ $n = 200 ] && { t "$@"; n=0; set --; }; done 2>/dev/null; '
    '[ $n = 0 ] || t "$@" 2>/dev/null; exit 0'
)


@dataclass(frozen=True, slots=True)
class Match:
    """A file that a pattern means."""

    path: str
    device: int
    inode: int
    written_at: float  # s since 1970, by the file's machine

    @property
    def identity(self) -> tuple[int, int] | str:
        """What makes it the same file under another name; its path where nothing else is known."""
        return (self.device, self.inode) if self.inode else self.path


Finder = Callable[[], Awaitable[list[Match]]]  # the oldest first


@dataclass(frozen=True, slots=True)
class FindMatches:
    """Ask which files match; a file of exactly that name stands for itself."""

    pattern: str
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        return command_text(_MATCH, operand(self.pattern), self.mark)


async def remote_matches(machine: Machine, pattern: str) -> list[Match]:
    """The files of a host that a pattern means, the oldest first."""
    command = FindMatches(pattern)
    result = await machine.run(command.text())
    _, found, answer = result.stdout.partition(command.mark.encode("ascii") + b"\n")
    if not found:
        raise NoAnswer(f"{machine.name}: the shell gave no usable answer ({result.words})")
    return parse_matches(answer, command.mark)


def parse_matches(answer: bytes, mark: str) -> list[Match]:
    """Read device, inode, time, mode and name of each file; what is no file is left out."""
    matches = []
    for entry in answer.split(f"/{mark}/".encode("ascii"))[1:]:
        *numbers, name = entry.removesuffix(b"\n").split(b",", 4)
        try:
            device, inode, seconds = (int(word) for word in numbers[:3])
            is_file = stat.S_ISREG(int(numbers[3], 16))
            path = name.decode("utf-8")
        except (ValueError, IndexError):  # a name that cannot be asked for
            continue
        if is_file:
            matches.append(Match(path, device, inode, seconds))
    return sorted(matches, key=lambda match: (match.written_at, match.path))


def local_matches(pattern: str) -> list[Match]:
    """The files of this machine that a pattern means, the oldest first."""
    found = [pattern] if Path(pattern).exists() else iglob(pattern)  # noqa: PTH207 (absolute patterns)
    matches = []
    for path in found:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        if Path(path).is_file():
            matches.append(Match(path, status.st_dev, status.st_ino, status.st_mtime))
    return sorted(matches, key=lambda match: (match.written_at, match.path))


def newest(matches: list[Match]) -> Match | None:
    """The one that is written to: not one that was packed, or rotated away from another match."""
    names = {match.path for match in matches}
    live = [match for match in matches if not is_compressed(match.path) and not is_rotated(match.path, names)]
    return live[-1] if live else None


def is_rotated(path: str, names: set[str]) -> bool:
    """Whether a name is what a rotation makes of another one."""
    ends = (place.start() for place in _ROTATION_BEGINS.finditer(path))
    return any(path[:end] in names and _ROTATED.fullmatch(path, end) for end in ends)
