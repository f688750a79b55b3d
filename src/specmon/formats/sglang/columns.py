"""Builds the columns of a block from rows, in one go for each column: that is what makes reading fast."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from specmon.events import MISSING, Graph, PrefillColumns, SampleColumns

# offset, at, rank, process, then what the pattern caught, as bytes: what stands before the bracket, its
# inside, running, #token, token usage, accept len, accept rate, graph, throughput, #queue-req
DecodeRow = tuple[int, float, int, int, "tuple[bytes | None, ...]"]
# The same with #new-token, #cached-token, token usage, #running-req, #queue-req
PrefillRow = tuple[int, float, int, int, "tuple[bytes | None, ...]"]

_GRAPH = {b"True": int(Graph.TRUE), b"False": int(Graph.FALSE), None: int(Graph.UNKNOWN)}


def decode_columns(rows: Sequence[DecodeRow]) -> SampleColumns:
    """Columns of rows that the quick pattern caught."""
    if not rows:
        return SampleColumns()
    offset, at, rank, process, caught = zip(*rows, strict=True)
    _, _, running, context, usage, accept_len, accept_rate, graph, tok_s, queue = zip(*caught, strict=True)
    return SampleColumns(
        offset=array("q", offset),
        at=array("d", at),
        rank=array("q", rank),
        process=array("q", process),
        running=array("q", map(int, running)),
        tok_s=array("d", map(float, tok_s)),
        accept_len=_optional(accept_len),
        accept_rate=_optional(accept_rate),
        context_tokens=array("d", map(float, context)),
        usage=array("d", map(float, usage)),
        queue=array("d", map(float, queue)),
        graph=array("q", [_GRAPH[word] for word in graph]),
    )


def prefill_columns(rows: Sequence[PrefillRow]) -> PrefillColumns:
    """Columns of rows that the quick pattern caught."""
    if not rows:
        return PrefillColumns()
    offset, at, rank, process, caught = zip(*rows, strict=True)
    _, _, new_tokens, cached_tokens, usage, running, queue = zip(*caught, strict=True)
    return PrefillColumns(
        offset=array("q", offset),
        at=array("d", at),
        rank=array("q", rank),
        process=array("q", process),
        new_tokens=array("d", map(float, new_tokens)),
        cached_tokens=array("d", map(float, cached_tokens)),
        running=array("d", map(float, running)),
        queue=array("d", map(float, queue)),
        usage=array("d", map(float, usage)),
    )


def sort_columns(columns: SampleColumns | PrefillColumns) -> None:
    """Put the entries into line order: lines that needed a closer look were added behind the others."""
    offsets = columns.offset
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    for name in columns.__slots__:
        column: array[float] | array[int] = getattr(columns, name)
        if column:
            setattr(columns, name, array(column.typecode, [column[index] for index in order]))


def _optional(column: Iterable[bytes | None]) -> array[float]:
    return array("d", [MISSING if figure is None else float(figure) for figure in column])
