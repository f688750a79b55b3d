"""The far side's part in reading a file: three shell scripts, built here and recognised again here.

Rules as in `remote_commands`: POSIX shell, every word quoted, nothing written, no newline, no backslash. What a script
says begins with a mark that only this call knows, so that neither a login shell that greets nor any content of a log
can pass for an answer.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from specmon.sources.shell_words import command_text, is_number, operand

HEAD_BYTES = 256  # as much of a file's beginning, or of what lies before a position, as tells one file from another
BATCH_BYTES = 16 * 65536  # at most so much is read between two looks
BLOCK_BYTES = 65536  # a range is read in whole blocks

# device, inode and size: GNU and BusyBox, then BSD, then what POSIX has (no device number there).
_STAT = (
    's() { stat -L -c "%d %i %s" -- "$1" 2>/dev/null || stat -L -f "%d %i %z" -- "$1" 2>/dev/null || '
    '{ set -- $(ls -Lin -- "$1" 2>/dev/null); [ -n "$6" ] && echo "0 $1 $6"; }; }; '
)

_LOOK = (
    # The head is read between two looks at the numbers: it must not be that of a file that came in between, and a
    # size must not be older than the head.
    _STAT + f'f() {{ for q in 1 2 3 4 5; do a=$(s "$2"); h=$(od -An -v -tx1 -N {HEAD_BYTES} -- "$2" 2>/dev/null); '
    'b=$(s "$2"); [ "${a% *}" = "${b% *}" ] && break; done; echo "$1" $b $h; }; '
    'echo "$3"; for c in dd od tail dirname; do command -v $c >/dev/null 2>&1 || { echo "lacks $c"; exit 0; }; done; '
    'd=$(dirname -- "$1"); '
    'if [ -d "$1" ]; then echo directory; '
    'elif [ -f "$1" ] && [ -r "$1" ]; then f file "$1"; '
    'elif [ -f "$1" ]; then echo unreadable; '
    'elif [ -e "$1" ]; then echo special; '
    'elif [ -e "$d" ] && [ -x "$d" ]; then echo missing; '
    'elif [ -e "$d" ]; then echo unreadable; '
    "else echo missing; fi; "
    # A file that was renamed while nobody looked is found again by its number, in the same folder. Of those that were
    # rotated away after it, the oldest is next; only names that a rotation gives count: a.log.1, a.log-20261130.
    '[ -n "$2" ] && m=$(find "$d" -maxdepth 1 -type f -inum "$2" 2>/dev/null | head -n 1) && [ -n "$m" ] || exit 0; '
    'o=; if [ ! "$m" -ef "$1" ]; then for n in "$1".[0-9]* "$1"-[0-9]*; do x=${n#"$1"}; x=${x#?}; '
    '[ -f "$n" ] && [ "$n" -nt "$m" ] && [ -z "$(printf "%s" "$x" | tr -d 0-9.:T_-)" ] || continue; '
    'if [ -z "$o" ] || [ "$o" -nt "$n" ]; then o=$n; fi; done; fi; '
    '[ -z "$o" ] || f "later ${o#"$1"}" "$o"; f moved "$m"; printf "%s" "$m"; exit 0'
)

# stdout: bytes as `dd` reads them, and after them a line "MARK|KIND|OFFSET|HEX|NUMBERS" that says how the file stood
# after the reading. Only with that line are the bytes known to belong to the file that was opened: a `tail -f` would
# jump into the beginning of a truncated file by itself, without saying where. So `tail` only wakes us here, and what it
# prints is thrown away (GNU tail polls a descriptor; every 20 ms costs it 0.1 % of a core). The second thing that wakes
# us is the clock. Reading goes on without waiting as long as the last reading was a full one.
# HEX is what lies before the position, or the file's head when nothing new came. Numbers are those of the
# open file, then those of the path.
# `cat` ends when the channel closes and takes the rest with it. When the tail dies, stdout ends.
_TAIL = (
    _STAT + 'export LC_ALL=C; p=$3 i=$4 e=$2 q=$2 z=$5 m=$6 r=first; exec 3<"$1" 4<"$1" 5>&1 || exit 66; '
    # A seek: no byte is read.
    '[ "$e" = 0 ] || dd bs=1 skip="$e" count=0 <&3 >/dev/null 2>&1; '
    # Linux opens /dev/fd/3 anew, at the first byte; elsewhere that would move our own position.
    "if [ -d /proc/self/fd ]; then w=own f=/dev/fd/3; else w=path f=$p; fi; g=; "
    'case $(stat -L -c "%d %i %s" /dev/fd/3 2>/dev/null) in *" "*" "*) g=gnu;; '
    '*) case $(stat -L -f "%d %i %z" <&3 2>/dev/null) in *" "*" "*) g=bsd;; esac;; esac; '
    # What is before the position for certain: the size at a look before the last reading, when that reached the end.
    "k() { case $r in 0+0*|16+0*) j=0;; *) j=$((e-256)); [ $j -gt 0 ] || j=0;; esac; "
    f'x=$(od -An -v -tx1 -j $j -N {HEAD_BYTES} -- "$f" 2>/dev/null); case $g in '
    'gnu) a=$(stat -L -c "%d %i %s" -- /dev/fd/3 "$p" 2>/dev/null);; '
    'bsd) a="$(stat -L -f "%d %i %z" <&3) $(s "$p")";; '
    '*) a="$(s /dev/fd/3) $(s "$p")";; esac; '
    'echo "$m|$w|$j|"$x"|"$a; set -- $a; case $r in first|16+0*) ;; *) e=$q;; esac; q=$3; }; '
    'v=; case $(tail --version 2>/dev/null) in *GNU*) v="-s 0.02";; esac; '
    '{ trap "" PIPE; exec 5>&-; tail -c "+$((z+1))" -f $v <&4 2>/dev/null & t=$! ; '
    'while sleep "$i" && kill -0 $t && echo; do :; done; kill $t; } 2>/dev/null | { k; while :; do '
    "case $r in first|16+0*) n=;; *) n=$(dd bs=65536 count=1 2>&1 >/dev/null 5>&-);; esac; "
    "case $n in 0+0*) exit;; esac; "
    "r=$(dd bs=65536 count=16 <&3 2>&1 >&5); "
    # The tail is behind us after a burst; its old news is not worth a look.
    'case "$n $r" in 1+0*" "*0+0" records in"*) continue;; esac; k; done; } & l=$! ; '
    "exec >/dev/null 2>&1 5>&-; cat; kill $l; exit 0"
)

# A range of a file, packed where the far side has gzip, between two marked lines that say how the file stood before and
# after the reading. $2: bytes before it, $3: blocks, $4: "gzip" to ask for packing.
_RANGE = (
    _STAT + f'export LC_ALL=C; exec 3<"$1" || exit 66; f=$1 m=$5 z=cat; [ -d /proc/self/fd ] && f=/dev/fd/3; '
    f'l() {{ x=$(od -An -v -tx1 -N {HEAD_BYTES} -- "$f" 2>/dev/null); echo "$m|$z|$(s "$f")|"$x; }}; '
    '[ "$4" = gzip ] && command -v gzip >/dev/null && z="gzip -c1"; l; '
    '[ "$2" = 0 ] || dd bs=1 skip="$2" count=0 <&3 >/dev/null 2>&1; '
    f'dd bs={BLOCK_BYTES} count="$3" <&3 2>/dev/null | $z; l; exit 0'
)


def fresh_mark() -> str:
    """A word that nobody else can know."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class LookAt:
    """Ask what lies at a path, and where the file with a known inode is now."""

    path: str
    inode: int | None = None
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        return command_text(_LOOK, operand(self.path), "" if self.inode is None else str(self.inode), self.mark)


