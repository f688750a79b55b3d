"""Speculative over baseline on one clock, with a dotted line at 1: below it speculation loses."""

from __future__ import annotations

import math

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive

from specmon.monitor.ratio import LEAST_SLICE_S, ratio_points
from specmon.monitor.snapshot import EMPTY, Mark, SamplePoint, Snapshot
from specmon.ui import braille, figures, plot
from specmon.ui.chart import Chart
from specmon.ui.look import Look
from specmon.ui.opened import opens
from specmon.ui.panels.comparison import against_reference
from specmon.ui.resting import Resting
from specmon.ui.row import first_that_fits, fit, piece
from specmon.ui.timeview import FOLLOWS, TimeView, window_of

_SLICES = 120  # in a window, about


class Ratio(Resting, Vertical):
    """The ratio chart, over the whole width."""

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)
    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)

    def __init__(self, look: Look, *, id: str, classes: str) -> None:
        super().__init__(id=id, classes=classes)
        self._look = look
        self._title: Content | None = None
        self._made_of: tuple[object, ...] = ()
        self._ratios: tuple[SamplePoint, ...] = ()  # with the ratio in the place of the speed
        self._marks: tuple[Mark, ...] = ()

    def compose(self) -> ComposeResult:
        """One chart."""
        yield Chart(self._look, classes="ratio")

    def on_resize(self) -> None:
        """The title is made for the width."""
        self.watch_snapshot(self.snapshot)

    def watch_time_view(self) -> None:
        """Another window, or another place of the cursor."""
        self.watch_snapshot(self.snapshot)

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Draw the chart; a slice of time has its point when it is over."""
        if not self.display:
            return
        window = window_of(snapshot, self.time_view)
        self._take(snapshot, window)
        made = self._heading(max(1, self.outer_size.width - 6))
        if self._title is None or not made.is_same(self._title):
            self._title = made
            self.set_title(made)
        low, high = _scale([point.tok_s for point in self._ratios])
        marks = tuple(mark for view in plot.sides(snapshot) for mark in view.marks)
        if marks != self._marks:
            self._marks = marks
        cursor, why = self.time_view.cursor, _why_none(snapshot)
        self.query_one(Chart).show(
            plot.Plot(
                self._ratios,
                self._marks,
                plot.THROUGHPUT,
                window,
                low,
                high,
                "",
                1.0,
                "break-even 1.0",
                None,
                cursor,
                why,
            )
        )

    def _heading(self, width: int) -> Content:
        comparison = self.snapshot.comparison
        name = piece(("ratio speculative / baseline", "$foreground"))
        clock = piece(("same clock, medians of clean samples", "$quiet"), rank=1)
        if comparison is None or comparison.speedup is None:
            return fit([name, clock], width)
        against = against_reference(self.snapshot)
        apparent = figures.times(comparison.speedup) + (" apparent" if against is not None else "")
        now = piece((apparent, opens("comparison.speedup", "bold $foreground")))
        if against is None:
            return fit([name, now, clock], width)
        style = opens("comparison.speedup_ref", "$caution")
        long, short = (
            piece((f"{figures.times(against.speedup)} {word}", style)) for word in ("against the reference", "vs ref")
        )
        return first_that_fits(width, [name, now, long, clock], [name, now, short])

    def _take(self, snapshot: Snapshot, window: plot.Window) -> None:
        """The points, made anew only when a slice is over or somebody looks elsewhere."""
        slice_s = max(LEAST_SLICE_S, math.ceil(window.span_s / _SLICES))
        comparison = snapshot.comparison
        level = None if comparison is None else (comparison.running, comparison.running_range)
        names = tuple(view.key for view in plot.sides(snapshot))
        made_of = (window.start // slice_s, window.end // slice_s, slice_s, level, names)
        if made_of != self._made_of:
            self._made_of = made_of
            found = ratio_points(snapshot, window.start, window.end, slice_s)
            self._ratios = tuple(SamplePoint(each.at, each.ratio, each.running, None, None) for each in found)


def _scale(ratios: list[float]) -> tuple[float, float]:
    """The ends of the axis: 1 lies between them, and the half below it is left out where nothing is there."""
    low = 0.5 if min(ratios, default=1.0) > 0.5 else 0.0
    return low, braille.nice_top(max(1.4, *ratios, 1.4), low)


def _why_none(snapshot: Snapshot) -> str:
    views = plot.sides(snapshot)
    if len(views) < 2 or snapshot.comparison is None or not all(view.clean for view in views):
        return "needs clean samples of both servers"
    return "both servers have no clean sample at one time here"
