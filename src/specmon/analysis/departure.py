"""The evidence that a level has left its reference in one direction, and since when.

A cumulative sum (CUSUM, Page, Biometrika 41 (1954)) of x less a slack of half the tolerance mounts while the samples
lie more than that slack away and falls back to zero else. A second one with the whole tolerance as its slack tells
since when they may lie beyond the tolerance: since it was last zero. Both are kept in the unit of x, so that sigma may
be learned anew while they run.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from specmon.analysis.spread import median_of

SAMPLES_NEEDED = 3
RUN_LENGTH = 1e6  # samples between two false crossings of a level that matches, in the mean
MARGIN = 4.0  # standard errors by which the median must lie beyond the tolerance
_MEDIAN_ERROR = 1.2533  # sqrt(pi / 2): standard error of a median of n normal samples, in sigma / sqrt(n)
_LEAST = 1.0  # sigmas: the threshold where even less would do
_OVERSHOOT = 1.166  # Siegmund's correction: by how much a discrete sum jumps past its threshold, on both ends
_CLIPPED = 0.49  # of the threshold: what one sample may add, so that two never reach it
_KEPT = 2.0  # thresholds: more evidence than that is not piled up, or a level could never come back in time
_HELD = 512  # newest samples since the change that the median is taken of


@dataclass(frozen=True, slots=True)
class Limits:
    """What evidence is measured by, all in the unit of x = ln(C / C_ref)."""

    tolerance: float
    sigma: float
    slack: float
    threshold: float
    clip: float
    most: float

    @classmethod
    def of(cls, tolerance: float, sigma: float) -> Limits:
        """The limits for a tolerance and a long-run standard deviation."""
        slack = tolerance / 2
        threshold = sigma * threshold_of(slack / sigma)
        return cls(tolerance, sigma, slack, threshold, _CLIPPED * threshold, _KEPT * threshold)

    def beyond(self, count: int) -> float:
        """Where the median of `count` samples must lie to be beyond the tolerance by more than chance."""
        return self.tolerance + MARGIN * _MEDIAN_ERROR * self.sigma / math.sqrt(count)


@lru_cache(maxsize=256)
def threshold_of(slack: float) -> float:
    """The decision interval h, in sigmas, at which a two-sided CUSUM of that slack crosses once in 1e6 samples.

    Siegmund, Sequential Analysis (1985), section 2.6: one side runs (exp(2kb) - 2kb - 1) / (2k^2) samples in the mean,
    with b = h + 1.166; two sides half as long.
    """
    low, high = 0.0, 1.0
    while _one_sided_run(slack, high) < 2 * RUN_LENGTH:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _one_sided_run(slack, middle) < 2 * RUN_LENGTH else (low, middle)
    return max(high - _OVERSHOOT, _LEAST)


def _one_sided_run(slack: float, reach: float) -> float:
    exponent = 2 * slack * reach
    if exponent > 100:
        return math.inf
    return (math.expm1(exponent) - exponent) / (2 * slack * slack)


class Departure:
    """One direction: feed it x (positive away from the reference) of each clean sample."""

    __slots__ = ("_beyond", "_far", "_values", "evidence", "mounting_since", "since")

    def __init__(self) -> None:
        self.evidence = 0.0
        self.mounting_since: float | None = None  # log clock: when the evidence was last none
        self.since: float | None = None  # log clock: the estimated change point
        self._far = 0.0
        self._beyond = 0  # samples beyond the tolerance since then
        self._values: deque[float] = deque(maxlen=_HELD)

    @property
    def count(self) -> int:
        """Samples since the estimated change point, the newest 512 at most."""
        return len(self._values)

    @property
    def median(self) -> float | None:
        """The median x since the estimated change point (of the newest 512); None without one."""
        return median_of(sorted(self._values))

    def add(self, at: float, x: float, limits: Limits) -> None:
        """Take a sample."""
        evidence = self.evidence + min(x - limits.slack, limits.clip)
        if evidence <= 0:
            self.clear()  # what lies beyond the tolerance lies beyond half of it too
            return
        if self.evidence == 0:
            self.mounting_since = at
        self.evidence = min(evidence, limits.most)
        step = x - limits.tolerance
        far = self._far + min(step, limits.clip)
        if far > 0:
            if self._far == 0:
                self.since = at
            self._far = min(far, limits.most)
            self._values.append(x)
            self._beyond += step > 0
        elif self._far:
            self._forget_change()

    def is_beyond(self, limits: Limits) -> bool:
        """Both conditions hold: enough evidence, and a median beyond the tolerance by more than chance."""
        if self.evidence < limits.threshold or self._beyond < SAMPLES_NEEDED:
            return False
        median = self.median
        return median is not None and median > limits.beyond(len(self._values))

    def clear(self) -> None:
        """Forget all evidence."""
        self.evidence = 0.0
        self.mounting_since = None
        if self._far:
            self._forget_change()

    def _forget_change(self) -> None:
        self._far = 0.0
        self._beyond = 0
        self._values.clear()
        self.since = None
