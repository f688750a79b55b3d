"""A band of levels as one: under load B wanders, and no single level may ever fill.

All clean samples of the band are put in time order. Figures are per request, 1000 * A / C, since the sum over the
batch is another one at each B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from specmon.analysis.combine import Speed, error_of, figures_of, numbers_in_order
from specmon.analysis.delivery import ratio_influences
from specmon.analysis.estimate import BlockSums, Estimate, estimate_of_blocks
from specmon.analysis.figures import LevelFigures
from specmon.analysis.level import RankLevel
from specmon.analysis.load import Band
from specmon.analysis.spread import median_of
from specmon.analysis.uncertainty import Influences, block_length

Floats = npt.NDArray[np.float64]


def combine_band(band: Band, ranks: Sequence[Sequence[RankLevel]], *, samples: int) -> LevelFigures:
    """The figures of a band from the levels that each rank has in it; a rank without any makes them unknown."""
    levels = [level for rank in ranks for level in rank]
    estimates = [_estimate_of(rank) for rank in ranks]
    decode = _mean_of([None if each is None else (each.value, each.influences) for each in estimates])
    delivered = _mean_of([_delivered(rank) for rank in ranks])
    cycle_ms = median_of(numbers_in_order(value for level in levels for value in level.clean.every_cycle_ms()))
    return replace(
        figures_of(band.centre, levels, samples=samples, decode=decode, delivered=delivered),
        running_range=(band.low, band.high),
        cycle_ms=None if decode[0] is None else cycle_ms,
        context_tokens=median_of(numbers_in_order(value for level in levels for value in level.clean.context_tokens)),
        queue=median_of(numbers_in_order(value for level in levels for value in level.clean.queue)),
    )


def _estimate_of(levels: Sequence[RankLevel]) -> Estimate | None:
    """Tokens per second and request of one rank."""
    everything = slice(None)
    filled = [level for level in levels if len(level.clean)]
    if not filled:
        return None
    index = np.concatenate([level.clean.index.numbers() for level in filled])
    cycle_ms = np.concatenate([level.clean.cycles_ms(everything) for level in filled])
    accept = np.concatenate([level.clean.accept_len.numbers() for level in filled])
    # Draft rounds: each request of the batch has one a cycle.
    rounds = np.concatenate([level.clean.cycles.numbers() * level.running for level in filled])
    told = (accept == accept) & (cycle_ms == cycle_ms) & (rounds > 0)
    order = np.argsort(index[told], kind="stable")
    accept, cycle_ms, rounds = accept[told][order], cycle_ms[told][order], rounds[told][order]
    ordered = np.sort(cycle_ms).tolist()
    if not (middle := median_of(ordered)):
        return None
    starts = np.arange(0, len(ordered), block_length(len(ordered)))
    sums = BlockSums(
        np.add.reduceat(accept * rounds, starts).tolist(),
        np.add.reduceat(rounds, starts).tolist(),
        np.add.reduceat(np.sign(cycle_ms - middle), starts).tolist(),
    )
    return estimate_of_blocks(1, sums, ordered, middle)


def _delivered(levels: Sequence[RankLevel]) -> tuple[float, Influences | None] | None:
    """Delivered tokens per second and request of one rank."""
    seconds = math.fsum(level.delivery.seconds for level in levels)
    if not seconds > 0:
        return None
    tokens = math.fsum(level.delivery.tokens / level.running for level in levels)
    return tokens / seconds, ratio_influences([(level.delivery, level.running) for level in levels])


def _mean_of(ranks: Sequence[tuple[float, Influences | None] | None]) -> Speed:
    """What a request gets on the mean of the ranks; unknown unless every rank has a figure."""
    known = [rank for rank in ranks if rank is not None]
    if not known or len(known) < len(ranks):
        return None, None
    total = math.fsum(value for value, _ in known)
    if not total > 0:
        return None, None
    return total / len(known), error_of([(value / total, influences) for value, influences in known])
