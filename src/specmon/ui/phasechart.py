"""Phases over time as lines of braille dots, each named at its end, with restarts as vertical marks. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from textual.content import Content

from specmon.monitor.phaserecords import PhaseWindow, grouped
from specmon.monitor.snapshot import Mark, MarkKind
from specmon.ui import braille, figures
from specmon.ui.look import Look
from specmon.ui.phasebars import name_of, sign_of, style_of
from specmon.ui.plot import join_limit
from specmon.ui.row import fit, piece

_NAMED = 14  # cells for a name and its newest value at the end of a line
_LEAST_CELLS = 8
_PHASES = ("decode", "draft", "verify", "draft_extend")
_SIGNS = {MarkKind.RESTART: "│", MarkKind.GAP: "┊", MarkKind.CRASH: "┃", MarkKind.DRIFT: "╎"}


@dataclass(frozen=True, slots=True)
class Axes:
    """What the charts of all servers share: from when to when, and the end of the y axis."""

    start: float
    end: float
    top_ms: float


def axes_of(histories: Sequence[Sequence[PhaseWindow]]) -> list[Axes]:
    """For each history: one height for all, and one time unless they never ran at the same one."""
    spans = [
        (windows[0].at, max(windows[-1].at, windows[0].at + 1)) if windows else (0.0, 1.0) for windows in histories
    ]
    first, last = max((start for start, _ in spans), default=0.0), min((end for _, end in spans), default=0.0)
    if first <= last:
        spans = [(min(start for start, _ in spans), max(end for _, end in spans))] * len(spans)
    top = _top_of(histories)
    return [Axes(start, end, top) for start, end in spans]


def history_rows(
    windows: Sequence[PhaseWindow], marks: Sequence[Mark], width: int, height: int, look: Look, axes: Axes
) -> list[Content]:
    """`height` rows, the last one the time axis. A column has the least and the greatest of its windows."""
    start, end, top_ms = axes.start, axes.end, axes.top_ms
    rows = height - 1
    ticks = braille.ticks(0.0, top_ms, rows)
    room = max((len(braille.label(value)) for value in ticks.values()), default=1) + 1
    named = _NAMED if width >= 48 else 0
    cells = width - room - 1 - named
    if rows < 2 or cells < _LEAST_CELLS or not windows:
        return [fit([piece((" no room for the history", "$quiet"))], width)] if width > 24 and windows else []
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * cells for _ in range(rows)]
    for mark in marks:
        if start < mark.at <= end:
            cell = min(cells - 1, int((mark.at - start) / (end - start) * cells))
            for each in grid:
                each[cell] = (_SIGNS[mark.kind], "$caution")
    ends: dict[int, tuple[str, str]] = {}
    slices = grouped(windows, start, end, cells * 2)
    names = [name for name in _PHASES if any(name in each.ms for each in windows)]
    names += sorted({name for each in windows for name in each.ms} - set(names))
    # The smallest first, so that what matters most stands on top and has its name where its line ends.
    names.sort(key=lambda name: _newest(windows, name))
    for name in names:
        times = [window.at for window in windows if name in window.ms]
        columns: list[braille.Column] = [
            None if each is None or name not in each.ms else each.extent(name) for each in slices
        ]
        columns = braille.bridge(columns, join_limit(_usual_gap_s(times), (end - start) / (cells * 2)))
        line, _ = braille.raster(columns, 0.0, top_ms, rows)
        for row in range(rows):
            for cell, mask in enumerate(line[row][:cells]):
                if mask:
                    grid[row][cell] = (sign_of(name, look) if look.ascii_only else braille.glyph(mask), style_of(name))
    lowest = rows  # the names stand in the order of their lines
    for name in names:
        value = _newest(windows, name)
        at = rows - 1 - braille.dot_row(value, 0.0, top_ms, rows * 4) // 4
        lowest = min(at, lowest - 1)
        if lowest < 0:
            break
        ends[lowest] = (f" {name_of(name)} {figures.ms(value)}", style_of(name))
    drawn: list[Content] = []
    for at, line_of_cells in enumerate(grid):
        label = braille.label(ticks[at]) if at in ticks else ""
        text, style = ends.get(at, ("", ""))
        drawn.append(
            Content.assemble(
                (label.rjust(room), "$quiet"),
                ("┤" if label else "│", "$faint"),
                *line_of_cells,
                (text[:named].ljust(named), style) if named else "",
            )
        )
    left, right = figures.clock(start), figures.clock(end)
    axis = left + "─" * max(1, cells - len(left) - len(right)) + right if cells >= 18 else "─" * cells
    drawn.append(Content.assemble(("0".rjust(room), "$quiet"), ("┼", "$faint"), (axis[:cells], "$quiet")))
    return drawn


def _usual_gap_s(times: Sequence[float]) -> float | None:
    gaps = [after - before for before, after in pairwise(times) if after > before]
    return median(gaps[-200:]) if gaps else None


def _top_of(histories: Sequence[Sequence[PhaseWindow]]) -> float:
    """A round end of the axis above every phase of all servers, spikes of a single window left out."""
    values = [ms for windows in histories for window in windows for ms in window.ms.values() if math.isfinite(ms)]
    if not values:
        return 1.0
    values.sort()
    return braille.nice_top(values[min(len(values) - 1, int(len(values) * 0.99))])


def _newest(windows: Sequence[PhaseWindow], name: str) -> float:
    return next((window.ms[name] for window in reversed(windows) if name in window.ms), 0.0)
