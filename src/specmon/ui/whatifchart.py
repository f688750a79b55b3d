"""Speed-up against accept length: straight lines of a cycle, the break-even line, and where one stands. Pure."""

from __future__ import annotations

import math

from textual.content import Content

from specmon.monitor.phaserecords import WhatIf
from specmon.ui import braille
from specmon.ui.look import Look

_LEAST_CELLS = 12
_LEAST_ROWS = 4


def most_accept(now: WhatIf, moved: WhatIf) -> float:
    """The end of the axis of accept lengths: what a cycle can yield, and in any case more than what is shown."""
    if now.most_accept_len is not None:
        return max(now.most_accept_len, 2.0)
    return max(2.0, float(math.ceil(1.5 * max(now.accept_len, moved.accept_len))))


def chart_rows(now: WhatIf, moved: WhatIf, width: int, height: int, look: Look) -> list[Content]:
    """`height` rows, the last two the axis and its labels; none where there is no room."""
    room = 5
    cells, rows = width - room - 2, height - 2
    if cells < _LEAST_CELLS or rows < _LEAST_ROWS:
        return []
    end = most_accept(now, moved)
    highest = [each.speedup_at(end) for each in (now, moved)]
    highest += [value for each in (now, moved) if (value := each.reference_speedup_at(end)) is not None]
    top = max(braille.nice_top(max(highest)), 1.2)
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * cells for _ in range(rows)]

    def row_of(speedup: float) -> int:
        return rows - 1 - braille.dot_row(speedup, 0.0, top, rows * 4) // 4

    def cell_of(accept_len: float) -> int:
        return max(0, min(cells - 1, round((accept_len - 1) / (end - 1) * (cells - 1))))

    even = row_of(1.0)
    grid[even] = [("┈", "$reference-line")] * cells
    for line, style, is_dotted, sign in (
        ([moved.reference_speedup_at(_at(index, cells, end)) for index in range(2 * cells)], "$quiet", True, "."),
        ([moved.speedup_at(_at(index, cells, end)) for index in range(2 * cells)], "$series-speculative", False, "*"),
    ):
        columns: list[braille.Column] = [
            None if value is None or (is_dotted and index % 4 > 1) else (value, value)
            for index, value in enumerate(line)
        ]
        masks, _ = braille.raster(columns, 0.0, top, rows)
        for row in range(rows):
            for cell, mask in enumerate(masks[row][:cells]):
                if mask:
                    grid[row][cell] = (sign if look.ascii_only else braille.glyph(mask), style)
    for point, sign, style in (
        (now, "o" if look.ascii_only else "●", "bold $foreground"),
        (moved, "X" if look.ascii_only else "◆", "bold $brand"),
    ):
        grid[row_of(point.speedup)][cell_of(point.accept_len)] = (sign, style)
    _write(grid[even], " break-even 1.00× ", "$reference-line")
    ticks = braille.ticks(0.0, top, rows)
    drawn = []
    for row in range(rows):
        label = f"{braille.label(ticks[row])}×" if row in ticks else ""
        drawn.append(Content.assemble((label.rjust(room), "$quiet"), ("┤" if label else "│", "$faint"), *grid[row]))
    axis = ["─"] * cells
    limit = f"{'^' if look.ascii_only else '▲'} {moved.break_even_accept_len:.2f} "
    if (place := cell_of(moved.break_even_accept_len)) + len(limit) < cells and moved.break_even_accept_len >= 1:
        axis[place : place + len(limit)] = limit
    drawn.append(Content.assemble(("0×".rjust(room), "$quiet"), ("┼", "$faint"), ("".join(axis), "$reference-line")))
    words = [(0, "1"), (cells - len(braille.label(end)), braille.label(end))]
    foot = [" "] * cells
    name = "accept length"
    if cells > len(name) + 8:
        words.append(((cells - len(name)) // 2, name))
    for start, text in words:
        foot[start : start + len(text)] = text
    return [*drawn, Content.assemble((" " * (room + 1) + "".join(foot), "$quiet"))]


def _at(index: int, cells: int, end: float) -> float:
    """The accept length of a dot column."""
    return 1 + (end - 1) * index / max(1, 2 * cells - 1)


def _write(row: list[tuple[str, str]], text: str, style: str) -> None:
    """Write on the line where nothing crosses it, as far to the right as possible."""
    free = 0
    for start in range(len(row) - 1, -1, -1):
        free = free + 1 if row[start][0] == "┈" else 0
        if free == len(text):
            row[start : start + len(text)] = [(char, style) for char in text]
            return
