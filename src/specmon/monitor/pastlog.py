"""The log lines that stand before the followed part of a log: kept for the log's screen as its past is read.

The past is told several times, each time from further back. Each line is kept once, the newest ones first, as many as
there is room for beside the lines to come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from specmon.monitor.loglines import LogBuffer
from specmon.monitor.logstore import Trait


class PastLog(LogBuffer):
    """Takes the lines of one telling of the past that are not in the log yet."""

    def __init__(self, log: LogBuffer, source: str, start: int, end: int) -> None:
        """Lines of `source` (its key) are wanted from `start` on, up to `end`, at which a line begins."""
        # Not a buffer of its own: lines go into the store of the other one.
        self.revision, self.held, self.only, self._lines = 0, 1, None, deque(maxlen=1)
        self.store = log.store
        self.first = max(start, end - log.past_room_bytes)
        self.end = end
        self.lowest = end  # place of the first line that was kept
        self._log = log
        self._batch = self.store.begin_batch(source)

    def add(
        self, server: str, position: int, at: float | None, raw: bytes, traits: int = 0, carried: bytes = b""
    ) -> None:
        """Keep a line, if it is wanted."""
        if self.first <= position < self.end:
            self.store.add(server, position, at, raw, traits, carried, batch=self._batch)
            self._kept(position, len(raw) + len(carried))

    def add_text(
        self,
        server: str,
        text: bytes,
        position: int,
        times: Sequence[tuple[int, float]],
        before: float | None,
        traits: Iterable[tuple[Trait, Sequence[int]]],
    ) -> None:
        """Keep what is wanted of many whole lines."""
        cut = max(0, self.first - position)
        if cut:
            cut = text.find(b"\n", cut - 1) + 1 or len(text)
        text, position = text[cut : max(0, self.end - position)], position + cut
        if text:
            self.store.add_text(server, text, position, times, before, traits, batch=self._batch)
            self._kept(position, len(text))

    def mark(self, server: str, position: int, trait: Trait) -> None:
        """A line that came a while ago turns out to be something."""
        if self.first <= position < self.end:
            self.store.mark(server, position, trait)

    def show(self, server: str, position: int, at: float | None, raw: bytes) -> None:
        """The panels show the newest lines only."""

    def skip(self, lines: int) -> None:
        """Likewise."""

    def _kept(self, position: int, size: int) -> None:
        self.lowest = min(self.lowest, position)
        self._log.past_room_bytes = max(0, self._log.past_room_bytes - size)
