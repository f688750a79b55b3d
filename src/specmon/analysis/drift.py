"""Whether a baseline still runs at the speed of its reference, decided sample by sample (docs/drift.md).

x = ln(C / C_ref) of each clean sample. A level has diverged when two things hold: the evidence of a two-sided CUSUM
has crossed its threshold, and the median x since the estimated change point lies beyond the tolerance by more than
chance. Evidence alone is `drifting`. The noise that both are measured by is the long-run standard deviation of x.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from specmon.analysis.departure import SAMPLES_NEEDED as SAMPLES_NEEDED
from specmon.analysis.departure import Departure, Limits
from specmon.analysis.noise import NoiseLevel
from specmon.analysis.spread import median_of
from specmon.references.model import HAND_WRITTEN_SIGMA

_RECENT = 15
_STILL_MOUNTS = 0.5  # of the threshold: `drifting` ends below it, so that nobody sees the word come and go
_WAY_BACK = 0.75  # of the tolerance: a level is back when it runs inside this
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the state of a level rests on, all in the unit of x = ln(C / C_ref)."""

    is_slower: bool  # which direction it is about: the one with more evidence
    mounted: float  # the cumulative sum
    threshold: float  # from which on it counts
    slack: float  # what each sample must lie beyond to add to it
    sigma: float  # the long-run standard deviation that the threshold is made from
    median: float | None  # of x since the change that it tells of; None without one
    beyond: float | None  # what that median must exceed


class DriftWatch:
    """Follows one level of one run against one reference cycle time."""

    def __init__(
        self,
        reference_cycle_ms: float,
        tolerance: float,
        sigma: float | None = None,
        *,
        was_diverged: bool = False,
    ) -> None:
        """`sigma`: the recorded long-run standard deviation of ln(C); None when nobody recorded one."""
        self.state = Drift.WAITING
        self.seen = 0
        self.since: float | None = None  # log clock: when the present departure (or its end) began
        self.is_slower = True  # the direction of the last divergence
        self.noise = NoiseLevel(sigma, HAND_WRITTEN_SIGMA)
        self.reference_cycle_ms = reference_cycle_ms
        self._tolerance = tolerance
        self._limits = Limits.of(tolerance, self.noise.sigma)
        self._was_diverged = was_diverged
        self._slower = Departure()
        self._faster = Departure()
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._matching = 0
        self._way_back = 0.0  # evidence that a diverged level has come back
        self._way_back_samples = 0
        self._way_back_since: float | None = None

    @property
    def is_diverged(self) -> bool:
        """The level stands outside the tolerance, or did so before this watch and has not shown otherwise."""
        return self.state is Drift.DIVERGED or (self.state is Drift.WAITING and self._was_diverged)

    @property
    def recent_cycle_ms(self) -> float | None:
        """The median C since the departure began, else of the most recent samples; None before the first."""
        return None if not self._recent else self.reference_cycle_ms * math.exp(self._present())

    @property
    def evidence(self) -> Evidence:
        """The sums as they stand."""
        limits = self._limits
        is_slower = self._slower.evidence >= self._faster.evidence
        side = self._slower if is_slower else self._faster
        beyond = limits.beyond(side.count) if side.count else None
        return Evidence(is_slower, side.evidence, limits.threshold, limits.slack, limits.sigma, side.median, beyond)

    def add(self, at: float, cycle_ms: float) -> Change | None:
        """Take the next clean sample; the change of state that it makes, if any."""
        if not 0 < cycle_ms < math.inf:
            return None
        x = math.log(cycle_ms / self.reference_cycle_ms)
        self.seen += 1
        self._recent.append(x)
        if self.noise.add(x):
            self._limits = Limits.of(self._tolerance, self.noise.sigma)
        slack = self._limits.slack
        if x > slack or self._slower.evidence:
            self._slower.add(at, x, self._limits)
        if x < -slack or self._faster.evidence:
            self._faster.add(at, -x, self._limits)
        if self.state is Drift.DIVERGED:
            self._look_back(at, x)
        return self._judge(at) if self.seen >= SAMPLES_NEEDED else None

    def _judge(self, at: float) -> Change | None:
        for side in (self._slower, self._faster):
            is_news = self.state is not Drift.DIVERGED or self.is_slower is not (side is self._slower)
            if is_news and side.is_beyond(self._limits):
                return self._diverge(at, side)
        if self.state is Drift.DIVERGED:
            if self._way_back >= self._limits.threshold and self._way_back_samples >= SAMPLES_NEEDED:
                return self._recover(at)
            return None
        most = max(self._slower.evidence, self._faster.evidence)
        if most >= self._limits.threshold * (_STILL_MOUNTS if self.state is Drift.DRIFTING else 1.0):
            side = self._slower if most == self._slower.evidence else self._faster
            return self._turn(at, Drift.DRIFTING, side.mounting_since)
        if self._was_diverged:
            self._matching += 1
            self._was_diverged = self._matching < _SETTLED_AFTER
            return self._turn(at, Drift.RECOVERED, at)
        return self._turn(at, Drift.MATCHES, None)

    def _diverge(self, at: float, side: Departure) -> Change | None:
        is_turned = self.state is Drift.DIVERGED
        self.is_slower = side is self._slower
        self._was_diverged = True
        self._matching = 0
        self._forget_way_back()
        self.noise.begin_again()
        if is_turned:
            self.state = Drift.WAITING  # the other direction is a change too
        return self._turn(at, Drift.DIVERGED, side.since)

    def _recover(self, at: float) -> Change | None:
        self._slower.clear()
        self._faster.clear()
        self.noise.begin_again()
        while len(self._recent) > self._way_back_samples:
            self._recent.popleft()  # of the time before the return
        since = self._way_back_since
        self._forget_way_back()
        return self._turn(at, Drift.RECOVERED, since)

    def _turn(self, at: float, state: Drift, since: float | None) -> Change | None:
        if state is self.state:
            return None
        self.state = state
        self.since = since
        return Change(at, state, math.exp(-self._present()) - 1)

    def _look_back(self, at: float, x: float) -> None:
        """Gather evidence that the level has come back."""
        away = x if self.is_slower else -x
        evidence = self._way_back + min(_WAY_BACK * self._tolerance - away, self._limits.clip)
        if evidence <= 0:
            self._forget_way_back()
            return
        if self._way_back == 0:
            self._way_back_since = at
        self._way_back = evidence
        self._way_back_samples += 1

    def _forget_way_back(self) -> None:
        self._way_back = 0.0
        self._way_back_samples = 0
        self._way_back_since = None

    def _present(self) -> float:
        """The median x of the departure that the state rests on, else of the most recent samples."""
        if self.state is Drift.DIVERGED:
            median = (self._slower if self.is_slower else self._faster).median
            if median is not None and not self._way_back:
                return median if self.is_slower else -median
        return median_of(sorted(self._recent)) or 0.0
