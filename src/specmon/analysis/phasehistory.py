"""Phase times over time: a bounded row of windows for each source and number of running requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from specmon.analysis.changepoint import Change, last_change
from specmon.analysis.phasetimes import PhaseSource

HELD = 1024  # windows a source and level; when there are twice as many, neighbours become one
_WHOLE_CYCLES = 40.0  # from which a window stands by itself
_LONGEST_S = 10.0  # that steps of less are gathered for
_SEARCHED = 240  # windows in which a change is looked for: of more, neighbours are taken together
_NEWEST = 60  # windows that are also searched one by one, so that a change is told after three of them


@dataclass(frozen=True, slots=True)
class PhaseWindow:
    """Means per cycle over some cycles."""

    at: float  # when it ended, in seconds on the clock of its source
    cycles: float
    cycle_ms: float | None  # None: the source does not tell it
    ms: Mapping[str, float]
    # Least and greatest mean of the windows that this one stands for; None for one as it came.
    spread: Mapping[str, tuple[float, float]] | None = None

    def extent(self, name: str) -> tuple[float, float]:
        """Least and greatest of a phase that it has."""
        return self.spread[name] if self.spread is not None else (self.ms[name], self.ms[name])


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """A phase that lasts longer or shorter than it did."""

    name: str  # "cycle" for the whole
    before_ms: float
    now_ms: float
    since: float  # when the first window of the new level ended


class PhaseHistory:
    """Takes windows in the order in which they come."""

    def __init__(self) -> None:
        self._rows: dict[tuple[PhaseSource, int | None], list[PhaseWindow]] = {}

    def add(self, source: PhaseSource, running: int | None, window: PhaseWindow) -> None:
        """Take a window in; one whose time is not known has no place in a history."""
        if not math.isfinite(window.at):
            return
        row = self._rows.setdefault((source, running), [])
        if row and row[-1].cycles < _WHOLE_CYCLES and 0 <= window.at - row[-1].at < _LONGEST_S:
            # Steps of one window: their differences are what a mean is taken for.
            row[-1] = replace(joined([row[-1], window]), spread=None)
            return
        row.append(window)
        if len(row) >= 2 * HELD:
            row[:] = [joined(row[index : index + 2]) for index in range(0, len(row), 2)]

    def windows(self, source: PhaseSource, running: int | None) -> tuple[PhaseWindow, ...]:
        """What is held, oldest first."""
        return tuple(self._rows.get((source, running), ()))


def joined(windows: Sequence[PhaseWindow]) -> PhaseWindow:
    """Several windows as one: means over their cycles, with the extremes, so that a spike survives.

    A phase or cycle that one of them lacks is of the others.
    """
    if len(windows) == 1:
        return windows[0]
    timed = [(each.cycles, each.cycle_ms) for each in windows if each.cycle_ms is not None]
    names = dict.fromkeys(name for each in windows for name in each.ms)
    return PhaseWindow(
        at=windows[-1].at,
        cycles=math.fsum(each.cycles for each in windows),
        cycle_ms=_mean(timed) if timed else None,
        ms={name: _mean([(each.cycles, each.ms[name]) for each in windows if name in each.ms]) for name in names},
        spread={name: _extremes([each.extent(name) for each in windows if name in each.ms]) for name in names},
    )


def changes_of(windows: Sequence[PhaseWindow]) -> tuple[PhaseChange, ...]:
    """What changed for good, the largest change first; nothing that the noise could be."""
    names = list(dict.fromkeys(["cycle", *(name for each in windows for name in each.ms)]))
    together = -(-len(windows) // _SEARCHED)
    parts = windows
    if together > 1:
        parts = [joined(windows[index : index + together]) for index in range(0, len(windows), together)]
    found = []
    for name in names:
        told = _series(parts, name)
        change = last_change([value for _, value in told])
        if together > 1:
            single = _series(windows[-_SEARCHED:], name)
            if (recent := _recent_change([value for _, value in single])) is not None:
                told, change = single, recent
        if change is not None:
            found.append(PhaseChange(name, change.before, change.now, told[change.index][0]))
    found.sort(key=lambda change: (change.name != "cycle", -abs(change.now_ms - change.before_ms)))
    return tuple(found)


def _series(windows: Sequence[PhaseWindow], name: str) -> list[tuple[float, float]]:
    return [(each.at, value) for each in windows if (value := _value(each, name)) is not None and value > 0]


def _recent_change(values: Sequence[float]) -> Change | None:
    """A change in the newest values, to a level that none of those before it had.

    So few values cannot tell a slow wander from a change; that the others never were there can.
    """
    start = max(0, len(values) - _NEWEST)
    change = last_change(values[start:])
    if change is None:
        return None
    before = values[: start + change.index]
    if min(before) <= change.now <= max(before):
        return None
    return Change(start + change.index, change.before, change.now)


def grouped(windows: Sequence[PhaseWindow], start: float, end: float, count: int) -> list[PhaseWindow | None]:
    """The windows of each of `count` equal slices of time as one, with their extremes; None where there is none."""
    found: list[PhaseWindow | None] = [None] * count
    if count <= 0 or not end > start:
        return found
    inside = [each for each in windows if start <= each.at <= end]

    def slice_of(window: PhaseWindow) -> int:
        return min(count - 1, int((window.at - start) / (end - start) * count))

    for index, part in groupby(inside, key=slice_of):
        found[index] = joined(list(part))
    return found


def _value(window: PhaseWindow, name: str) -> float | None:
    return window.cycle_ms if name == "cycle" else window.ms.get(name)


def _mean(weighed: Sequence[tuple[float, float]]) -> float:
    total = math.fsum(weight for weight, _ in weighed)
    return math.fsum(weight * value for weight, value in weighed) / total


def _extremes(extents: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in extents), max(high for _, high in extents)
