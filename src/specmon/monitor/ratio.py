"""Speculative speed over baseline speed on one clock: slice by slice of time, from clean samples of one level."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.monitor.held import HeldSamples
from specmon.monitor.snapshot import SamplePoint, Snapshot

LEAST_SLICE_S = 5.0  # several samples of a server that writes twice a second


@dataclass(frozen=True, slots=True)
class RatioPoint(SamplePoint):
    """One slice of time, at its middle; `tok_s` is the speculative median."""

    ratio: float = math.nan  # of the medians, speculative / baseline


def ratio_points(snapshot: Snapshot, start: float, end: float, slice_s: float) -> tuple[RatioPoint, ...]:
    """The ratio in every whole slice of [start, end) in which both servers have a clean sample of the compared level.

    Slices lie on a fixed grid, so a later call gives the same points for the same time.
    """
    base, spec, comparison = snapshot.baseline, snapshot.speculative, snapshot.comparison
    if base is None or spec is None or comparison is None or comparison.running is None:
        return ()
    low, high = comparison.running_range or (comparison.running, comparison.running)
    ours, theirs = (HeldSamples.of(view.points).medians(start, end, slice_s, low, high) for view in (base, spec))
    made = []
    for place in sorted(ours.keys() & theirs.keys()):
        at = (place + 0.5) * slice_s
        speed, ratio = theirs[place], theirs[place] / ours[place]
        made.append(RatioPoint(at, speed, comparison.running, None, None, None, ratio=ratio))
    return tuple(made)
