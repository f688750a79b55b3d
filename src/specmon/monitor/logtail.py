"""The newest log lines as a picture holds them: one is made when somebody looks at it, for few of them are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from specmon.monitor.snapshot import LogLine


class LogTail(Sequence["LogLine"]):
    """Oldest first. Which lines there are is fixed; whether a sample counts is told as it is known when one looks."""

    def __init__(self, count: int, line_at: Callable[[int], LogLine], name_at: Callable[[int], str]) -> None:
        """`line_at` and `name_at` (of the line's server) take places from 0 to `count` - 1."""
        self._count = count
        self._line_at = line_at
        self._name_at = name_at

    @classmethod
    def of(cls, lines: Sequence[LogLine]) -> LogTail:
        """Lines that are made already."""
        return cls(len(lines), lambda place: lines[place], lambda place: lines[place].server)

    def names(self, newest: int) -> set[str]:
        """The servers of the newest lines."""
        return {self._name_at(place) for place in range(max(0, self._count - newest), self._count)}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> LogLine: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[LogLine]: ...

    def __getitem__(self, place: int | slice) -> LogLine | Sequence[LogLine]:
        if isinstance(place, slice):
            return [self._line_at(each) for each in range(self._count)[place]]
        return self._line_at(range(self._count)[place])


EMPTY_LOG = LogTail.of(())
