"""Speculative speed over baseline speed on one clock: slice by slice of time, from clean samples of one level."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

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
    first, last = math.ceil(start / slice_s), math.floor(end / slice_s)

    def by_slice(points: tuple[SamplePoint, ...]) -> dict[int, list[float]]:
        found: dict[int, list[float]] = defaultdict(list)
        for point in points[bisect_left(points, first * slice_s, key=lambda point: point.at) :]:
            if (place := math.floor(point.at / slice_s)) >= last:
                break
            if point.excluded is None and low <= point.running <= high and point.tok_s > 0:
                found[place].append(point.tok_s)
        return found

    ours, theirs = by_slice(base.points), by_slice(spec.points)
    made = []
    for place in sorted(ours.keys() & theirs.keys()):
        speed = median(theirs[place])
        at = (place + 0.5) * slice_s
        made.append(RatioPoint(at, speed, comparison.running, None, None, None, ratio=speed / median(ours[place])))
    return tuple(made)
