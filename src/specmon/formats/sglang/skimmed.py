"""A long block whose lines have been sorted into those that are read already and those that are left."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from specmon.events import Block, Clock, PrefillColumns, SampleColumns
from specmon.formats.sglang.template import Floats, Integers


@dataclass(slots=True)
class Skimmed:
    """What a block holds, and in `rest` the lines that are left to the parser."""

    rest: bytes
    decode: SampleColumns  # offsets are those in the block
    prefill: PrefillColumns
    answers: int
    _starts: Integers  # of all lines in the block
    _rest_lines: Integers  # numbers of those that are left
    _rest_starts: Integers  # of these in `rest`
    _recognised: int
    _last_answer: int  # number of the line, -1 without one

    def last_answer(self, in_rest: int | None) -> int | None:
        """Where the last line with an answer begins, when the parser found its last one at `in_rest`."""
        line = self._last_answer
        if in_rest is not None:
            line = max(line, int(self._rest_lines[np.searchsorted(self._rest_starts, in_rest, "right") - 1]))
        return None if line < 0 else int(self._starts[line])

    def joined(self, rest: Block, start: int, size: int) -> Block:
        """The whole block, which begins at `start`, with what the parser read in the rest."""
        decode, prefill = self.decode, self.prefill
        for columns in (decode, prefill):
            columns.offset = (
                as_integers(np.frombuffer(columns.offset, np.int64) + start) if len(columns) else columns.offset
            )
        self._move(rest.decode, start)
        self._move(rest.prefill, start)
        return replace(
            rest,
            start=start,
            end=start + size,
            lines=len(self._starts),
            recognised=rest.recognised + self._recognised + len(decode) + len(prefill),
            clock=Clock.DATED if len(decode) or len(prefill) else rest.clock,
            decode=_merged(decode, rest.decode),
            prefill=_merged(prefill, rest.prefill),
            events=tuple(replace(event, offset=self._place(event.offset) + start) for event in rest.events),
            unparsed=array("q", (self._place(offset) + start for offset in rest.unparsed)),
        )

    def _move(self, columns: SampleColumns | PrefillColumns, start: int) -> None:
        if len(columns.offset):
            offsets = np.frombuffer(columns.offset, np.int64)
            lines = np.searchsorted(self._rest_starts, offsets, "right") - 1
            moved = offsets - self._rest_starts[lines] + self._starts[self._rest_lines[lines]]
            columns.offset = as_integers(moved + start)

    def _place(self, offset: int) -> int:
        line = int(np.searchsorted(self._rest_starts, offset, "right")) - 1
        return int(self._starts[self._rest_lines[line]]) + offset - int(self._rest_starts[line])


_Columns = TypeVar("_Columns", SampleColumns, PrefillColumns)


def _merged(quick: _Columns, slow: _Columns) -> _Columns:
    """Both in line order."""
    if not len(slow) or not len(quick):
        return slow if len(slow) else quick
    order = np.argsort(np.concatenate((np.frombuffer(quick.offset, np.int64), np.frombuffer(slow.offset, np.int64))))
    for name in quick.__slots__:
        column = getattr(quick, name)
        if len(column):
            kind = np.int64 if column.typecode == "q" else np.float64
            column.extend(getattr(slow, name))
            in_order = array(column.typecode)
            in_order.frombytes(np.frombuffer(column, kind)[order].data.cast("B"))
            setattr(quick, name, in_order)
    return quick


def as_floats(values: Floats) -> array[float]:
    """A column of `SampleColumns`."""
    column = array("d")
    column.frombytes(np.ascontiguousarray(values).data.cast("B"))
    return column


def as_integers(values: npt.NDArray[np.generic]) -> array[int]:
    """A column of `SampleColumns` that holds whole numbers."""
    column = array("q")
    column.frombytes(np.ascontiguousarray(values, np.int64).data.cast("B"))
    return column
