"""How far an estimate may lie from the truth, when each figure it rests on resembles its neighbours.

The standard error comes from the lowest frequencies of the series of influences, where the noise that survives
averaging lives: the mean of the squares of its first cosine coefficients is its long-run variance, and with so many
of them the quotient follows Student's t (the equal-weighted cosine estimator: Mueller, "HAC corrections for strongly
autocorrelated time series", JBES 2014; Lazarus, Lewis, Stock and Watson, "HAR inference", JBES 2018). It needs no
model of the correlation, sees what two parts of one sample have in common, and a drift inside a series widens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

from specmon.analysis.spread import SMALLEST_N, Interval
from specmon.analysis.student import student95

# Lazarus et al. recommend 0.4 n^(2/3) coefficients; a little fewer keep the coverage of both parts of the estimate
# above 93 % from n = 30 at an AR(1) coefficient of 0.5 (docs/calibration.md).
_COEFFICIENTS = 0.345
_FEWEST_COEFFICIENTS = 2
_MOST_COEFFICIENTS = 40  # Student's t is then within 3 % of the normal law
_BLOCKS_A_COEFFICIENT = 8  # a cosine hardly changes over so short a part of its wave


@dataclass(frozen=True, slots=True)
class LogError:
    """The standard error of the logarithm of a figure, and the degrees of freedom that it rests on."""

    standard_error: float
    freedom: float = math.inf

    @property
    def half_width(self) -> float:
        """Of the 95 % interval, in ln."""
        return student95(self.freedom) * self.standard_error

    def around(self, value: float) -> Interval:
        """The 95 % interval, symmetric in the logarithm as ratios are."""
        factor = math.exp(self.half_width)
        return value / factor, value * factor

    def joined(self, other: LogError) -> LogError:
        """Of a product or quotient of two independent figures (Welch and Satterthwaite for the freedom)."""
        squares = self.standard_error**2, other.standard_error**2
        total = math.fsum(squares)
        parts = [square**2 / each.freedom for square, each in zip(squares, (self, other), strict=True)]
        return LogError(math.sqrt(total), total**2 / math.fsum(parts) if any(parts) else math.inf)


def interval_of(value: float | None, error: LogError | None) -> Interval | None:
    """The 95 % interval of a figure, where it and its error are known."""
    return None if value is None or error is None else error.around(value)


@dataclass(frozen=True, slots=True)
class Influences:
    """What the parts of a series do to the logarithm of an estimate: one coefficient each a standard error."""

    coefficients: tuple[float, ...]

    @property
    def error(self) -> LogError:
        """Their root mean square."""
        squares = math.fsum(value * value for value in self.coefficients) / len(self.coefficients)
        return LogError(math.sqrt(squares), len(self.coefficients))

    @staticmethod
    def summed(parts: Sequence[tuple[float, Influences]]) -> Influences:
        """Of a weighted sum of estimates over the same time: coefficients add up, so a common noise stays whole."""
        count = min(len(part.coefficients) for _, part in parts)
        return Influences(
            tuple(math.fsum(weight * part.coefficients[each] for weight, part in parts) for each in range(count))
        )


def coefficients_for(count: int) -> int:
    """How many low frequencies a series of so many samples affords."""
    wanted = round(_COEFFICIENTS * math.cbrt(count) ** 2)
    return min(max(wanted, _FEWEST_COEFFICIENTS), _MOST_COEFFICIENTS)


def block_length(count: int) -> int:
    """How many neighbours of a series of `count` may be added up before `influences_of`; 1 for a short one."""
    return max(1, count // (_BLOCKS_A_COEFFICIENT * coefficients_for(count)))


def influences_of(blocks: Sequence[float], count: int, *, most: int = _MOST_COEFFICIENTS) -> Influences | None:
    """The low frequencies of a series of `count` influences, given as sums over equal blocks; None below n = 6.

    The estimate's logarithm is off by about the sum of its influences over `count`.
    """
    if count < SMALLEST_N or len(blocks) < SMALLEST_N:
        return None
    mean = math.fsum(blocks) / len(blocks)
    around = [value - mean for value in blocks]
    # The variance of the sum of K values is K times their long-run variance.
    scale = math.sqrt(2.0) / count
    rows = _cosines(len(blocks), min(coefficients_for(count), most))
    return Influences(tuple(scale * sum(map(mul, row, around)) for row in rows))


@lru_cache(maxsize=32)
def _cosines(count: int, coefficients: int) -> tuple[tuple[float, ...], ...]:
    # Every angle is a multiple of pi / 2 count, so that one turn of cosines holds them all: a step of 2 frequency each.
    turn = [math.cos(math.pi * step / (2 * count)) for step in range(4 * count)]
    turns = turn * (coefficients // 2 + 1)
    return tuple(
        tuple(turns[frequency : 2 * frequency * count : 2 * frequency]) for frequency in range(1, coefficients + 1)
    )
