"""The charts of one server: which measure, in which window, against which line. Pure: a snapshot goes in."""

from __future__ import annotations

from specmon.monitor.held import Measure
from specmon.monitor.snapshot import Role, ServerView, Snapshot
from specmon.ui import figures, plot
from specmon.ui.plot import Plot
from specmon.ui.timeview import TimeView, window_of


def speed_plot(snapshot: Snapshot, view: ServerView, time_view: TimeView) -> Plot:
    """Decode throughput; on the baseline with the reference as a line."""
    line = view.reference_tok_s if view.role is Role.BASELINE else None
    name = "" if line is None else f"ref {figures.tok_s(line)}"
    references = [side.reference_tok_s for side in plot.sides(snapshot)]
    return _plot(snapshot, view, time_view, plot.THROUGHPUT, references, line, name, unit="tok/s")


def cycle_plot(snapshot: Snapshot, view: ServerView, time_view: TimeView) -> Plot:
    """Cycle time; on the baseline with the reference as a line."""
    line = view.reference_cycle_ms if view.role is Role.BASELINE else None
    name = "" if line is None else f"ref {figures.ms(line)}"
    references = [side.reference_cycle_ms for side in plot.sides(snapshot)]
    return _plot(snapshot, view, time_view, plot.CYCLE, references, line, name, unit="ms")


def accept_plot(snapshot: Snapshot, view: ServerView, time_view: TimeView) -> Plot:
    """Accept length with the break-even length as a line; a baseline has none."""
    comparison = snapshot.comparison
    line = None if comparison is None else comparison.break_even_accept_len
    name = "" if line is None else f"break-even {figures.length(line)}"
    if view.role is Role.BASELINE:
        line, name = None, ""
    references = [None if comparison is None else comparison.break_even_accept_len]
    none_text = "no accept length: a baseline drafts nothing" if view.role is Role.BASELINE else ""
    return _plot(snapshot, view, time_view, plot.ACCEPTANCE, references, line, name, low=1.0, none_text=none_text)


BY_MEASURE = (speed_plot, cycle_plot, accept_plot)  # in the order of `timeview.MEASURES`


def _plot(
    snapshot: Snapshot,
    view: ServerView,
    time_view: TimeView,
    measure: Measure,
    references: list[float | None],
    line: float | None,
    name: str,
    *,
    unit: str = "",
    low: float = 0.0,
    none_text: str = "",
) -> Plot:
    common, is_past = window_of(snapshot, time_view), time_view.is_past
    own = plot.side_window(view, common, is_past=is_past)
    return Plot(
        plot.points_of(view, own),
        view.marks,
        measure,
        own,
        low,
        plot.shared_top(snapshot, measure, references, low, window=common, is_past=is_past),
        unit,
        line,
        name,
        plot.shown_level(view),
        time_view.cursor,
        none_text or ("no samples in this window" if is_past else "no samples yet"),
    )