@dataclass(frozen=True, slots=True)
class Tail:
    """Read a file from a byte on as it grows, with looks at it and at a path (its own, unless it was renamed)."""

    path: str
    offset: int  # bytes before the first one that is wanted
    watch: str
    interval_s: float = 1  # between two looks when nothing is written
    size: int = 0  # bytes that it holds already; only a hint that saves the far side work
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        numbers = (str(self.offset), operand(self.watch), f"{self.interval_s:g}", str(self.size))
        return command_text(_TAIL, operand(self.path), *numbers, self.mark)


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Read whole blocks of a file from a byte on, once."""

    path: str
    start: int
    blocks: int
    is_packed: bool = True  # where the far side can
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        packing = "gzip" if self.is_packed else "plain"
        return command_text(_RANGE, operand(self.path), str(self.start), str(self.blocks), packing, self.mark)


def parse_file_command(words: list[str]) -> LookAt | Tail | ReadRange | None:
    """Recognise the words of a command that this module built."""
    match words:
        case ["exec", "sh", "-c", script, "specmon", path, inode, mark] if script == _LOOK:
            return LookAt(path, int(inode) if is_number(inode) else None, mark)
        case ["exec", "sh", "-c", script, "specmon", path, offset, watch, interval, size, mark] if script == _TAIL:
            if is_number(offset) and is_number(size) and is_number(interval.replace(".", "", 1)):
                return Tail(path, int(offset), watch, float(interval), int(size), mark)
        case ["exec", "sh", "-c", script, "specmon", path, start, blocks, packing, mark] if script == _RANGE:
            if is_number(start) and is_number(blocks):
                return ReadRange(path, int(start), int(blocks), packing == "gzip", mark)
    return None
