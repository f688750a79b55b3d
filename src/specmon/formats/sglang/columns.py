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


_FIGURES: dict[bytes | None, float] = {None: MISSING}
_GRAPH: dict[bytes | None, int] = {b"True": int(Graph.TRUE), b"False": int(Graph.FALSE), None: int(Graph.UNKNOWN)}


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
        running=array("q", map(int, running)),
        tok_s=_figures(tok_s),
        accept_len=_figures(accept_len),
        accept_rate=_figures(accept_rate),
        context_tokens=array("d", map(int, context)),
        usage=_figures(usage),
        queue=_figures(queue),
        graph=array("q", [_GRAPH[word] for word in graph]),
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
        running=_figures(running),
        queue=_figures(queue),
        usage=_figures(usage),
    )


def sort_columns(columns: SampleColumns | PrefillColumns) -> None:
    """Put the entries into line order: lines that needed a closer look were added behind the others."""
    offsets = columns.offset
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    for name in columns.__slots__:
        column: array[float] | array[int] = getattr(columns, name)
        if column:
            setattr(columns, name, array(column.typecode, [column[index] for index in order]))


def _figures(texts: Sequence[bytes | None]) -> array[float]:
    """Figures of their texts. Most columns hold few different ones, and a look-up is quicker than a conversion."""
    known = _FIGURES
    try:
        return array("d", [known[text] for text in texts])
    except KeyError:
        if len(known) > _KEPT:
            known.clear()
            known[None] = MISSING
        for text in set(texts):
            if text is not None and text not in known:
                known[text] = float(text)
        return array("d", [known[text] for text in texts])
