"""Builds the columns of a block from rows, in one go for each column: that is what makes reading fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from specmon.events import MISSING, Graph, PrefillColumns, SampleColumns

# offset, at, rank, process, then what the pattern caught, as bytes: what stands before the bracket, its
# inside, running, #token, token usage, accept len, accept rate, graph, throughput, #queue-req
DecodeRow = tuple[int, float, int, int, *tuple[bytes, ...]]
# The same with #new-token, #cached-token, token usage, #running-req, #queue-req
PrefillRow = tuple[int, float, int, int, *tuple[bytes, ...]]

_KEPT = 65_536


class _Known(dict["bytes | None", float]):
    """Figures by their text. Most columns hold few different ones, and a look-up is quicker than a conversion."""

    def __missing__(self, text: bytes | None) -> float:
        if len(self) >= _KEPT:
            self.clear()
        figure = self[text] = MISSING if text is None else float(text)
        return figure


_FIGURES = _Known()
_COUNTS: dict[bytes, int] = {str(count).encode(): count for count in range(1025)}
_GRAPH = {b"True": int(Graph.TRUE), b"False": int(Graph.FALSE), None: int(Graph.UNKNOWN)}


def decode_columns(rows: Sequence[DecodeRow]) -> SampleColumns:
    """Columns of rows that the quick pattern caught."""
    if not rows:
        return SampleColumns()
    offset, at, rank, process, _, _, running, context, usage, accept_len, accept_rate, graph, tok_s, queue = zip(
        *rows, strict=True
    )
    return SampleColumns(
        offset=array("q", offset),
        at=array("d", at),
        rank=array("q", rank),
        process=array("q", process),
        running=array("q", [_COUNTS[text] if text in _COUNTS else int(text) for text in running]),
        tok_s=array("d", map(_FIGURES.__getitem__, tok_s)),
        accept_len=array("d", map(_FIGURES.__getitem__, accept_len)),
        accept_rate=array("d", map(_FIGURES.__getitem__, accept_rate)),
        context_tokens=array("d", map(int, context)),
        usage=array("d", map(_FIGURES.__getitem__, usage)),
        queue=array("d", map(_FIGURES.__getitem__, queue)),
        graph=array("q", map(_GRAPH.__getitem__, graph)),
    )


def prefill_columns(rows: Sequence[PrefillRow]) -> PrefillColumns:
    """Columns of rows that the quick pattern caught."""
    if not rows:
        return PrefillColumns()
    offset, at, rank, process, _, _, new_tokens, cached_tokens, usage, running, queue = zip(*rows, strict=True)
    return PrefillColumns(
        offset=array("q", offset),
        at=array("d", at),
        rank=array("q", rank),
        process=array("q", process),
        new_tokens=array("d", map(float, new_tokens)),
        cached_tokens=array("d", map(float, cached_tokens)),
        running=array("d", map(_FIGURES.__getitem__, running)),
        queue=array("d", map(_FIGURES.__getitem__, queue)),
        usage=array("d", map(_FIGURES.__getitem__, usage)),
    )


def sort_columns(columns: SampleColumns | PrefillColumns) -> None:
    """Put the entries into line order: lines that needed a closer look were added behind the others."""
    offsets = columns.offset
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    for name in columns.__slots__:
        column: array[float] | array[int] = getattr(columns, name)
        if column:
            setattr(columns, name, array(column.typecode, [column[index] for index in order]))
