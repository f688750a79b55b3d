"""A chart before it has colours: rows of runs, each a text and the part it plays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from specmon.monitor.held import ChartColumns
from specmon.ui import braille
from specmon.ui.plot import Plot, Window, held_of, join_limit
from specmon.ui.timeaxis import MARK_SIGNS, cell_of, marks_by_cell, time_axis

Run: TypeAlias = tuple[str, str]  # text, part
Picture: TypeAlias = tuple[tuple[Run, ...], ...]
Cells: TypeAlias = list[tuple[str, str]]

_LINES, _AREAS = ([(braille.glyph(mask), part) for mask in range(256)] for part in ("line", "area"))
_ASCII_LINES, _ASCII_AREAS = [("#", "line")] * 256, [(":", "area")] * 256
_LEAST_STEP_S = 2.0  # a window that moves on with every sample paints the whole chart for each of them


def gutter(plot: Plot, rows: int) -> int:
    """Cells that the labels of the y axis take."""
    values = [plot.low, *braille.ticks(plot.low, plot.high, rows).values()]
    return max(len(braille.label(value)) for value in values) + 1


def aligned(window: Window, cells: int) -> Window:
    """The window with its edges on whole cells, moved on by two seconds at least."""
    if window.is_fixed:
        return window
    # The grid is absolute: a column changes only when a sample falls into it.
    cell = window.span_s / max(1, cells)
    if window.is_whole and cells > 1:
        # The end moves on by up to a cell. Rounded, so that the grid stays while the session grows.
        cell = window.span_s / (cells - 1)
        unit = 10 ** math.floor(math.log10(cell)) / 10
        cell = math.ceil(cell / unit) * unit
    step = cell * max(1, math.ceil(_LEAST_STEP_S / cell)) if cell > 0 else 1.0
    end = math.ceil(window.end / step) * step
    span_s = cell * cells if window.is_whole else window.span_s
    return Window(end - span_s, end, window.ends_now)


def framed(plot: Plot, width: int, height: int) -> tuple[int, Window | None]:
    """How wide the labels are, and the window that is drawn; None where there is no room for one."""
    room = gutter(plot, height - 1)
    cells = width - room - 1
    return room, aligned(plot.window, cells) if height > 1 and cells >= 4 else None


@dataclass(frozen=True, slots=True)
class Sketch:
    """All that a picture is made of; equal sketches have equal pictures, and are made in less time."""

    plot: Plot  # without its points
    window: Window | None  # as it is drawn; None where there is no room
    columns: ChartColumns | None
    width: int
    height: int
    gutter: int


def sketch(plot: Plot, width: int, height: int) -> Sketch:
    """What a plot shows in so many cells: most new samples lie between others of their column, and change nothing."""
    room, window = framed(plot, width, height)
    if window is None:
        return Sketch(replace(plot, points=()), None, None, width, height, room)
    count = 2 * (width - room - 1)
    columns = held_of(plot.points).columns(plot.measure, window.start, window.end, count, plot.running, plot.high)
    return Sketch(replace(plot, points=(), window=window), window, columns, width, height, room)


def draw(plot: Plot, width: int, height: int, *, ascii_only: bool = False) -> Picture:
    """The chart as `height` rows of exactly `width` cells; the last row is the time axis."""
    return painted(sketch(plot, width, height), ascii_only=ascii_only)


def painted(found: Sketch, *, ascii_only: bool = False) -> Picture:
    """The picture of a sketch."""
    plot, window, width, room = found.plot, found.window, found.width, found.gutter
    rows, cells = found.height - 1, width - room - 1
    if window is None or found.columns is None:
        return tuple(((" " * width, "blank"),) for _ in range(max(0, found.height)))
    grid = _grid(plot, found.columns, window, cells, rows, ascii_only)
    labels = braille.ticks(plot.low, plot.high, rows)
    drawn: list[tuple[Run, ...]] = []
    for row in range(rows):
        text = braille.label(labels[row]) if row in labels else ""
        drawn.append(((text.rjust(room), "label"), ("┤" if text else "│", "axis"), *_runs(grid[row])))
    foot = braille.label(plot.low) if labels else ""
    cursor = None if plot.cursor is None else cell_of(plot.cursor, window, cells)
    axis = time_axis(plot.marks, window, cells, cursor)
    drawn.append(((foot.rjust(room), "label"), ("┼" if foot else "└", "axis"), *_runs(axis)))
    return tuple(drawn)


def _grid(plot: Plot, drawn: ChartColumns, window: Window, cells: int, rows: int, ascii_only: bool) -> list[Cells]:
    marks = marks_by_cell(plot.marks, window, cells)
    grid: list[Cells] = [[(" ", "blank")] * cells for _ in range(rows)]
    _draw_others(plot, grid, drawn, ascii_only)
    walls = {2 * cell + side for cell in marks for side in (0, 1)}
    taken = {index // 2 for index, column in enumerate(drawn.shown) if column is not None}
    has_shown = bool(taken)
    found = braille.bridge(drawn.shown, join_limit(drawn.usual_gap_s, window.span_s / cells / 2), frozenset(walls))
    line, area = braille.raster(found, plot.low, plot.high, rows)
    lines, areas = (_ASCII_LINES, _ASCII_AREAS) if ascii_only else (_LINES, _AREAS)
    for target, strokes, fills in zip(grid, line, area, strict=True):
        for cell, (stroke, fill) in enumerate(zip(strokes, fills, strict=True)):
            if stroke:
                target[cell] = lines[stroke | fill]
            elif fill:
                target[cell] = areas[fill]
    others = {index // 2 for index, column in enumerate(drawn.other) if column is not None}
    others |= {index // 2 for index in drawn.beyond}
    # A column is hollow only where every sample of it is left out: zoomed out, one in forty would hide all the others.
    taken |= others
    for index, value in drawn.left_out:
        if index // 2 not in taken:
            grid[_place(plot, value, rows)][index // 2] = ("◦", "excluded")
    for cell, kind in marks.items():
        for row in range(rows):
            grid[row][cell] = (MARK_SIGNS[kind], f"mark-{kind}")
    # Words last, and only where nothing runs through them.
    if not has_shown:
        what = "clean sample" if plot.running is None or not others else f"clean sample at {plot.running} running"
        is_empty = not others and not drawn.left_out
        _write_centred(grid, plot.none_text if is_empty else f"no {what} in this window")
    _draw_reference(plot, grid)
    if others and has_shown:
        _note_others(plot, grid, bool(drawn.beyond))
    if plot.cursor is not None and (cursor := cell_of(plot.cursor, window, cells)) is not None:
        for row in range(rows):
            char, _ = grid[row][cursor]
            # What stands there shows through; an empty cell gets a stroke, which is no mark's.
            grid[row][cursor] = (char if char != " " else "╏", "cursor")
    return grid


def _place(plot: Plot, value: float, rows: int) -> int:
    return rows - 1 - braille.dot_row(value, plot.low, plot.high, rows * 4) // 4


def _draw_others(plot: Plot, grid: list[Cells], drawn: ChartColumns, ascii_only: bool) -> None:
    """Samples of other levels: faint dots, and an arrow at the upper edge for those beyond the scale."""
    line, _ = braille.raster(drawn.other, plot.low, plot.high, len(grid))
    for target, strokes in zip(grid, line, strict=True):
        for cell, stroke in enumerate(strokes):
            if stroke:
                target[cell] = ("-" if ascii_only else braille.glyph(stroke), "other")
    for index in drawn.beyond:
        grid[0][index // 2] = ("↑", "other")


def _note_others(plot: Plot, grid: list[Cells], are_beyond: bool) -> None:
    texts = [f"at {plot.running} running, others dim", f"at {plot.running} running"]
    if are_beyond:
        texts = [f"{texts[1]}, others beyond the scale ↑", f"{texts[1]}, others ↑", texts[1]]
    for text in texts:
        for row in grid[: max(1, len(grid) // 3)]:
            # A note may hide arrows, which say no more than it does, but never the line or a mark.
            if _write(row, f" {text} ", "note", ("blank", "other")):
                return


def _write(row: Cells, text: str, part: str, over: tuple[str, ...]) -> bool:
    """Write where the row holds nothing but those parts, as far to the right as possible."""
    free = 0
    for start in range(len(row) - 1, -1, -1):
        free = free + 1 if row[start][1] in over else 0
        if free == len(text):
            row[start : start + len(text)] = [(char, part) for char in text]
            return True
    return False


def _draw_reference(plot: Plot, grid: list[Cells]) -> None:
    if plot.line is None or not plot.low <= plot.line <= plot.high:
        return
    at = _place(plot, plot.line, len(grid))
    for cell, (_, part) in enumerate(grid[at]):
        if part in ("blank", "area", "other"):
            grid[at][cell] = ("┈", "reference")
    if not plot.line_name:
        return
    # On its line, else in the free row above or below: a name that something runs through cannot be read.
    name = f" {plot.line_name} "
    for row, over in ((at, ("reference",)), (at - 1, ("blank",)), (at - 1, ("blank", "area")), (at + 1, ("area",))):
        if 0 <= row < len(grid) and _write(grid[row], name, "reference", over):
            return


def _write_centred(grid: list[Cells], text: str) -> None:
    row = grid[len(grid) // 2]
    start = (len(row) - len(text)) // 2
    if start >= 0:
        row[start : start + len(text)] = [(char, "note") for char in text]


def _runs(cells: Sequence[tuple[str, str]]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for text, part in cells:
        if merged and merged[-1][1] == part:
            merged[-1] = (merged[-1][0] + text, part)
        else:
            merged.append((text, part))
    return tuple(merged)
