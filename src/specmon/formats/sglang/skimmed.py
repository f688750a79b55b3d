"""A long block whose lines have been sorted into those that are read already and those that are left."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from specmon.events import Block, Clock, PrefillColumns, SampleColumns
from specmon.formats.sglang.excerpt import Excerpt
from specmon.formats.sglang.template import Floats, Integers


@dataclass(slots=True)
class Skimmed:
    """What a block holds, and in `rest` the lines that are left to the parser."""

    rest: bytes
    samples: bytes  # a line of each shape that is neither read nor left
    decode: SampleColumns  # offsets are those in the block
    prefill: PrefillColumns
    answers: int
    starts: Integers  # of all lines in the block
    rest_lines: Integers  # numbers of those that are left
    rest_starts: Integers  # of these in `rest`
    recognised: int
    last_answer: int  # number of the line, -1 without one

    @property
    def unusual(self) -> bytes:
        """The lines of which it is not certain that they are the engine's, or one of each kind."""
        return self.rest + self.samples

    def excerpt(self, start: int) -> Excerpt:
        """Where the lines of `rest` stand in a stream in which the block begins at `start`."""
        offsets = self.starts[self.rest_lines] + start
        return Excerpt(self.rest_starts.tolist(), offsets.tolist(), len(self.rest))

    def joined(self, rest: Block, start: int, size: int) -> Block:
        """The whole block, which begins at `start`, with what the parser read in the rest."""
        decode, prefill = self.decode, self.prefill
        for columns in (decode, prefill):
            columns.offset = (
                as_integers(np.frombuffer(columns.offset, np.int64) + start) if len(columns) else columns.offset
            )
        is_dated = bool(len(decode) or len(prefill))
        return replace(
            rest,
            start=start,
            end=start + size,
            lines=len(self.starts),
            recognised=rest.recognised + self.recognised + len(decode) + len(prefill),
            clock=Clock.DATED if is_dated else rest.clock,
            decode=_merged(decode, rest.decode),
            prefill=_merged(prefill, rest.prefill),
        )


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
