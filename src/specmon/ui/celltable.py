"""A table of cells that are words already: numbers to the right; where room lacks, less important columns go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from specmon.ui.panels.fleet import shortened
from specmon.ui.row import cut, visible

_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column; rank 0 always stays, the highest goes first."""

    head: str
    rank: int
    is_words: bool = False
    least: int = 0  # cells; a column of words may be cut down to that many before another one goes


def table_rows(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    width: int,
    style_of: Callable[[int, str], str] = lambda row, head: "$foreground",
) -> list[Content]:
    """A heading and a row for each line of cells, in at most `width` cells."""
    texts = [[visible(text) for text in line] for line in cells]
    widths = [
        max([cell_len(column.head), *(cell_len(line[at]) for line in texts)]) for at, column in enumerate(columns)
    ]
    leasts = [min(size, column.least) if column.least else size for size, column in zip(widths, columns, strict=True)]
    shown = list(range(len(columns)))
    while len(shown) > 1 and _total([leasts[at] for at in shown]) > width:
        worst = max(shown, key=lambda at: (columns[at].rank, at))
        if columns[worst].rank == 0:
            break
        shown.remove(worst)
    for at in shown:
        spare = _total([widths[each] for each in shown]) - width
        if spare > 0 and leasts[at] < widths[at]:
            widths[at] = max(leasts[at], widths[at] - spare)
    heads = [_padded(columns[at].head, widths[at], columns[at].is_words) for at in shown]
    rows = [Content.assemble((cut(" " + (" " * _GAP).join(heads).rstrip(), width), "$quiet"))]
    for number, line in enumerate(texts):
        parts: list[tuple[str, str]] = [(" ", "")]
        room = width - 1
        for at in shown:
            text = shortened(line[at], widths[at]) if columns[at].least else line[at]
            text = cut(_padded(text, widths[at], columns[at].is_words), max(0, room))
            parts.append((text, style_of(number, columns[at].head)))
            gap = " " * max(0, min(_GAP, room - cell_len(text)))
            parts.append((gap, ""))
            room -= cell_len(text) + len(gap)
        rows.append(Content.assemble(*parts))
    return rows


def _total(widths: Sequence[int]) -> int:
    return 1 + sum(widths) + _GAP * (len(widths) - 1)


def _padded(text: str, width: int, is_words: bool) -> str:
    text = cut(text, width)
    pad = " " * max(0, width - cell_len(text))
    return text + pad if is_words else pad + text
