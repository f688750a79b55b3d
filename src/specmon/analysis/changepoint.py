"""The last lasting change of a series: where it lies, and from what level to what.

Ranks find the place and medians measure the change, so that single spikes move neither. A change counts only when it
stands out of the noise, as wide as neighbouring values make it (they are correlated: a slow window has a slow one
beside it), and when at least three values stand on each side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

FEWEST = 3  # values on each side
_LEAST_SHARE = 0.03  # of the level before: less is not worth a sentence
_SPREADS = 3.0  # of single values, that the levels must lie apart
_ERRORS = 6.0  # standard errors of the two medians, as many places are tried
_MEDIAN_ERROR = 1.2533  # of a median over that of a mean
_MAD = 1.4826
_SURE_FROM = 60  # values from which they tell their spread and correlation themselves
_FLOOR = 0.002  # of the level: figures are printed with so many digits only
_USUAL_CORRELATION = 0.5
_MOST_CORRELATED = 0.8


@dataclass(frozen=True, slots=True)
class Change:
    """From one level to another."""

    index: int  # of the first value of the new level
    before: float
    now: float

    @property
    def factor(self) -> float:
        """The new level over the one before."""
        return self.now / self.before


def last_change(values: Sequence[float]) -> Change | None:
    """The newest change that stands out of the noise; None when there is none. Values must be above 0."""
    places = []
    length = len(values)
    while length >= 2 * FEWEST:
        start = len(values) - length
        if (place := _best_place(values[start:])) is not None and _stands_out(values[start:], place):
            places.append(start + place)
        length //= 2
    if not places:
        return None
    index = max(places)
    # The level before begins where the change before that one lies.
    start = max((place for place in places if place <= index - FEWEST), default=0)
    return Change(index, median(values[start:index]), median(values[index:]))


def _best_place(values: Sequence[float]) -> int | None:
    """Where the ranks on the two sides lie furthest apart, weighed by how many there are."""
    count = len(values)
    ranks = _ranks(values)
    mean = (count - 1) / 2
    best, place, total = 0.0, None, 0.0
    for index in range(1, count - FEWEST + 1):
        total += ranks[index - 1] - mean
        weight = total * total / (index * (count - index))
        if index >= FEWEST and weight > best:
            best, place = weight, index
    return place


def _ranks(values: Sequence[float]) -> list[float]:
    """Places in the order of size; equal values share theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for at in range(first, last + 1):
            ranks[order[at]] = (first + last) / 2
        first = last + 1
    return ranks


def _stands_out(values: Sequence[float], place: int) -> bool:
    before, now = values[:place], values[place:]
    levels = median(before), median(now)
    shift = abs(levels[1] - levels[0])
    if shift < _LEAST_SHARE * levels[0]:
        return False
    # Two values of a new level beside one of the old have its median too.
    middle = (levels[0] + levels[1]) / 2
    beyond = [
        sum((value > middle) == (level > middle) for value in part)
        for part, level in zip((before, now), levels, strict=True)
    ]
    if min(beyond) < FEWEST:
        return False
    residuals = [*(value - levels[0] for value in before), *(value - levels[1] for value in now)]
    spread = max(_spread(residuals), _FLOOR * min(levels))
    together = _correlation(residuals)
    error = spread * math.sqrt((1 / len(before) + 1 / len(now)) * (1 + together) / (1 - together))
    return shift > _SPREADS * spread and shift > _ERRORS * _MEDIAN_ERROR * error


def _spread(residuals: Sequence[float]) -> float:
    sizes = [abs(value) for value in residuals]
    robust = _MAD * median(sizes)
    count = len(sizes)
    if count >= _SURE_FROM:
        return robust
    # Two medians were taken out of a few values, which makes the rest look small.
    return max(robust, _MEDIAN_ERROR * fmean(sizes) * count / (count - 2))


def _correlation(residuals: Sequence[float]) -> float:
    """Of neighbours. A few values cannot tell, and the levels taken out of them hide some of it."""
    limit = 3 * _MAD * median([abs(value) for value in residuals])
    kept = [max(-limit, min(limit, value)) for value in residuals]
    power = math.fsum(value * value for value in kept)
    found = math.fsum(a * b for a, b in pairwise(kept)) / power if power else 0.0
    least = _USUAL_CORRELATION if len(residuals) < _SURE_FROM else _USUAL_CORRELATION / 2
    return min(_MOST_CORRELATED, max(least, found))
