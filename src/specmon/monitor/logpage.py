"""What the log's screen asks for and what it gets: rows, a filter, a search, one line in full. Values and one door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from specmon.monitor.snapshot import LogLine, Role


class Kind(StrEnum):
    """Which lines are shown."""

    ALL = "all lines"
    STATISTICS = "statistics only"
    REST = "without statistics"


@dataclass(frozen=True, slots=True)
class LogRow:
    """A line at its place in the log; without its text when that is no longer held."""

    number: int  # names the line for good
    line: LogLine
    is_held: bool = True


@dataclass(frozen=True, slots=True)
class LogServer:
    """A server whose lines are in the log."""

    key: str
    name: str
    role: Role
    before_bytes: int = 0  # of its log that lie before its first line here
    is_awaited: bool = False  # and are being read


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are wanted: all that each field allows."""

    pattern: str = ""  # "": any text
    server: str | None = None  # a key
    kind: Kind = Kind.ALL

    @property
    def is_open(self) -> bool:
        """Whether it lets every line through."""
        return not self.pattern and self.server is None and self.kind is Kind.ALL


@dataclass(frozen=True, slots=True)
class LineView:
    """All that is known of one line."""

    server: str
    role: Role
    at: float | None
    log_at: float | None  # the same on its log's own clock, where that differs
    position: int  # byte in the server's log
    size_bytes: int | None  # as it stands in the log; None when it is no longer held
    raw: str  # as it stands in the log, every other sign than a printable one written out
    text: str  # as its engine wrote it, where a carrier wrapped it; else ""
    carriers: tuple[str, ...] = ()
    engine: str | None = None
    kind: str = ""  # in words
    fields: tuple[tuple[str, str], ...] = ()
    verdict: str = ""  # whether its sample counts, and why not: a sentence


class Hunt(Protocol):
    """A search under way, done in short steps so that nothing has to wait for it."""

    @property
    def found(self) -> int | None:
        """Index of the row, once it is found."""
        ...

    @property
    def has_wrapped(self) -> bool:
        """Whether it went past an end of the log and on from the other one."""
        ...

    @property
    def share(self) -> float:
        """0..1: how much has been looked at."""
        ...

    def step(self) -> bool:
        """Look at some more lines; whether it is over."""
        ...


class LogBook(Protocol):
    """The lines of all servers by time, through a filter. Rows are counted from the oldest."""

    @property
    def count(self) -> int:
        """Rows."""
        ...

    @property
    def total(self) -> int:
        """Lines that are known, whatever the filter."""
        ...

    @property
    def servers(self) -> Sequence[LogServer]:
        """Whose lines there are."""
        ...

    def sync(self) -> bool:
        """Take in what has come; until then every answer is of the same moment. Whether anything changed."""
        ...

    def rows(self, first: int, count: int) -> Sequence[LogRow]:
        """Consecutive rows; fewer at the end."""
        ...

    def index_of(self, number: int) -> int | None:
        """The row of a line, else the nearest one to where it would be; None when there is no row."""
        ...

    def index_at(self, at: float, server: str = "", position: int | None = None) -> int | None:
        """The row of a server (by name or key; "": of any) that stands at a place of its log, else the first one from
        a moment on, else the last one; None when there is no row."""
        ...

    def choose(self, wanted: LogFilter) -> str:
        """Show only some lines; answer why the pattern cannot be used, "" when it can."""
        ...

    def work(self) -> float | None:
        """Let the filter look at some more lines; which share it has seen, None when it has seen all."""
        ...

    def hunt(self, pattern: str, start: int, step: int) -> Hunt | str:
        """Search from a row on, towards the end (1) or the beginning (-1); why the pattern cannot be used."""
        ...

    def spans(self, pattern: str, text: str) -> Sequence[tuple[int, int]]:
        """Where a pattern matches in a text."""
        ...

    def line_at(self, key: str, position: int) -> LineView | None:
        """The line of a server (by its key) at a byte of its log, in full; None when it is not known any more."""
        ...

    def view(self, number: int) -> LineView | None:
        """One line in full; None when it is not known any more."""
        ...
