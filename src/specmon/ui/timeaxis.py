"""The time axis of a chart and the vertical marks that stand on it: words never meet, and `now` is always there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specmon.monitor.snapshot import Mark, MarkKind
from specmon.ui import figures
from specmon.ui.plot import Window

MARK_SIGNS = {MarkKind.RESTART: "│", MarkKind.GAP: "┊", MarkKind.CRASH: "┃", MarkKind.DRIFT: "╎"}
_ORDER = (MarkKind.CRASH, MarkKind.RESTART, MarkKind.GAP, MarkKind.DRIFT)

_DAY_S = 86400.0
_DAY_CELLS = 9  # that a date should have for itself


def marks_by_cell(marks: Sequence[Mark], window: Window, cells: int) -> dict[int, MarkKind]:
    """Where a mark stands; of several in one cell the one that matters most."""
    found: dict[int, MarkKind] = {}
    for mark in marks:
        if window.start <= mark.at <= window.end:
            cell = min(cells - 1, int((mark.at - window.start) / window.span_s * cells))
            if cell not in found or _ORDER.index(mark.kind) < _ORDER.index(found[cell]):
                found[cell] = mark.kind
    return found


def cell_of(at: float, window: Window, cells: int) -> int | None:
    """The cell that a moment falls into; None outside the window."""
    if not window.start <= at <= window.end or window.span_s <= 0:
        return None
    return min(cells - 1, int((at - window.start) / window.span_s * cells))


def time_axis(marks: Sequence[Mark], window: Window, cells: int, cursor: int | None = None) -> list[tuple[str, str]]:
    """One row: the ends of the window, a foot for each mark, and the word of those that have room for it."""
    row = [("─", "axis")] * cells
    if cursor is not None:
        row[cursor] = ("▲", "cursor")
    stands = marks_by_cell(marks, window, cells)
    right = "now" if window.ends_now else figures.moment(window.end, window.start)
    left = _span(window.span_s) if window.ends_now else figures.moment(window.start, window.end)

    def write(start: int, text: str, part: str) -> bool:
        """Write where nothing stands, a cell of the axis free at either end; the own mark may touch."""
        if start < 0 or start + len(text) > cells:
            return False
        if any(taken != "axis" for _, taken in row[start : start + len(text)]):
            return False
        for beside in (start - 1, start + len(text)):
            if 0 <= beside < cells and row[beside][1] not in ("axis", part):
                return False
        row[start : start + len(text)] = [(char, part) for char in text]
        return True

    write(cells - len(right), right, "label")
    for cell, kind in stands.items():
        if row[cell][1] == "axis":
            row[cell] = ("┴", f"mark-{kind}")
    for cell, kind in sorted(stands.items(), key=lambda stand: (_ORDER.index(stand[1]), -stand[0])):
        part, word = f"mark-{kind}", str(kind)
        if row[cell][0] != "┴":
            continue
        after, before = cell + len(word) + 1, cell - len(word) - 1
        # On its own right, else on its left; never between two marks, where it would belong to either.
        if (after >= cells or row[after][1] == "axis") and write(cell + 1, word, part):
            continue
        if before < 0 or row[before][1] == "axis":
            write(cell - len(word), word, part)
    # Last: what happened is worth more than how far back it goes.
    for cell, text in _days(window, cells):
        write(cell, text, "label")
    write(0, left, "label")
    return row


def _days(window: Window, cells: int) -> list[tuple[int, str]]:
    """Where days begin, with their dates; of very many every second, third and so on."""
    first, last = math.floor(window.start / _DAY_S) + 1, math.floor(window.end / _DAY_S)
    step = max(1, math.ceil((last - first + 1) * _DAY_CELLS / cells))
    found = []
    for number in range(first, last + 1):
        cell = cell_of(number * _DAY_S, window, cells)
        if number % step == 0 and cell is not None:
            found.append((cell, f"╵{figures.day(number * _DAY_S)}"))
    return found


def _span(seconds: float) -> str:
    return f"−{span(seconds)}"


def span(seconds: float) -> str:
    """A length of time in its own unit: `30 s`, `15 min`, `2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.3g} days"
