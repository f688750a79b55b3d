"""What a chart shows: its points, its window and its scale; `specmon.ui.drawing` makes rows of it.

The two sides share the y axis and the clock. A side whose samples lie outside the common window (one
server was stopped to start the other) gets the window of its own last samples, with its clock times.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from specmon.monitor.held import HeldSamples, Measure
from specmon.monitor.snapshot import Mark, SamplePoint, ServerView, Snapshot
from specmon.ui import braille

THROUGHPUT: Measure = "tok_s"  # what the speed chart draws
CYCLE: Measure = "cycle_ms"
ACCEPTANCE: Measure = "accept_len"

_SPANS_S = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0)
# A column of a longer window stands for ten seconds and more: it is drawn when they are over, not with every sample.
_WIDE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a chart covers."""

    start: float
    end: float
    ends_now: bool
    is_fixed: bool = False  # somebody chose it, and it stays
    is_whole: bool = False  # of all that is held: nothing of it may fall off at its start

    @property
    def span_s(self) -> float:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Plot:
    """One chart: its points, its window and its scale."""

    points: Sequence[SamplePoint]
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


def sides(snapshot: Snapshot) -> list[ServerView]:
    """The servers that are compared, as far as there are any."""
    return [view for view in (snapshot.baseline, snapshot.speculative) if view is not None]


def common_window(snapshot: Snapshot) -> Window:
    """The window of both sides: the shortest round span that holds what there is, half an hour at most."""
    views = [view for view in sides(snapshot) if view.points]
    if not views:
        return Window(snapshot.now - _SPANS_S[0], snapshot.now, True)
    ends = [(held.started_at or 0.0, held.ended_at or 0.0) for held in (held_of(view.points) for view in views)]
    newest = max(ended for _, ended in ends)
    # A server's clock may be in another zone than ours; then its own newest sample is "now".
    ends_now = 0 <= snapshot.now - newest <= _SPANS_S[-1]
    end = snapshot.now if ends_now else newest
    recent = [started for started, ended in ends if ended >= end - _SPANS_S[-1]]
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


_tops: deque[tuple[tuple[object, ...], tuple[HeldSamples, ...], float]] = deque(maxlen=8)
_known: deque[tuple[Sequence[SamplePoint], HeldSamples]] = deque(maxlen=8)


def held_of(points: Sequence[SamplePoint]) -> HeldSamples:
    """Samples as what can be asked for their extremes; those of the monitor are that already."""
    if isinstance(points, HeldSamples):
        return points
    for known, held in _known:
        if known is points:
            return held
    _known.append((points, HeldSamples.of(points)))
    return _known[-1][1]


def points_of(view: ServerView, window: Window) -> HeldSamples:
    """What a chart of this window draws: of a long one, no slot of time that still goes on."""
    held = held_of(view.points)
    return held.by_slots if window.span_s >= _WIDE_S else held


def shown_level(view: ServerView) -> int | None:
    """The level that the server's big number stands for."""
    return None if view.level is None else view.level.running


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
    common = window or common_window(snapshot)
    views = sides(snapshot)
    parts = [(view, side_window(view, common, is_past=is_past)) for view in views]
    asked = [(points_of(view, own), *_asked(own), shown_level(view)) for view, own in parts]
    key = (measure, tuple(references), low, tuple((id(held), *more) for held, *more in asked))
    for known, _, result in _tops:
        if known == key:
            return result
    values = [value for value in references if value is not None and math.isfinite(value)]
    for held, start, end, running in asked:
        if (greatest := held.greatest(measure, start, end, running)) is not None:
            values.append(greatest)
    top = braille.nice_top(max(values, default=low), low)
    # The points are kept with it, so that no others get their place in memory.
    _tops.append((key, tuple(held for held, *_ in asked), top))
    return top


def _asked(window: Window) -> tuple[float, float]:
    """From when to when a scale is made; of a long window to ten seconds, so that it need not be made each time."""
    # One that ends now has no later ones; a server's clock may be a little ahead of ours.
    end = math.inf if window.ends_now else window.end
    return (window.start // 10 * 10 if window.span_s >= _WIDE_S else window.start), end


def join_limit(usual_gap_s: float | None, step: float) -> int:
    """How many dot columns apart two samples may lie and still be one line: three usual gaps."""
    return max(2, math.ceil(3 * usual_gap_s / step)) if usual_gap_s is not None else 2


def trend(
    view: ServerView, window: Window, high: float, width: int, *, is_past: bool = False, ascii_only: bool = False
) -> str:
    """The speed of one server as one row of blocks, for narrow terminals."""
    own = side_window(view, window, is_past=is_past)
    held, running = points_of(view, own), shown_level(view)
    if not held.has_level(own.start, own.end, running):
        running = None
    found = held.columns(THROUGHPUT, own.start, own.end, width, running)
    columns = braille.bridge(found.shown, join_limit(found.usual_gap_s, own.span_s / max(1, width)))
    return braille.sparkline(columns, 0.0, high, ascii_only=ascii_only)
