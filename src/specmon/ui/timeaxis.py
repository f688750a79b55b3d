"""The time axis of a chart and the vertical marks that stand on it: words never meet, and `now` is always there."""

from __future__ import annotations

from collections.abc import Sequence

from specmon.monitor.snapshot import Mark, MarkKind
from specmon.ui import figures
from specmon.ui.plot import Window

MARK_SIGNS = {MarkKind.RESTART: "│", MarkKind.GAP: "┊", MarkKind.CRASH: "┃", MarkKind.DRIFT: "╎"}
_ORDER = (MarkKind.CRASH, MarkKind.RESTART, MarkKind.GAP, MarkKind.DRIFT)


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
    right = "now" if window.ends_now else figures.clock(window.end)
    left = _span(window.span_s) if window.ends_now else figures.clock(window.start)

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
    write(0, left, "label")
    return row


def _span(seconds: float) -> str:
    return f"−{span(seconds)}"


def span(seconds: float) -> str:
    """A length of time in its own unit: `30 s`, `15 min`, `2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
