"""Whether the processes that a label tells apart are parts of one server or servers of their own.

The tasks of a job and the actors of a Ray program may be ranks of one server, two servers side by side, or one
server before and after a restart. Their labels do not say; their statistics lines do:

* another process with statistics of a rank that has some already, while the first one goes on, is another server;
* one that begins after the first one's last line is that server's next life;
* one with statistics of another rank is a part of the server.

Until its first statistics line a process is therefore undecided, and what it says is held.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_HELD_BYTES = 1 << 20  # of one process; beyond, it is a part of the first server
_HELD_BYTES_IN_ALL = 16 << 20
_MOST_PROCESSES = 1000

# The rank that a statistics line is of, "" where it names none.
_STATISTICS = re.compile(
    rb"\[20\d\d-[^\]\n ]{5}[ T][\d:.,]{8,18}((?: [A-Z_]{2,12}\d{1,6}){0,8})\] (?:\[\w{1,8}\] )?Decode batch"
    rb"|Decode batch(?: \[\d{1,15}\])?[,.] ?#()"
    rb"|(?:Engine (\d{1,4}): )?Avg (?:prompt|generation) throughput"
    rb"|()(?<!prompt )eval time =|(?<!_)rank = (\d{1,5}), currank"
)

_Line = TypeVar("_Line")


@dataclass(slots=True)
class _Process(Generic[_Line]):
    first: int  # number of its first line
    last: int
    server: int | None = None
    ranks: set[bytes] = field(default_factory=set)
    held: list[_Line] = field(default_factory=list)
    held_bytes: int = 0


class Members(Generic[_Line]):
    """The processes of one group of labels, each line of which is given in order."""

    def __init__(self) -> None:
        self._lines = 0
        self._servers = 0
        self._held_bytes = 0
        self._processes: dict[str, _Process[_Line]] = {}

    def place(self, member: str, text: bytes, line: _Line) -> tuple[int, list[_Line], list[_Line]] | None:
        """Which server a line is of: its number, what to read (this line last), and what only counts as lines.

        None: not decided yet, the line is held.
        """
        self._lines += 1
        process = self._processes.get(member)
        if process is None:
            if len(self._processes) >= _MOST_PROCESSES:
                return 0, [line], []
            process = self._processes[member] = _Process(self._lines, self._lines)
            if not self._servers:
                self._servers, process.server = 1, 0
        process.last = self._lines
        found = _STATISTICS.search(text)
        rank = None if found is None else (found[found.lastindex or 1] or b"").strip()
        if process.server is not None:
            if rank is not None:
                process.ranks.add(rank)
            return process.server, [line], []
        process.held.append(line)
        process.held_bytes += len(text)
        if rank is not None:
            return self._decide(process, rank)
        self._held_bytes += len(text)
        if process.held_bytes > _HELD_BYTES or self._held_bytes > _HELD_BYTES_IN_ALL:
            process.server = 0
            return 0, [], self._take(process)
        return None

    def finish(self) -> list[tuple[int, list[_Line], list[_Line]]]:
        """The stream has ended: those that are undecided followed the first server, or ran beside it."""
        rest = []
        for process in self._processes.values():
            if process.server is None:
                process.server = 0
                is_beside = any(
                    other.server == 0 and other is not process and other.ranks and other.last > process.first
                    for other in self._processes.values()
                )
                held = self._take(process)
                rest.append((0, [], held) if is_beside else (0, held, []))
        return rest

    def _decide(self, process: _Process[_Line], rank: bytes) -> tuple[int, list[_Line], list[_Line]]:
        for server in range(self._servers):
            others = [other for other in self._processes.values() if other.server == server and other.ranks]
            known = set().union(*(other.ranks for other in others)) if others else set()
            if known and rank and rank not in known and b"" not in known:
                process.server = server
                process.ranks.add(rank)
                *before, line = self._take(process)
                return server, [line], before
            if not known or all(other.last < process.first for other in others):
                process.server = server
                process.ranks.add(rank)
                return server, self._take(process), []
        process.server = self._servers
        self._servers += 1
        process.ranks.add(rank)
        return process.server, self._take(process), []

    def _take(self, process: _Process[_Line]) -> list[_Line]:
        self._held_bytes -= process.held_bytes
        held, process.held, process.held_bytes = process.held, [], 0
        return held
