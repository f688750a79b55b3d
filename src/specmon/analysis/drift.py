"""Whether a baseline still runs at the speed of its reference: first form, on the median of recent samples.

x = ln(C / C_ref) of each clean sample. A level has diverged when the median of the last fifteen x (of at
least three) lies beyond the tolerance: a steady server's speed wanders by several percent for some windows
in a row, so a small departure must last. One of three times the tolerance is believed after three samples
in the middle of a run too. A level comes back only well inside the tolerance.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from specmon.analysis.spread import median_of

SAMPLES_NEEDED = 3
_WINDOW = 15
_SHORT_WINDOW = 5
_OBVIOUS = 3.0  # times the tolerance: believed on the short window
_WAY_BACK = 0.8  # of the tolerance: hysteresis, one alarm a change
_WAY_BACK_HALF = 0.5  # the same for the softer word, which nobody should see come and go
_SETTLED_AFTER = 30  # samples after which a recovered level simply matches


class Drift(Enum):
    """Where a level stands against its reference."""

    WAITING = auto()
    MATCHES = auto()
    DRIFTING = auto()
    DIVERGED = auto()
    RECOVERED = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """The state became another one at a sample."""

    at: float
    state: Drift
    deviation: float  # of the throughput: C_ref / C - 1


class DriftWatch:
    """Follows one level of one run against one reference cycle time."""

    def __init__(self, reference_cycle_ms: float, tolerance: float, *, was_diverged: bool = False) -> None:
        self.state = Drift.WAITING
        self.seen = 0
        self.since: float | None = None  # log clock: when the present departure began
        self.changes: list[Change] = []
        self._reference_ms = reference_cycle_ms
        self._tolerance = tolerance
        self._was_diverged = was_diverged
        self._recent: deque[tuple[float, float]] = deque(maxlen=_WINDOW)
        self._matching = 0

    @property
    def is_diverged(self) -> bool:
        """The level stands outside the tolerance, or did so before this watch and has not shown otherwise."""
        return self.state is Drift.DIVERGED or (self.state is Drift.WAITING and self._was_diverged)

    @property
    def recent_cycle_ms(self) -> float | None:
        """The median C of the most recent samples."""
        return None if not self._recent else self._reference_ms * math.exp(self._middle())

    def add(self, at: float, cycle_ms: float) -> None:
        """Take the next clean sample."""
        if not cycle_ms > 0:
            return
        self.seen += 1
        self._recent.append((at, math.log(cycle_ms / self._reference_ms)))
        if self.seen < SAMPLES_NEEDED:
            return
        middle = self._middle()
        state = self._judge(abs(middle))
        if state in (Drift.MATCHES, Drift.RECOVERED):
            self._matching += 1
        else:
            self._matching = 0
        if state is self.state:
            return
        if state in (Drift.DRIFTING, Drift.DIVERGED):
            if self.state not in (Drift.DRIFTING, Drift.DIVERGED) or state is Drift.DIVERGED:
                self.since = self._onset(middle)
        else:
            self.since = at if state is Drift.RECOVERED else None
        self.state = state
        self.changes.append(Change(at, state, math.exp(-middle) - 1))

    def _middle(self) -> float:
        """The median x that counts: of the newest samples when they are obviously elsewhere, else of more."""
        x = [x for _, x in self._recent]
        newest = median_of(sorted(x[-_SHORT_WINDOW:])) or 0.0
        if abs(newest) > _OBVIOUS * self._tolerance:
            return newest
        return median_of(sorted(x)) or 0.0

    def _judge(self, distance: float) -> Drift:
        limit = self._tolerance * (_WAY_BACK if self.state is Drift.DIVERGED else 1.0)
        if distance > limit:
            self._was_diverged = True
            return Drift.DIVERGED
        if self._was_diverged and self._matching < _SETTLED_AFTER:
            return Drift.RECOVERED
        self._was_diverged = False
        half = self._tolerance / 2 * (_WAY_BACK_HALF if self.state is Drift.DRIFTING else 1.0)
        return Drift.DRIFTING if distance > half else Drift.MATCHES

    def _onset(self, middle: float) -> float:
        """The first of the recent samples that lies on the side of the departure, beyond half of it."""
        for at, x in self._recent:
            if x * middle > 0 and abs(x) > self._tolerance / 2:
                return at
        return self._recent[-1][0]
