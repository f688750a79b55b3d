"""Order statistics of a list of figures: median, spread, quantiles and the interval of the median."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Protocol

Interval = tuple[float, float]

SMALLEST_N = 6  # below this no pair of order statistics covers a median at 95 %
_EXACT_UP_TO = 1000
_Z95 = 1.959964


class Ranked(Protocol):
    """Figures in order, of which only some are asked for: a sorted list, or what finds the figure of a rank."""

    def __len__(self) -> int: ...

    def __getitem__(self, rank: int, /) -> float: ...


def median_of(ordered: Ranked) -> float | None:
    """The middle of figures that are already in order; None without any."""
    count = len(ordered)
    if count == 0:
        return None
    half = count // 2
    return float(ordered[half]) if count % 2 else (float(ordered[half - 1]) + float(ordered[half])) / 2


def deviation_of(ordered: list[float]) -> float | None:
    """Plain median of |x - median|, without the factor that makes it a standard deviation."""
    middle = median_of(ordered)
    return None if middle is None else median_of(sorted(abs(value - middle) for value in ordered))


def quantile_of(ordered: Ranked, share: float) -> float | None:
    """The value below which `share` of the figures lie, linear between neighbours; None without any."""
    if not len(ordered):
        return None
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    below, above = float(ordered[low]), float(ordered[high])
    return below + (above - below) * (position - low)


def interval_of_median(ordered: Ranked) -> Interval | None:
    """The order-statistics interval of the median: at least 95 % for independent samples, None below n = 6."""
    if len(ordered) < SMALLEST_N:
        return None
    rank = _rank_of_bound(len(ordered))
    return float(ordered[rank - 1]), float(ordered[len(ordered) - rank])


@lru_cache(maxsize=4096)
def _rank_of_bound(count: int) -> int:
    """The largest k for which [x(k), x(n+1-k)] covers the median with at least 95 %.

    It misses on one side when fewer than k of n fair coins show heads, so 2 P(Bin(n, 1/2) <= k-1) must
    stay at or below 5 %. Beyond a thousand samples the normal law is within one rank of that.
    """
    if count > _EXACT_UP_TO:
        return max(1, math.floor((count - _Z95 * math.sqrt(count)) / 2))
    below, ways, rank = 0, 1, 0
    while (below + ways) * 40 <= 2**count:
        below += ways
        ways = ways * (count - rank) // (rank + 1)  # the next binomial coefficient
        rank += 1
    return rank
