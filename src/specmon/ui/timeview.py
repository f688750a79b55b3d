"""Which time the charts show, and where their cursor stands. Pure: a view and a key go in, another view comes out.

A view that nobody moved follows the newest sample, in a span that holds what there is. Every chart has the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from specmon.monitor.snapshot import SamplePoint, Snapshot
from specmon.ui.plot import Window, common_window, held_of, nearest, sides

SPANS_S = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0, 259200.0, 604800.0)
WHOLE = math.inf  # the span of all that is held
MEASURES = ("tok/s", "cycle ms", "accept length")
_USUAL = 24  # samples on either side that tell how far apart they usually lie


@dataclass(frozen=True, slots=True)
class TimeView:
    """What the user chose to look at; None leaves it to the charts."""

    span_s: float | None = None
    end: float | None = None  # on the log's clock; None follows the newest
    cursor: float | None = None  # on the log's clock
    measure: int = 0  # of the large charts, by its place in MEASURES

    @property
    def is_past(self) -> bool:
        """Whether the charts do not follow."""
        return self.end is not None


FOLLOWS = TimeView()


def oldest(snapshot: Snapshot) -> float | None:
    """The time of the oldest sample that is held, whole or in a bucket."""
    starts = [held_of(view.points).started_at for view in sides(snapshot)]
    return min((start for start in starts if start is not None), default=None)


def window_of(snapshot: Snapshot, view: TimeView) -> Window:
    """The time that the charts cover; never later than what there is."""
    newest = common_window(snapshot)
    if view.span_s is None and view.end is None:
        return newest
    span = _span(snapshot, view, newest)
    if view.end is None or view.end >= newest.end:
        is_whole = view.span_s is not None and math.isinf(view.span_s)
        return Window(newest.end - span, newest.end, newest.ends_now, is_whole=is_whole)
    return Window(view.end - span, view.end, False, True)


def _whole(snapshot: Snapshot, newest: Window) -> float:
    start = oldest(snapshot)
    return max(SPANS_S[0], newest.span_s if start is None else newest.end - start)


def _span(snapshot: Snapshot, view: TimeView, newest: Window) -> float:
    if view.span_s is None:
        return newest.span_s
    return _whole(snapshot, newest) if math.isinf(view.span_s) else view.span_s


def zoomed(view: TimeView, snapshot: Snapshot, steps: int, about: float | None = None) -> TimeView:
    """Show more time (steps > 0) or less; in the past `about`, else the cursor, else the middle keeps its place."""
    before, newest = window_of(snapshot, view), common_window(snapshot)
    whole = _whole(snapshot, newest)
    rungs = [*(span for span in SPANS_S if span < whole), WHOLE]
    now = before.span_s
    if steps > 0:
        span = next((rung for rung in rungs if rung > now * 1.001), WHOLE)
    else:
        span = next((rung for rung in reversed(rungs) if rung < now * 0.999), SPANS_S[0])
    changed = replace(view, span_s=span)
    if view.end is None:
        return changed
    after = _span(snapshot, changed, newest)
    anchor = about if about is not None else view.cursor if _holds(before, view.cursor) else None
    anchor = (before.start + before.end) / 2 if anchor is None else anchor
    return ending(changed, snapshot, anchor + (before.end - anchor) * after / before.span_s)


def _holds(window: Window, at: float | None) -> bool:
    return at is not None and window.start <= at <= window.end


def ending(view: TimeView, snapshot: Snapshot, end: float) -> TimeView:
    """Move the window; at the newest it follows again, and before the oldest sample there is nothing to see."""
    newest, start = common_window(snapshot), oldest(snapshot)
    span = _span(snapshot, view, newest)
    if start is not None:
        end = max(end, start + span)
    return replace(view, end=None if end >= newest.end else end)


def panned(view: TimeView, snapshot: Snapshot, seconds: float) -> TimeView:
    """Move the window by so many seconds."""
    return ending(view, snapshot, window_of(snapshot, view).end + seconds)


def pointed(view: TimeView, snapshot: Snapshot, at: float) -> TimeView:
    """Put the cursor on a moment; a window that does not hold it moves there."""
    first, last = oldest(snapshot), common_window(snapshot).end
    at = min(max(at, last if first is None else first), last)
    moved = replace(view, cursor=at)
    window = window_of(snapshot, view)
    if _holds(window, at):
        return moved
    return ending(moved, snapshot, at + window.span_s / 4)


def nudged(view: TimeView, snapshot: Snapshot, seconds: float) -> TimeView:
    """Move the cursor; at the edge it takes the window along."""
    window = window_of(snapshot, view)
    first, last = oldest(snapshot), common_window(snapshot).end
    at = (last if view.cursor is None else view.cursor) + seconds
    at = min(max(at, last if first is None else first), last)
    moved = replace(view, cursor=at)
    if _holds(window, at):
        return moved
    return ending(moved, snapshot, window.end + at - (window.start if at < window.start else window.end))


def on_sample(view: TimeView, snapshot: Snapshot, steps: int) -> TimeView:
    """Put the cursor on the next sample of either server, or the one before; without a cursor on the newest."""
    window, here = window_of(snapshot, view), view.cursor
    held = [held_of(side.points) for side in sides(snapshot)]
    if here is None:
        newest = [each.before(math.nextafter(window.end, math.inf)) for each in held]
        return pointed(
            view, snapshot, max((at for at in newest if at is not None and at >= window.start), default=window.end)
        )
    if steps > 0:
        found = min((at for each in held if (at := each.after(here)) is not None), default=None)
    else:
        found = max((at for each in held if (at := each.before(here)) is not None), default=None)
    return view if found is None else pointed(view, snapshot, found)


def sample_under(points: Sequence[SamplePoint], at: float, cell_s: float) -> SamplePoint | None:
    """The sample nearest to a moment; None where the next one lies further off than half a cell or a usual gap."""
    index = nearest(points, at)
    if index is None:
        return None
    around = [point.at for point in points[max(0, index - _USUAL) : index + _USUAL]]
    gaps = [b - a for a, b in pairwise(around) if b > a]
    reach = max(cell_s / 2, median(gaps) if gaps else 0.0)
    return points[index] if abs(points[index].at - at) <= reach else None
