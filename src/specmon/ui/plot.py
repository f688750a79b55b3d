"""What a chart shows before it has colours: rows of runs, each a text and the part it plays.

The two sides share the y axis and the clock. A side whose samples lie outside the common window (one
server was stopped to start the other) gets the window of its own last samples, with its clock times.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeAlias

from specmon.monitor.snapshot import Mark, MarkKind, SamplePoint, ServerView, Snapshot
from specmon.ui import braille, figures

Run: TypeAlias = tuple[str, str]  # text, part
Picture: TypeAlias = tuple[tuple[Run, ...], ...]
Measure: TypeAlias = Callable[[SamplePoint], "float | None"]

_SPANS_S = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0)
_MARK_SIGNS = {MarkKind.RESTART: "│", MarkKind.GAP: "┊", MarkKind.CRASH: "┃", MarkKind.DRIFT: "╎"}

_MARK_ORDER = (MarkKind.CRASH, MarkKind.RESTART, MarkKind.GAP, MarkKind.DRIFT)


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


def side_window(view: ServerView, common: Window) -> Window:
    """The common window, or that of the side's own last samples when these lie outside it."""
    if not view.points or view.points[-1].at >= common.start:
        return common
    end = view.points[-1].at
    return Window(end - common.span_s, end, False)


_tops: deque[tuple[tuple[Snapshot, Measure, object], float]] = deque(maxlen=4)


def _seen(points: Sequence[SamplePoint], window: Window) -> Sequence[SamplePoint]:
    first = bisect_left(points, window.start, key=lambda point: point.at)
    return points[first:]


def shared_top(snapshot: Snapshot, measure: Measure, references: Sequence[float | None], low: float = 0.0) -> float:
    """The upper end of the axis that both sides share."""
    for known, result in _tops:
        # Both sides ask for the same picture; the snapshot is compared by identity, it is never changed.
        if known[0] is snapshot and known[1] is measure and known[2] == (tuple(references), low):
            return result
    common = common_window(snapshot)
    values = [value for value in references if value is not None and math.isfinite(value)]
    for view in sides(snapshot):
        seen = _seen(view.points, side_window(view, common))
        clean = [v for p in seen if p.excluded is None and (v := measure(p)) is not None and math.isfinite(v)]
        values.extend(clean[-4000:])
    top = braille.nice_top(max(values, default=low), low)
    _tops.append(((snapshot, measure, (tuple(references), low)), top))
    return top


def gutter(plot: Plot, rows: int) -> int:
    """Cells that the labels of the y axis take."""
    values = [plot.low, *braille.ticks(plot.low, plot.high, rows).values()]
    return max(len(braille.label(value)) for value in values) + 1


def aligned(window: Window, cells: int) -> Window:
    """The window with its edges on whole dot columns."""
    # The grid is absolute: a column changes only when a sample falls into it.
    step = window.span_s / max(1, cells * 2)
    end = math.ceil(window.end / step) * step
    return Window(end - step * cells * 2, end, window.ends_now)


def draw(plot: Plot, width: int, height: int, *, ascii_only: bool = False, axis_width: int | None = None) -> Picture:
    """The chart as `height` rows of exactly `width` cells; the last row is the time axis."""
    rows = height - 1
    room = gutter(plot, rows) if axis_width is None else axis_width
    cells = width - room - 1
    if rows < 1 or cells < 4:
        return tuple(((" " * width, "blank"),) for _ in range(max(0, height)))
    window = aligned(plot.window, cells)
    grid = _grid(plot, window, cells, rows, ascii_only)
    labels = braille.ticks(plot.low, plot.high, rows)
    drawn: list[tuple[Run, ...]] = []
    for row in range(rows):
        text = braille.label(labels[row]) if row in labels else ""
        drawn.append(((text.rjust(room), "label"), ("┤" if text else "│", "axis"), *_runs(grid[row])))
    foot = braille.label(plot.low) if labels else ""
    drawn.append(((foot.rjust(room), "label"), ("┼" if foot else "└", "axis"), *_time_axis(plot, window, cells)))
    return tuple(drawn)


