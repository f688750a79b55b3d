"""Logs that lie in the folder of a running server's log: a run that has ended may be among them."""

from __future__ import annotations

from dataclasses import dataclass, field

from specmon.sources.file_commands import fresh_mark
from specmon.sources.machine import Machine
from specmon.sources.shell_words import command_text, operand

HEAD_BYTES = 65536  # a launch line is near the beginning
_LIMIT_S = 20.0

# One line a file, its name in hexadecimal.
_LIST = (
    "x() { od -An -v -tx1; }; "
    'for f in "$1"/*.log "$1"/*.out "$1"/*.err "$1"/*.txt "$1"/*.log.[0-9]*; do '
    '[ -f "$f" ] && [ -r "$f" ] || continue; '
    'n=$(stat -L -c "%Y %s" -- "$f" 2>/dev/null || stat -L -f "%m %z" -- "$f" 2>/dev/null) || continue; '
    'echo log $n : $(printf "%s" "$f" | x); done; exit 0'
)
_HEAD = 'echo "$3"; head -c "$2" -- "$1"; exit 0'


@dataclass(frozen=True, slots=True)
class OldLog:
    """A log file as its folder shows it."""

    path: str
    modified_at: float  # s since 1970, by the host's clock
    size: int


@dataclass(frozen=True, slots=True)
class ListLogs:
    """Ask for the log files of a folder."""

    folder: str

    def text(self) -> str:
        return command_text(_LIST, operand(self.folder))


@dataclass(frozen=True, slots=True)
class ReadHead:
    """Ask for the first bytes of a file."""

    path: str
    size: int = HEAD_BYTES
    mark: str = field(default_factory=fresh_mark)

    def text(self) -> str:
        return command_text(_HEAD, operand(self.path), str(self.size), self.mark)


async def list_logs(machine: Machine, folder: str) -> list[OldLog]:
    """The log files of a folder, the one that was written last first."""
    answer = await machine.run(ListLogs(folder).text(), timeout_s=_LIMIT_S)
    return parse_logs(answer.stdout)


def parse_logs(answer: bytes) -> list[OldLog]:
    """Read the answer to a `ListLogs`; lines that are not understood are passed over."""
    found = []
    for line in answer.splitlines():
        match line.split():
            case [b"log", modified_at, size, b":", *name]:
                try:
                    path = bytes.fromhex(b"".join(name).decode("ascii")).decode("utf-8")
                    found.append(OldLog(path, float(int(modified_at)), int(size)))
                except ValueError:  # a name that cannot be asked for
                    continue
    return sorted(found, key=lambda log: log.modified_at, reverse=True)


async def read_head(machine: Machine, path: str) -> bytes:
    """The first bytes of a file; none when it cannot be read."""
    command = ReadHead(path)
    answer = await machine.run(command.text(), timeout_s=_LIMIT_S)
    return answer.stdout.partition(command.mark.encode("ascii") + b"\n")[2]
