"""The log of a session as a screen reads it: all servers' lines by time, through a filter, searched in short steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from specmon.monitor.logcolumns import Integers, Order
from specmon.monitor.logpage import Kind, LineView, LogFilter, LogRow, LogServer
from specmon.monitor.logpattern import FaultyPattern, LogPattern, pattern_of, shown_text
from specmon.monitor.logstore import LogStore, Trait
from specmon.monitor.snapshot import LogLine, Role

if TYPE_CHECKING:
    from specmon.monitor.session import Session

_AT_ONCE = 1000  # lines of one step of a filter or a search: a few ms
_KEPT_TEXTS = 1000
_LINES_BEFORE = 200  # from which a line is read as the session read it
_LINES_AFTER = 4
_STATISTICS = Trait.SAMPLE | Trait.PREFILL | Trait.PHASES
_UNKNOWN, _NO, _YES = 0, 1, 2


class SessionLog:
    """A `LogBook` over the store of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._store: LogStore = session.log.store
        self._order = Order()
        self._filter = LogFilter()
        self._sieve: _Sieve | None = None
        self._shown: Integers | None = None  # numbers of the rows; None: to be made
        self._texts: dict[int, str] = {}
        self._servers: tuple[LogServer, ...] = ()
        self._servers_of = -1  # the version of the session that they are of

    @property
    def count(self) -> int:
        """Rows."""
        return len(self._numbers())

    @property
    def total(self) -> int:
        """Lines that are known."""
        return len(self._order.numbers)

    @property
    def servers(self) -> tuple[LogServer, ...]:
        """Whose lines there are."""
        if self._servers_of != (version := self._session.version):
            self._servers_of = version
            names = self._session.names()
            lowest = self._store.lowest
            self._servers = tuple(
                LogServer(
                    each.key,
                    names[each.key],
                    each.role,
                    lowest.get(each.key, 0),
                    each.past is not None and each.past.is_awaited,
                )
                for each in self._session.servers
            )
        return self._servers

    def sync(self) -> bool:
        """Take in what has come."""
        shifts = self._session.axis.shifts
        has_changed = self._order.sync(self._store, [shifts.get(key, 0.0) for key in self._store.keys])
        if has_changed:
            self._shown = None
        return has_changed

    def rows(self, first: int, count: int) -> tuple[LogRow, ...]:
        """Consecutive rows."""
        servers = {each.key: each for each in self.servers}
        numbers = self._numbers()[max(first, 0) : max(first, 0) + count].tolist()
        return tuple(self._row(number, servers) for number in numbers if number >= self._store.first)

    def index_of(self, number: int) -> int | None:
        """The row of a line, or the nearest."""
        numbers = self._numbers()
        if not len(numbers):
            return None
        found = np.flatnonzero(numbers == number)
        if len(found):
            return int(found[0])
        place = np.flatnonzero(self._order.numbers == number)
        if not len(place):
            return 0
        is_before = np.isin(self._order.numbers[: int(place[0])], numbers)
        return min(int(np.count_nonzero(is_before)), len(numbers) - 1)

    def index_at(self, at: float, server: str = "", position: int | None = None) -> int | None:
        """The row of a server at a place of its log, else at a moment."""
        order, store = self._order, self._store
        if not len(order.numbers):
            return None
        wanted = np.ones(len(order.numbers), np.bool_)
        if server:
            keys = [each.key for each in self.servers if server in (each.name, each.key)]
            codes = [code for code, key in enumerate(store.keys) if key in keys]
            wanted = np.isin(self._column("server")[order.numbers - store.first], codes)
        if not wanted.any():
            wanted[:] = True
        candidates = np.flatnonzero(wanted)
        if position is not None:
            places = self._column("position")[order.numbers[candidates] - store.first]
            if len(exact := candidates[places == position]):
                return self.index_of(int(order.numbers[exact[0]]))
        later = candidates[order.moments[candidates] >= at]
        return self.index_of(int(order.numbers[later[0] if len(later) else candidates[-1]]))

    # -- filter and search ---------------------------------------------------------------------------

    def choose(self, wanted: LogFilter) -> str:
        """Show only some lines."""
        try:
            pattern = pattern_of(wanted.pattern) if wanted.pattern else None
        except FaultyPattern as fault:
            return str(fault)
        if pattern is None:
            self._sieve = None
        elif self._sieve is None or wanted.pattern != self._filter.pattern:
            self._sieve = _Sieve(self._store, pattern)
        self._filter = wanted
        self._shown = None
        return ""

    def work(self) -> float | None:
        """Let the filter look at some more lines."""
        if self._sieve is None or not self._sieve.step():
            return None
        self._shown = None
        return self._sieve.share

    def hunt(self, pattern: str, start: int, step: int) -> _Hunt | str:
        """Search from a row on."""
        try:
            return _Hunt(self._store, self._numbers(), pattern_of(pattern), start, step)
        except FaultyPattern as fault:
            return str(fault)

    def spans(self, pattern: str, text: str) -> list[tuple[int, int]]:
        """Where a pattern matches in a text."""
        try:
            return pattern_of(pattern).spans(text) if pattern else []
        except FaultyPattern:
            return []

    # -- one line ------------------------------------------------------------------------------------

    def line_at(self, key: str, position: int) -> LineView | None:
        """The line of a server at a byte of its log."""
        number = self._store.number_at(key, position)
        return None if number is None else self.view(number)

    def view(self, number: int) -> LineView | None:
        """One line in full."""
        from specmon.monitor.lineview import view_line  # the parsers, for whoever opens a line

        store = self._store
        if not store.first <= number < store.end:
            return None
        part, index = store.place(number)
        server = part.server[index]
        line = self._row(number, {each.key: each for each in self.servers}).line
        earlier = (each for each in range(number - 1, max(number - 20 * _LINES_BEFORE, store.first) - 1, -1))
        later = (each for each in range(number + 1, min(number + 20 * _LINES_AFTER, store.end)))
        return view_line(
            line,
            shift_s=self._order.shift_of(server),
            position=part.position[index],
            text=store.text(number),
            carried=store.carried(number),
            reader=self._session.new_reader(),
            before=self._around(earlier, server, _LINES_BEFORE)[::-1],
            after=self._around(later, server, _LINES_AFTER),
        )

    def _around(self, numbers: Iterable[int], server: int, most: int) -> list[bytes]:
        found: list[bytes] = []
        for number in numbers:
            part, index = self._store.place(number)
            if part.server[index] != server:
                continue
            physical = self._store.carried(number) or self._store.text(number)
            if physical is None or len(found) == most:
                break
            found.append(physical)
        return found

    # -- parts ---------------------------------------------------------------------------------------

    def _row(self, number: int, servers: dict[str, LogServer]) -> LogRow:
        part, index = self._store.place(number)
        key = self._store.keys[part.server[index]]
        known = servers.get(key)
        text = self._text(number)
        is_sample, excluded = False, None
        if known is not None and part.traits[index] & Trait.SAMPLE:
            is_sample, _, excluded = self._session.server(key).mark_of(part.position[index])
        at = part.at[index] + self._order.shift_of(part.server[index])
        line = LogLine(
            server=known.name if known is not None else key,
            role=known.role if known is not None else Role.UNKNOWN,
            at=at if at == at else None,
            text="(no longer held)" if text is None else text,
            is_stats=bool(part.traits[index] & _STATISTICS),
            is_unparsed=bool(part.traits[index] & Trait.UNPARSED),
            excluded=excluded,
            is_counted=is_sample and excluded is None,
        )
        return LogRow(number, line, text is not None)

    def _text(self, number: int) -> str | None:
        text = self._texts.get(number)
        raw = self._store.text(number) if text is None else None
        if text is None and raw is not None:
            if len(self._texts) >= _KEPT_TEXTS:
                self._texts.clear()
            text = self._texts[number] = shown_text(raw)
        return text

    def _numbers(self) -> Integers:
        if self._shown is None:
            self._shown = self._select()
        return self._shown

    def _select(self) -> Integers:
        numbers, wanted, store = self._order.numbers, self._filter, self._store
        if wanted.is_open or not len(numbers):
            return numbers
        keep = np.ones(store.end - store.first, np.bool_)
        if wanted.server is not None:
            code = store.keys.index(wanted.server) if wanted.server in store.keys else -1
            keep &= self._column("server") == code
        if wanted.kind is not Kind.ALL:
            is_stats = (self._column("traits") & (_STATISTICS | Trait.UNPARSED)) > 0
            keep &= is_stats if wanted.kind is Kind.STATISTICS else ~is_stats
        if self._sieve is not None:
            keep &= self._sieve.passed(store.first, store.end)
        return numbers[keep[numbers - store.first]]

    def _column(self, name: str) -> Integers:
        parts = list(self._store.parts_from(self._store.first))
        return np.concatenate([np.array(getattr(part, name), np.int64) for part, _ in parts])


