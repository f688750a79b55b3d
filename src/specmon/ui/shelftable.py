"""The table of stored references: fixed columns, the less important ones go first where there is no room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from specmon.monitor.shelfview import ReferenceRow, Shelf
from specmon.ui import figures
from specmon.ui.row import cut, visible

_LEAST_NAME = 10
_MOST_NAME = 28
_GAP = 2
_SIGNS = 4  # cursor, blank, sign of the one that is in use, blank
NONE_NAME = "none"


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    rank: int  # the higher, the sooner it goes
    text: Callable[[ReferenceRow], str]
    most: int = 40  # cells


def _conditions(row: ReferenceRow) -> str:
    if row.misfit:
        return "no fit"
    if row.differ is None:
        return "not known"
    if row.matter:
        return f"{row.matter} matter"
    return f"{row.differ} differ" if row.differ else "the same"


_COLUMNS = (
    _Column("recorded speed", 0, lambda row: row.speed or ("cannot be read" if row.fault else ""), 34),
    _Column("now", 1, lambda row: figures.percent(row.deviation, 1) if row.deviation is not None else ""),
    _Column("conditions", 2, lambda row: "" if row.fault else _conditions(row)),
    _Column("recorded", 3, lambda row: row.recorded),
    _Column("sessions", 4, lambda row: row.sessions),
    _Column("engine", 6, lambda row: row.engine, 14),
    _Column("model", 5, lambda row: row.model, 30),
)


def shelf_rows(shelf: Shelf, places: Sequence[int], cursor: int, width: int) -> list[Content]:
    """A heading and the rows at these places; place 0 is to have no reference, the others are the shelf's rows."""
    names = [NONE_NAME, *(visible(row.name) for row in shelf.rows)]
    cells = [[cut(visible(column.text(row)), column.most) for column in _COLUMNS] for row in shelf.rows]
    widths = []
    for at, column in enumerate(_COLUMNS):
        longest_cell = max((cell_len(row[at]) for row in cells), default=0)
        widths.append(longest_cell and max(cell_len(column.head), longest_cell))
    longest = max(map(cell_len, names))
    shown = [at for at, column_width in enumerate(widths) if column_width]
    while shown and _SIGNS + min(longest, _LEAST_NAME) + sum(widths[at] + _GAP for at in shown) > width:
        if len(shown) == 1:
            break
        shown.remove(max(shown, key=lambda at: _COLUMNS[at].rank))
    taken = _SIGNS + sum(widths[at] + _GAP for at in shown)
    name_width = max(1, min(longest, _MOST_NAME, width - taken)) if shown else width - _SIGNS
    if shown and width - taken < _LEAST_NAME:  # one column and no room: it is cut, the name is not
        name_width = min(longest, max(_LEAST_NAME, width - _SIGNS - 20))
        widths[shown[0]] = max(0, width - _SIGNS - name_width - _GAP)
    gap = " " * _GAP
    heads = "".join(gap + _padded(_COLUMNS[at].head, widths[at]) for at in shown)
    rows = [Content.assemble((" " * _SIGNS + _padded("reference", name_width) + heads, "$quiet"))]
    is_none = not any(row.is_chosen for row in shelf.rows)
    for place in places:
        row = shelf.rows[place - 1] if place else None
        is_chosen = is_none if row is None else row.is_chosen
        pointer = ("▸ ", "bold $brand") if place == cursor else ("  ", "")
        sign = ("● ", "bold $good") if is_chosen else ("  ", "")
        tone = "bold $foreground" if place == cursor else "$quiet" if row is not None and row.fault else "$foreground"
        parts: list[tuple[str, str]] = [pointer, sign, (_padded(names[place], name_width), tone)]
        if row is not None:
            parts += [(gap + _padded(cells[place - 1][at], widths[at]), _style(at, row)) for at in shown]
        elif shown:
            parts.append((gap + cut("hold the baseline against nothing", width - _SIGNS - name_width - _GAP), "$quiet"))
        rows.append(Content.assemble(*parts))
    return rows


def _style(at: int, row: ReferenceRow) -> str:
    head = _COLUMNS[at].head
    if head == "now" and row.deviation is not None:
        return "$good" if row.is_within else "$caution"
    if head == "conditions" and (row.matter or row.misfit):
        return "bold $caution"
    return "$quiet" if row.fault or head != "recorded speed" else "$foreground"


def _padded(text: str, width: int) -> str:
    text = cut(text, width)
    return text + " " * max(0, width - cell_len(text))
