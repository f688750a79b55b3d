"""The newest log lines of all servers, in the order of their arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from specmon.monitor.logstore import LogStore, Trait
from specmon.monitor.logtail import LogTail
from specmon.monitor.snapshot import LogLine, Role
from specmon.secrets import hide_in_text
from specmon.visible import visible

HELD_LINES = 1000
PAST_BYTES = 24 << 20  # of all logs together: half of what is held, so that the lines to come have room
_LONGEST = 2000  # characters of a line that are shown
_NO_SHIFTS: Mapping[str, float] = MappingProxyType({})

Excluded = Callable[[int], tuple[bool, bool, str | None]]  # is_stats, is_unparsed, the excluding rule


@dataclass(slots=True)
class _Held:
    server: str  # key
    position: int
    at: float | None
    raw: bytes
    shown: LogLine | None = None  # the last time somebody looked


class LogBuffer:
    """Holds bytes; text is made only when somebody looks."""

    def __init__(self, held: int = HELD_LINES) -> None:
        self.revision = 0  # grows with every line
        self.held = held
        self.only: frozenset[str] | None = None  # servers whose lines are shown beside the panels; None: all
        self.store = LogStore()  # of many more lines, for the log's own screen
        self.past_room_bytes = PAST_BYTES  # for lines that stand before those that were followed
        self._lines: deque[_Held] = deque(maxlen=held)

    def add(
        self, server: str, position: int, at: float | None, raw: bytes, traits: int = 0, carried: bytes = b""
    ) -> None:
        """Take a line (without its line end) in."""
        self.show(server, position, at, raw)
        self.store.add(server, position, at, raw, traits, carried)

    def show(self, server: str, position: int, at: float | None, raw: bytes) -> None:
        """One of the newest lines, which is in the store already, unless only others' are wanted."""
        if self.only is not None and server not in self.only:
            return
        self._lines.append(_Held(server, position, at, raw[: 4 * _LONGEST]))
        self.revision += 1

    def add_text(
        self,
        server: str,
        text: bytes,
        position: int,
        times: Sequence[tuple[int, float]],
        before: float | None,
        traits: Iterable[tuple[Trait, Sequence[int]]],
    ) -> None:
        """Take many whole lines into the store at once (see `LogStore.add_text`)."""
        self.store.add_text(server, text, position, times, before, traits)

    def mark(self, server: str, position: int, trait: Trait) -> None:
        """A line that came a while ago turns out to be something."""
        self.store.mark(server, position, trait)

    def skip(self, lines: int) -> None:
        """Lines that came and went between two looks."""
        self.revision += lines

    def lines(
        self,
        describe: Mapping[str, tuple[str, Role]],
        marks: Mapping[str, Excluded],
        shifts: Mapping[str, float] = _NO_SHIFTS,
    ) -> LogTail:
        """All held lines, oldest first; `shifts` moves the times of servers, by key."""
        held = tuple(self._lines)

        def line_at(place: int) -> LogLine:
            return self._line(held[place], describe, marks, shifts.get(held[place].server, 0.0))

        def name_at(place: int) -> str:
            return describe.get(held[place].server, (held[place].server, Role.UNKNOWN))[0]

        return LogTail(len(held), line_at, name_at)

    def _line(
        self,
        line: _Held,
        describe: Mapping[str, tuple[str, Role]],
        marks: Mapping[str, Excluded],
        shift_s: float,
    ) -> LogLine:
        at = None if line.at is None else line.at + shift_s
        name, role = describe.get(line.server, (line.server, Role.UNKNOWN))
        is_stats, is_unparsed, excluded = marks[line.server](line.position)
        shown = line.shown
        if shown is None:
            text = line_text(line.raw)
        elif (shown.excluded, shown.server, shown.role, shown.at) == (excluded, name, role, at):
            return shown
        else:
            text = shown.text
        line.shown = LogLine(name, role, at, text, is_stats, is_unparsed, excluded)
        return line.shown


def line_text(raw: bytes, longest: int = _LONGEST) -> str:
    """A line as text that cannot steer a terminal and holds no key. Of a progress bar that redraws itself, the last
    state is shown."""
    text = hide_in_text(visible(raw.decode("utf-8", "replace").rstrip("\r\n").rsplit("\r", 1)[-1]))
    return text if len(text) <= longest else text[: longest - 1] + "…"
