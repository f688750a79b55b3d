"""Decode throughput of a rank's clean samples, and how far it can be trusted.

The estimate is 1000 * A * B / C with A the mean over the cycles and C the median: slow windows do not
pull it down, and the noise of A does not push it up as it does a median of tok/s.

Its interval is a first form: the delta method on ln A and order statistics on C, both for an effective
number of samples n (1-r)/(1+r), where r is the lag-1 correlation, since a sample resembles its
neighbour. It leans to the wide side for few samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from specmon.analysis.spread import SMALLEST_N, Interval, median_of, quantile_of

_Z95 = 1.959964
_FEWEST_EFFECTIVE = 3.0
_STRONGEST_CORRELATION = 0.9


def decode_throughput(running: int, accept_len: float, cycle_ms: float) -> float:
    """R = 1000 * A * B / C in tok/s."""
    return 1000 * accept_len * running / cycle_ms


def log_half_widths(accept: Sequence[float], cycle: Sequence[float]) -> tuple[float, float] | None:
    """How far ln(1000 * A * B / C) may lie below and above its estimate, at 95 %; None below n = 6."""
    if len(cycle) < SMALLEST_N:
        return None
    logarithms = [math.log(value) for value in accept]
    return half_widths(len(cycle), _moments(logarithms), sorted(cycle), _moments(cycle))


def half_widths(
    count: int, accept: tuple[float, float], ordered_cycle: Sequence[float], cycle: tuple[float, float]
) -> tuple[float, float] | None:
    """The same from the moments of ln A and of C (sum of squares around the mean, sum of neighbours' products)."""
    if count < SMALLEST_N:
        return None
    spread_of_accept = _mean_half_width(count, accept)
    middle = median_of(ordered_cycle)
    effective = _effective_number(count, cycle)
    reach = _student(effective) / (2 * math.sqrt(effective))  # in shares of the samples around the middle
    low = quantile_of(ordered_cycle, max(0.0, 0.5 - reach))
    high = quantile_of(ordered_cycle, min(1.0, 0.5 + reach))
    if not middle or not low or not high:
        return None
    # A long cycle is a low throughput, so the upper bound of C makes the lower one of R.
    return math.hypot(spread_of_accept, math.log(high / middle)), math.hypot(spread_of_accept, math.log(middle / low))


def interval_around(value: float, half_widths: tuple[float, float]) -> Interval:
    """An interval that is (nearly) symmetric in the logarithm, as ratios are."""
    return value * math.exp(-half_widths[0]), value * math.exp(half_widths[1])


def _moments(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return (
        math.fsum((value - mean) ** 2 for value in values),
        math.fsum((left - mean) * (right - mean) for left, right in itertools.pairwise(values)),
    )


def _mean_half_width(count: int, moments: tuple[float, float]) -> float:
    variance = moments[0] / (count - 1)
    if variance == 0:
        return 0.0
    effective = _effective_number(count, moments)
    return _student(effective) * math.sqrt(variance / effective)


def _effective_number(count: int, moments: tuple[float, float]) -> float:
    """How many independent samples these are worth, by their lag-1 correlation (Bartlett)."""
    total, neighbours = moments
    if total == 0:
        return float(count)
    seen = neighbours / total
    # A short series shows less correlation than it has: by (1 + 4r)/n in the mean (Kendall).
    correlation = min(max(seen + (1 + 4 * seen) / count, 0.0), _STRONGEST_CORRELATION)
    return max(_FEWEST_EFFECTIVE, count * (1 - correlation) / (1 + correlation))


def _student(effective: float) -> float:
    """The two-sided 95 % factor for so many samples: the first terms of Student's t around the normal law."""
    freedom = max(effective - 1, 2.0)
    return _Z95 + (_Z95**3 + _Z95) / (4 * freedom) + (5 * _Z95**5 + 16 * _Z95**3 + 3 * _Z95) / (96 * freedom**2)
