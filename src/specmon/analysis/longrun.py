"""How far a long series of samples wanders: its long-run standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from specmon.analysis.spread import median_of, quantile_of

FEWEST_SAMPLES = 30  # fewer make too few blocks: with 30 the figure is off by a quarter (one sd), with 200 by 15 %
_NORMAL_MAD = 1.4826  # standard deviations in one median absolute deviation of normal noise
_NORMAL_TENTHS = 2.563  # standard deviations between the tenth and the ninetieth part of normal noise
_FAR_VALUE = 4.0  # standard deviations: a sample farther out counts as one that lies there
_FAR_STEP = 4.0  # the same for the difference of neighbouring blocks, which is left out: the level moved there


def long_run_sigma(values: Sequence[float]) -> float | None:
    """The long-run standard deviation of a series, in its own unit; None below 30 finite values.

    It is the square root of lim n Var(mean of n), and so the standard deviation of the samples themselves when they
    are independent, sqrt((1 + r) / (1 - r)) times that when each takes a share r from the one before (AR(1)).

    Estimated from all pairs of neighbouring blocks of m = sqrt(n) values: m / 2 times the mean squared difference of
    their means. Block means: Conway, Management Science 10 (1963); overlapping ones: Meketon and Schmeiser, Winter
    Simulation Conference (1984); successive differences, which a slow trend hardly touches: von Neumann, Annals of
    Mathematical Statistics 12 (1941). Single outliers are pulled in, and the pairs around a step of the level are left
    out, so that neither passes for noise. Of a series that never moves it is 0.
    """
    known = [value for value in values if math.isfinite(value)]
    count = len(known)
    if count < FEWEST_SAMPLES:
        return None
    size = math.isqrt(count)
    sums = [0.0, *accumulate(_pulled_in(known))]
    steps = sorted(
        abs(sums[start + 2 * size] - 2 * sums[start + size] + sums[start]) / size
        for start in range(count - 2 * size + 1)
    )
    limit = _FAR_STEP * _NORMAL_MAD * (median_of(steps) or 0.0)
    kept = [step for step in steps if step <= limit] or steps
    return math.sqrt(size / 2 * math.fsum(step * step for step in kept) / len(kept))


def _pulled_in(values: list[float]) -> list[float]:
    """The values around their median, the far ones pulled in to where four standard deviations lie."""
    ordered = sorted(values)
    middle = median_of(ordered) or 0.0
    tenths = (quantile_of(ordered, 0.9) or 0.0) - (quantile_of(ordered, 0.1) or 0.0)
    limit = _FAR_VALUE * tenths / _NORMAL_TENTHS
    return [min(max(value - middle, -limit), limit) for value in values]
