"""Which files a pattern means, on this machine or over SSH."""

from __future__ import annotations

import re
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

# $1: pattern, $2: mark. The pattern's own expansion is a matter of names only: nothing in it is run as a command.
_MATCH = (
    'IFS=; p=$1; echo "$2"; t() { stat -L -c "%d %i %Y" -- "$1" 2>/dev/null || '
    'stat -L -f "%d %i %m" -- "$1" 2>/dev/null || echo 0 0 0; }; if [ -e "$p" ]; then set -f; fi; '
    'for f in $p; do [ -f "$f" ] && '
    'echo $(t "$f" | tr " " ,) $(printf "%s" "$f" | od -An -v -tx1 | tr -dc 0-9a-f); done; exit 0'
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
    return parse_matches(answer)


def parse_matches(answer: bytes) -> list[Match]:
    """Read a line a file: device, inode and time, then the name in hexadecimal."""
    matches = []
    for line in answer.splitlines():
        numbers, _, name = line.partition(b" ")
        try:
            device, inode, seconds = (int(word) for word in numbers.split(b","))
            path = bytes.fromhex(name.decode("ascii")).decode("utf-8")
        except ValueError:  # a name that cannot be asked for
            continue
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
    return any(path != name and path.startswith(name) and _ROTATED.fullmatch(path[len(name) :]) for name in names)
