"""At which load two servers are compared: one number of running requests, or a band of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

from specmon.analysis.figures import RunFigures

SMALLEST_BAND = 8  # below, a tenth of B is no whole request
BAND_SHARE = 0.10  # how far from the common centre B may lie


@dataclass(frozen=True, slots=True)
class Band:
    """All B from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def centre(self) -> int:
        """The B that stands for them."""
        return (self.low + self.high + 1) // 2

    @staticmethod
    def around(centre: int) -> Band:
        """The whole numbers within a tenth of `centre`, which lie evenly on both sides of it."""
        reach = int(BAND_SHARE * centre + 1e-9)
        return Band(centre - reach, centre + reach)


def common_band(baseline: RunFigures, speculative: RunFigures) -> Band | None:
    """The band whose poorer side has the most clean samples; None when no band has one on both sides.

    Of several such bands the one with the most samples altogether, then the one that both sides lie in the middle of.
    """
    sides = [_Counts(figures) for figures in (baseline, speculative)]
    highest = max((level.running for figures in (baseline, speculative) for level in figures.levels), default=0)
    bands = [Band.around(centre) for centre in range(SMALLEST_BAND, highest + 1)]

    def worth(band: Band) -> tuple[int, int, float]:
        counts = [side.within(band) for side in sides]
        return min(counts), sum(counts), -sum(abs(side.mean_within(band) - band.centre) for side in sides)

    best = max(bands, key=worth, default=None)
    return best if best is not None and worth(best)[0] else None


class _Counts:
    """Clean samples by B, so that those of a range are quickly told."""

    def __init__(self, figures: RunFigures) -> None:
        levels = sorted(figures.levels, key=lambda level: level.running)
        self._running = [level.running for level in levels]
        self._clean = [0, *accumulate(level.clean for level in levels)]
        self._sums = [0, *accumulate(level.clean * level.running for level in levels)]

    def within(self, band: Band) -> int:
        """Clean samples of the band."""
        first, end = self._places(band)
        return self._clean[end] - self._clean[first]

    def mean_within(self, band: Band) -> float:
        """Their mean B."""
        first, end = self._places(band)
        return (self._sums[end] - self._sums[first]) / max(self._clean[end] - self._clean[first], 1)

    def _places(self, band: Band) -> tuple[int, int]:
        return bisect_left(self._running, band.low), bisect_right(self._running, band.high)
