"""Lines out of a terminal's screen: what one look at a pane shows that the looks before it did not.

A pane has no log: only a screen, and a history of limited length above it. Each look takes the end of both; the lines
that were handed out last are found again in it, and what stands behind them is new. Lines above the cursor's count as
finished. The number of rows that scrolled off tells apart repeated lines that look alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

KNOWN_LINES = 200  # of those handed out last; the same ones in a row twice would be taken for each other


@dataclass(frozen=True, slots=True)
class Screen:
    """One look at a pane."""

    lines: tuple[bytes, ...]  # wrapped lines joined, down to the one above the cursor's
    rows: int  # rows above the cursor, those of the history included
    is_whole: bool  # all that the pane holds, not only its end
    history_is_full: bool = False  # so rows cannot be counted any more


@dataclass(frozen=True, slots=True)
class Fresh:
    """What is new; `has_gap` when the known lines are not there any more."""

    lines: tuple[bytes, ...]
    has_gap: bool = False


@dataclass(slots=True)
class ScreenMemory:
    """The lines that were handed out last."""

    _known: deque[bytes] = field(default_factory=lambda: deque(maxlen=KNOWN_LINES))
    _rows: int | None = None

    def take(self, screen: Screen) -> Fresh | None:
        """What a look shows that is new. None: its lines do not reach back to the known ones; look at all of it."""
        grown = screen.rows - self._rows if self._rows is not None and not screen.history_is_full else None
        start = self._start(screen.lines, grown)
        if start is None and not screen.is_whole:
            return None
        fresh = screen.lines[start or 0 :]
        has_gap = start is None
        self._known.extend(fresh)
        self._rows = screen.rows
        return Fresh(fresh, has_gap)

    def skip(self, screen: Screen) -> None:
        """Take all that a look shows as known."""
        self._known.extend(screen.lines)
        self._rows = screen.rows

    def _start(self, lines: Sequence[bytes], grown: int | None) -> int | None:
        """Where the new lines begin; None: the known ones are not there."""
        known = list(self._known)
        if not known:
            return 0
        places = []
        for end in range(len(lines), 0, -1):
            count = min(end, len(known))
            if lines[end - 1] == known[-1] and list(lines[end - count : end]) == known[-count:]:
                if count < len(known) and not any(line.strip() for line in known[-count:]):
                    continue  # blank lines alone are no proof
                places.append(end)
        if not places:
            return None
        if grown is None or len(places) == 1:
            return places[0]
        # Each new line scrolls a row or more, so that there are at most so many.
        fitting = [end for end in places if len(lines) - end <= grown]
        return fitting[-1] if fitting else places[0]