class _Sieve:
    """Which lines match a pattern: the newest first, then what comes, then back to the oldest."""

    def __init__(self, store: LogStore, pattern: LogPattern) -> None:
        self._store = store
        self._pattern = pattern
        self._base = store.first
        self._verdicts = np.zeros(store.end - store.first, np.uint8)
        self._low = self._high = store.end

    @property
    def share(self) -> float:
        """0..1 of the lines that have been looked at."""
        known = self._store.end - self._store.first
        return 1.0 if not known else (self._high - max(self._low, self._store.first)) / known

    def step(self) -> bool:
        """Look at some more; False when there is nothing to look at."""
        store = self._store
        if self._high < store.first:  # nobody asked for so long that all that was known has gone
            self._low = self._high = store.first
        if self._high < store.end:
            end = min(self._high + _AT_ONCE, store.end)
            self._look(self._high, end)
            self._high = end
        elif self._low > store.first:
            first = max(self._low - _AT_ONCE, store.first)
            self._look(first, self._low)
            self._low = first
        else:
            return False
        return True

    def passed(self, first: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each of these lines whether it is known to match."""
        found = np.zeros(end - first, np.bool_)
        start = max(first, self._base)
        stop = min(end, self._base + len(self._verdicts))
        if start < stop:
            found[start - first : stop - first] = self._verdicts[start - self._base : stop - self._base] == _YES
        return found

    def _look(self, first: int, end: int) -> None:
        if self._store.first - self._base > len(self._verdicts) // 4:
            self._verdicts = self._verdicts[self._store.first - self._base :]
            self._base = self._store.first
        if (over := end - self._base - len(self._verdicts)) > 0:
            grown = np.zeros(max(over, len(self._verdicts) // 8), np.uint8)
            self._verdicts = np.concatenate((self._verdicts, grown))
        matches = self._pattern.matches
        found = [_YES if text is not None and matches(text) else _NO for text in self._store.texts(first, end)]
        self._verdicts[first - self._base : end - self._base] = found


class _Hunt:
    """Looks at rows one way until one matches, once around."""

    def __init__(self, store: LogStore, numbers: Integers, pattern: LogPattern, start: int, step: int) -> None:
        self.found: int | None = None
        self._store = store
        self._numbers = numbers
        self._pattern = pattern
        self._start = start
        self._step = step
        self._seen = 0

    @property
    def share(self) -> float:
        """0..1 of the rows that have been looked at."""
        return self._seen / len(self._numbers) if len(self._numbers) else 1.0

    @property
    def has_wrapped(self) -> bool:
        """Whether the row that was found lies on the other side of the start."""
        return self.found is not None and (self.found - self._start) * self._step < 0

    def step(self) -> bool:
        """Look at some more rows."""
        total = len(self._numbers)
        for _ in range(min(_AT_ONCE, total - self._seen)):
            index = (self._start + self._step * self._seen) % total
            self._seen += 1
            number = int(self._numbers[index])
            text = self._store.text(number) if number >= self._store.first else None
            if text is not None and self._pattern.matches(text):
                self.found = index
                return True
        return self._seen >= total
