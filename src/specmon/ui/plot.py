"""What a chart shows: its points, its window and its scale; `specmon.ui.drawing` makes rows of it.

The two sides share the y axis and the clock. A side whose samples lie outside the common window (one
server was stopped to start the other) gets the window of its own last samples, with its clock times.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeAlias

from specmon.monitor.snapshot import Mark, SamplePoint, ServerView, Snapshot
from specmon.ui import braille

Measure: TypeAlias = Callable[[SamplePoint], "float | None"]

_SPANS_S = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0)


def throughput(point: SamplePoint) -> float | None:
    """What the speed chart draws."""
    return point.tok_s


def cycle(point: SamplePoint) -> float | None:
    """What the cycle chart draws."""
    return point.cycle_ms


def acceptance(point: SamplePoint) -> float | None:
    """What the acceptance chart draws."""
    return point.accept_len


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a chart covers."""

    start: float
    end: float
    ends_now: bool
    is_fixed: bool = False  # somebody chose it, and it stays

    @property
    def span_s(self) -> float:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Plot:
    """One chart: its points, its window and its scale."""

    points: tuple[SamplePoint, ...]
    marks: tuple[Mark, ...]
    measure: Measure
    window: Window
    low: float
    high: float
    unit: str = ""
    line: float | None = None  # a dotted line at this value
    line_name: str = ""
    running: int | None = None  # the level that is drawn in full, the others are dim; None: every level
    cursor: float | None = None  # a moment that is pointed at
    none_text: str = "no samples yet"  # where there is nothing to draw

    def is_shown(self, point: SamplePoint) -> bool:
        """Whether a clean point belongs to the level that the big number stands for."""
        return self.running is None or point.running == self.running


def sides(snapshot: Snapshot) -> list[ServerView]:
    """The servers that are compared, as far as there are any."""
    return [view for view in (snapshot.baseline, snapshot.speculative) if view is not None]


def common_window(snapshot: Snapshot) -> Window:
    """The window of both sides: the shortest round span that holds what there is, half an hour at most."""
    views = [view for view in sides(snapshot) if view.points]
    if not views:
        return Window(snapshot.now - _SPANS_S[0], snapshot.now, True)
    newest = max(view.points[-1].at for view in views)
    # A server's clock may be in another zone than ours; then its own newest sample is "now".
    ends_now = 0 <= snapshot.now - newest <= _SPANS_S[-1]
    end = snapshot.now if ends_now else newest
    recent = [view.points[0].at for view in views if view.points[-1].at >= end - _SPANS_S[-1]]
    held = end - min(recent)
    span = next((span for span in _SPANS_S if held <= span), _SPANS_S[-1])
    return Window(end - span, end, ends_now)


def side_window(view: ServerView, common: Window, *, is_past: bool = False) -> Window:
    """The common window, or that of the side's own last samples when these lie outside it.

    Somebody who went into the past looks at one clock on both sides.
    """
    if is_past or not view.points or view.points[-1].at >= common.start:
        return common
    end = view.points[-1].at
    return Window(end - common.span_s, end, False)


_tops: deque[tuple[tuple[Snapshot, Measure, object], float]] = deque(maxlen=4)


def shown_level(view: ServerView) -> int | None:
    """The level that the server's big number stands for."""
    return None if view.level is None else view.level.running


def seen(points: Sequence[SamplePoint], window: Window) -> Sequence[SamplePoint]:
    """The points inside the window."""
    first = bisect_left(points, window.start, key=_at)
    # One that ends now has no later ones; a server's clock may be a little ahead of ours.
    return points[first:] if window.ends_now else points[first : bisect_right(points, window.end, key=_at)]


def _at(point: SamplePoint) -> float:
    return point.at


def nearest(points: Sequence[SamplePoint], at: float) -> int | None:
    """The place of the point nearest to a moment, of several at one instant the last; None without any."""
    after = bisect_right(points, at, key=_at)
    if after == 0:
        return bisect_right(points, points[0].at, key=_at) - 1 if points else None
    if after == len(points) or at - points[after - 1].at <= points[after].at - at:
        return after - 1
    return bisect_right(points, points[after].at, key=_at) - 1


def shared_top(
    snapshot: Snapshot,
    measure: Measure,
    references: Sequence[float | None],
    low: float = 0.0,
    *,
    window: Window | None = None,
    is_past: bool = False,
) -> float:
    """The upper end of the axis that both sides share: it fits the level of the big numbers, not every level."""
    for known, result in _tops:
        # Both sides ask for the same picture; the snapshot is compared by identity, it is never changed.
        if known[0] is snapshot and known[1] is measure and known[2] == (tuple(references), low, window):
            return result
    common = window or common_window(snapshot)
    values = [value for value in references if value is not None and math.isfinite(value)]
    for view in sides(snapshot):
        found = [
            (point.running, value)
            for point in seen(view.points, side_window(view, common, is_past=is_past))
            if point.excluded is None and (value := measure(point)) is not None and math.isfinite(value)
        ]
        running = shown_level(view)
        shown = [value for at, value in found if at == running] or [value for _, value in found]
        values.extend(shown[-4000:])
    top = braille.nice_top(max(values, default=low), low)
    _tops.append(((snapshot, measure, (tuple(references), low, window)), top))
    return top


def join_limit(clean: Sequence[tuple[float, float]], step: float) -> int:
    """How many dot columns apart two samples may lie and still be one line: three usual gaps."""
    gaps = [after[0] - before[0] for before, after in pairwise(clean) if after[0] > before[0]]
    return max(2, math.ceil(3 * median(gaps[-200:]) / step)) if gaps else 2


def trend(
    view: ServerView, window: Window, high: float, width: int, *, is_past: bool = False, ascii_only: bool = False
) -> str:
    """The speed of one server as one row of blocks, for narrow terminals."""
    own = side_window(view, window, is_past=is_past)
    clean = [p for p in seen(view.points, own) if p.excluded is None]
    running = shown_level(view)
    values = [(p.at, p.tok_s) for p in clean if p.running == running] or [(p.at, p.tok_s) for p in clean]
    found = braille.columns(values, own.start, own.end, width)
    found = braille.bridge(found, join_limit(values, own.span_s / max(1, width)))
    return braille.sparkline(found, 0.0, high, ascii_only=ascii_only)