def _grid(plot: Plot, window: Window, cells: int, rows: int, ascii_only: bool) -> list[list[tuple[str, str]]]:
    seen = _seen(plot.points, window)
    step = window.span_s / (cells * 2)
    clean: list[tuple[float, float]] = []
    left_out: list[tuple[float, float]] = []
    for point in seen:
        value = plot.measure(point)
        if value is not None and point.at <= window.end:
            (clean if point.excluded is None else left_out).append((point.at, value))
    walls = {int((mark.at - window.start) / step) for mark in plot.marks if window.start <= mark.at <= window.end}
    found = braille.columns(clean, window.start, window.end, cells * 2)
    found = braille.bridge(found, _join_limit(clean, step), frozenset(walls))
    line, area = braille.raster(found, plot.low, plot.high, rows)
    grid = [[(" ", "blank")] * cells for _ in range(rows)]
    for row in range(rows):
        for cell in range(cells):
            if line[row][cell]:
                dots = line[row][cell] | area[row][cell]
                grid[row][cell] = ("#" if ascii_only else braille.glyph(dots), "line")
            elif area[row][cell]:
                grid[row][cell] = (":" if ascii_only else braille.glyph(area[row][cell]), "area")
    _draw_reference(plot, grid)
    for at, value in left_out:
        grid[_place(plot, value, rows)][min(cells - 1, int((at - window.start) / step / 2))] = ("◦", "excluded")
    for mark in plot.marks:
        if window.start <= mark.at <= window.end:
            cell = min(cells - 1, int((mark.at - window.start) / step / 2))
            for row in range(rows):
                grid[row][cell] = (_MARK_SIGNS[mark.kind], f"mark-{mark.kind}")
    if not clean:
        _write_centred(grid, "no clean sample in this window" if seen else "no samples yet")
    return grid


def _join_limit(clean: Sequence[tuple[float, float]], step: float) -> int:
    """How many dot columns apart two samples may lie and still be one line: three usual gaps."""
    gaps = [after[0] - before[0] for before, after in pairwise(clean) if after[0] > before[0]]
    return max(2, math.ceil(3 * median(gaps[-200:]) / step)) if gaps else 2


def _place(plot: Plot, value: float, rows: int) -> int:
    return rows - 1 - braille.dot_row(value, plot.low, plot.high, rows * 4) // 4


def _draw_reference(plot: Plot, grid: list[list[tuple[str, str]]]) -> None:
    if plot.line is None or not plot.low <= plot.line <= plot.high:
        return
    row = grid[_place(plot, plot.line, len(grid))]
    for cell, (_, part) in enumerate(row):
        if part in ("blank", "area"):
            row[cell] = ("┈", "reference")
    name = f" {plot.line_name} "
    for start in (len(row) - len(name) - 1, 1):
        if plot.line_name and start > 0 and all(part == "reference" for _, part in row[start : start + len(name)]):
            row[start : start + len(name)] = [(char, "reference") for char in name]
            break


def _write_centred(grid: list[list[tuple[str, str]]], text: str) -> None:
    row = grid[len(grid) // 2]
    start = (len(row) - len(text)) // 2
    if start >= 0:
        row[start : start + len(text)] = [(char, "note") for char in text]


def _time_axis(plot: Plot, window: Window, cells: int) -> list[Run]:
    row = [("─", "axis")] * cells
    right = "now" if window.ends_now else figures.clock(window.end)
    left = _span(window.span_s) if window.ends_now else figures.clock(window.start)

    def write(start: int, text: str, part: str) -> bool:
        if start < 0 or start + len(text) > cells or any(p != "axis" for _, p in row[start : start + len(text)]):
            return False
        row[start : start + len(text)] = [(char, part) for char in text]
        return True

    # Marks first: where one stands is worth more than the ends of the axis, and a restart more than what follows it.
    stands = [
        (min(cells - 1, int((mark.at - window.start) / window.span_s * cells)), mark.kind)
        for mark in plot.marks
        if window.start <= mark.at <= window.end
    ]
    for cell, kind in stands:
        row[cell] = ("┴", f"mark-{kind}")
    for cell, kind in sorted(stands, key=lambda stand: (_MARK_ORDER.index(stand[1]), -stand[0])):
        part = f"mark-{kind}"
        _ = write(cell + 1, str(kind), part) or write(cell - len(kind), str(kind), part)
    write(cells - len(right), right, "label")
    write(0, left, "label")
    return list(_runs(row))


def _span(seconds: float) -> str:
    return f"−{seconds / 60:.0f} min" if seconds >= 60 else f"−{seconds:.0f} s"


def _runs(cells: Sequence[tuple[str, str]]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for text, part in cells:
        if merged and merged[-1][1] == part:
            merged[-1] = (merged[-1][0] + text, part)
        else:
            merged.append((text, part))
    return tuple(merged)


def trend(view: ServerView, window: Window, high: float, width: int, *, ascii_only: bool = False) -> str:
    """The speed of one server as one row of blocks, for narrow terminals."""
    own = side_window(view, window)
    clean = [(p.at, p.tok_s) for p in _seen(view.points, own) if p.excluded is None]
    found = braille.columns(clean, own.start, own.end, width)
    found = braille.bridge(found, _join_limit(clean, own.span_s / max(1, width)))
    return braille.sparkline(found, 0.0, high, ascii_only=ascii_only)
