"""Whether the clean samples of one level are of two speeds: a lasting step of the cycle time within one run.

A level that becomes slower by 1.5 times and more is begun anew where that happens (`analysis.level`). A smaller step,
such as the 29 % of a lost tuning, lies within what single windows do, so it takes the whole series to see it.
"""

from __future__ import annotations

from dataclasses import dataclass

from specmon.analysis.changepoint import last_change
from specmon.analysis.clean import CleanColumns

LEAST_SHARE = 0.05  # of the cycle before: what a reference tolerates, too
_BLOCKS = 96  # medians of neighbouring samples stand for long series, so that a look costs the same at any length


@dataclass(frozen=True, slots=True)
class Shift:
    """The newest step."""

    at: float  # log clock, of the first sample (or block of samples) of the new speed
    before_ms: float  # median cycle before it
    now_ms: float  # and since
    clean: int  # samples since


def shift_of(clean: CleanColumns) -> Shift | None:
    """The newest lasting step of 5 % and more among the held samples of one rank and level; None without one."""
    import numpy as np

    count = len(clean)
    size = max(1, -(-count // _BLOCKS))
    starts = range(count % size, count, size)  # the newest block is whole
    cycles = clean.cycles_ms(slice(count % size, count)).reshape(-1, size)
    blocks: list[float] = np.median(cycles, axis=1).tolist()
    if not all(block > 0 for block in blocks):  # a throughput without an accept length gives none
        return None
    change = last_change(blocks)
    if change is None or abs(change.factor - 1) < LEAST_SHARE:
        return None
    first = starts[change.index]
    return Shift(clean.at[first], change.before, change.now, count - first)
