"""Decode throughput of a rank's clean samples, and how far it can be trusted.

The estimate is 1000 * A * B / C with A the mean over the cycles and C the median: slow windows do not
pull it down, and the noise of A does not push it up as it does a median of tok/s.

Its error is that of ln A - ln C. Each sample moves it by its influence, (A_i - A) / A times its share of the cycles,
less sign(C_i - C) / (2 f C), where f is the density of C at the median: the delta method and the Bahadur
representation of a median. What one sample's A and C have in common is in their difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from specmon.analysis.spread import Ranked, median_of, quantile_of
from specmon.analysis.uncertainty import Influences, block_length, influences_of

# Hall and Sheather's bandwidth for the density at a median, for intervals at 95 % (JRSS B 1988):
# n^(-1/3) z^(2/3) (3 phi(0)^2 / 2)^(1/3), in shares of the samples on each side of the middle.
_BANDWIDTH = 0.9713


@dataclass(frozen=True, slots=True)
class Estimate:
    """Decode throughput in tok/s; `influences` is None below n = 6."""

    value: float
    influences: Influences | None


@dataclass(slots=True)
class BlockSums:
    """What blocks of neighbouring samples add up to; every block has the same number of them, but for the last."""

    accept: Sequence[float]  # of A x cycles
    cycles: Sequence[float]
    signs: Sequence[float]  # of sign(C - median)


def decode_throughput(running: float, accept_len: float, cycle_ms: float) -> float:
    """R = 1000 * A * B / C in tok/s."""
    return 1000 * accept_len * running / cycle_ms


def estimate_from(
    running: float, accept: Sequence[float], cycle_ms: Sequence[float], cycles: Sequence[float]
) -> Estimate | None:
    """From samples in time order, weighted by their cycles; None without any."""
    ordered = sorted(cycle_ms)
    middle = median_of(ordered)
    if not middle:
        return None
    count = len(ordered)
    length = block_length(count)
    products = list(map(mul, accept, cycles))
    signs = [(c > middle) - (c < middle) for c in cycle_ms]
    if length == 1:
        return estimate_of_blocks(running, BlockSums(products, cycles, signs), ordered, middle)
    starts = range(0, count, length)
    sums = BlockSums(
        [math.fsum(products[start : start + length]) for start in starts],
        [math.fsum(cycles[start : start + length]) for start in starts],
        [float(sum(signs[start : start + length])) for start in starts],
    )
    return estimate_of_blocks(running, sums, ordered, middle)


def estimate_of_blocks(running: float, sums: BlockSums, ordered: Ranked, middle: float) -> Estimate:
    """The same from sums over blocks, and the cycles in order with their median."""
    count = len(ordered)
    total = math.fsum(sums.cycles)
    pooled = math.fsum(sums.accept) / total
    to_accept = count / (total * pooled)
    to_cycle = _sparsity(ordered) / (2 * middle)
    blocks = [
        to_accept * (accept - pooled * cycles) - to_cycle * sign
        for accept, cycles, sign in zip(sums.accept, sums.cycles, sums.signs, strict=True)
    ]
    return Estimate(decode_throughput(running, pooled, middle), influences_of(blocks, count))


def _sparsity(ordered: Ranked) -> float:
    """1 / density at the median: how far apart the quantiles a bandwidth around it lie."""
    reach = min(_BANDWIDTH * len(ordered) ** (-1 / 3), 0.5)
    low, high = quantile_of(ordered, 0.5 - reach), quantile_of(ordered, 0.5 + reach)
    return 0.0 if low is None or high is None else (high - low) / (2 * reach)
