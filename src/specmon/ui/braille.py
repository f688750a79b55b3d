"""The rasteriser: values over time become rows of braille dots. Pure; it knows no screen and no colours.

A cell has 2 by 4 dots. Each dot column keeps the smallest and the largest value that fell into it, so a
single spike survives however many samples share the column; a column without a value stays empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

Column: TypeAlias = "tuple[float, float] | None"

BLANK = 0x2800
# Masks of the 0 to 4 lowest dots of the left and of the right dot column of a cell.
_LOWEST = ((0x00, 0x40, 0x44, 0x46, 0x47), (0x00, 0x80, 0xA0, 0xB0, 0xB8))
_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = ".:-=+*#@"


def columns(points: Sequence[tuple[float, float]], start: float, end: float, count: int) -> list[Column]:
    """The (min, max) of the values in each of `count` equal slices of [start, end)."""
    found: list[Column] = [None] * count
    if count <= 0 or not end > start:
        return found
    scale = count / (end - start)
    for at, value in points:
        if not start <= at <= end or not math.isfinite(value):
            continue
        index = min(count - 1, int((at - start) * scale))
        before = found[index]
        found[index] = (value, value) if before is None else (min(before[0], value), max(before[1], value))
    return found


def bridge(found: Sequence[Column], limit: int, walls: frozenset[int] = frozenset()) -> list[Column]:
    """Join neighbours at most `limit` columns apart by a straight line; wider gaps and walls stay gaps."""
    joined = list(found)
    last: int | None = None
    for index, column in enumerate(found):
        if column is None:
            continue
        if last is not None and 1 < index - last <= limit and walls.isdisjoint(range(last, index + 1)):
            before = found[last]
            assert before is not None
            low, high = (before[0] + before[1]) / 2, (column[0] + column[1]) / 2
            for between in range(last + 1, index):
                value = low + (high - low) * (between - last) / (index - last)
                joined[between] = (value, value)
        last = index
    return joined


def dot_row(value: float, low: float, high: float, dots: int) -> int:
    """The dot that stands for a value, 0 at the bottom; out of range means the nearer edge."""
    if not high > low:
        return 0
    return max(0, min(dots - 1, round((value - low) / (high - low) * (dots - 1))))


def raster(found: Sequence[Column], low: float, high: float, rows: int) -> tuple[list[list[int]], list[list[int]]]:
    """Dot masks of the line and of the area below it, as rows of cells from the top."""
    width = (len(found) + 1) // 2
    line = [[0] * width for _ in range(rows)]
    area = [[0] * width for _ in range(rows)]
    dots = rows * 4
    previous: tuple[int, int] | None = None
    for index, column in enumerate(found):
        if column is None:
            previous = None
            continue
        least, greatest = column
        bottom = dot_row(least, low, high, dots)
        top = bottom if greatest == least else dot_row(greatest, low, high, dots)
        reach_low, reach_high = bottom, top
        if previous is not None:
            # Reach out to the neighbour so that the line has no holes.
            if previous[1] < bottom:
                reach_low = previous[1] + 1
            elif previous[0] > top:
                reach_high = previous[0] - 1
        lowest = _LOWEST[index % 2]
        cell = index // 2
        filled = reach_low // 4
        for place in range(rows - filled, rows):
            area[place][cell] |= lowest[4]
        for row in range(filled, reach_high // 4 + 1):
            # Of the four dots of this cell the first `under` belong to the area, those up to `upto` to the line.
            under, upto = max(0, reach_low - 4 * row), min(4, reach_high + 1 - 4 * row)
            place = rows - 1 - row
            area[place][cell] |= lowest[under]
            line[place][cell] |= lowest[upto] ^ lowest[under]
        previous = (bottom, top)
    return line, area


_GLYPHS = tuple(chr(BLANK + mask) for mask in range(256))


def glyph(mask: int) -> str:
    """The braille character of a dot mask."""
    return _GLYPHS[mask]


def sparkline(found: Sequence[Column], low: float, high: float, *, ascii_only: bool = False) -> str:
    """One row of blocks; an empty column is a blank."""
    blocks = _ASCII_BLOCKS if ascii_only else _BLOCKS
    return "".join(
        " " if column is None else blocks[dot_row((column[0] + column[1]) / 2, low, high, len(blocks))]
        for column in found
    )


# Upper ends whose halves and quarters are round as well, as multiples of a power of ten.
_TOPS = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def nice_top(value: float, low: float = 0.0) -> float:
    """A round upper end of an axis that leaves a little air above the largest value; `low` when there is none."""
    span = (value - low) * 1.02
    if not span > 0 or not math.isfinite(span):
        return low
    power = 10.0 ** math.floor(math.log10(span))
    return low + next((top * power for top in _TOPS if span <= top * power * (1 + 1e-9)), 10 * power)


def ticks(low: float, high: float, rows: int) -> dict[int, float]:
    """Row (from the top) -> value of the labels that a chart of that height has room for."""
    if not high > low:
        return {}
    parts = 4 if rows >= 12 else 2 if rows >= 4 else 1
    found: dict[int, float] = {}
    for part in range(1, parts + 1):
        value = low + (high - low) * part / parts
        found[rows - 1 - dot_row(value, low, high, rows * 4) // 4] = value
    return found


def label(value: float) -> str:
    """A tick label without needless zeros."""
    return f"{value / 1000:g}k" if abs(value) >= 10000 else f"{round(value, 6):g}"
