"""What the lines of one block turn out to be, shape by shape."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np

from specmon.events import PrefillColumns, SampleColumns
from specmon.formats.sglang.linestamps import LineStamps
from specmon.formats.sglang.shapes import AccessShape, FigureShape
from specmon.formats.sglang.skimmed import as_floats, as_integers
from specmon.formats.sglang.template import Floats, Integers, Shape, Words

_LINES_A_LOOK = 64  # that a block must have for each comparison with a shape, else the patterns are quicker

Table = list[tuple[Integers, list[Floats]]]  # lines and their figures, shape by shape


class Found:
    """What the lines of one block have been found to be."""

    def __init__(
        self, data: bytes, starts: Integers, sizes: Integers, stamps: LineStamps, words: Words, most_rest: float
    ) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self.words = words  # behind the stamps: a row for each word, a column for each line
        self.rest: list[Integers] = []
        self.left = 0
        self.most_rest = most_rest
        self.looks = 0
        self.most_looks = len(starts) // _LINES_A_LOOK
        self.answers = 0
        self.recognised = 0
        self.last_answer = -1
        self._stamps = stamps
        self.is_foreign = stamps.unstamped
        self.samples: list[bytes] = []  # a line of each shape of foreign lines that are left out
        self.decodes: Table = []
        self.prefills: Table = []

    def line(self, number: int) -> bytes:
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])]

    @property
    def is_worth_it(self) -> bool:
        return self.left <= self.most_rest and self.looks <= self.most_looks

    def leave(self, lines: Integers) -> None:
        self.rest.append(lines)
        self.left += len(lines)

    def take_figures(
        self, shape: FigureShape, lines: Integers, rank_index: Callable[[str], int], table: Table
    ) -> Integers:
        """Read the lines of a shape; answer the others."""
        self.looks += 1
        is_same, signs = shape.shape.match(self.data, self.starts[lines])
        others = lines[:0]
        if not is_same.all():
            lines, others, signs = lines[is_same], lines[~is_same], signs[is_same]
        if count := len(lines):
            told = [
                np.full(count, np.nan) if figure is None else shape.shape.value(figure, signs)
                for figure in shape.figures
            ]
            own = (float(shape.graph), float(rank_index(shape.rank)))
            table.append((lines, [*told, *(np.full(count, value) for value in own)]))
        return others

    def take_accesses(self, shape: AccessShape, lines: Integers) -> Integers:
        """Count the lines of a shape; answer the others."""
        self.looks += 1
        is_same, _ = shape.shape.match(self.data, self.starts[lines])
        own = lines[is_same]
        if len(own):
            self.recognised += shape.counts * len(own)
            if shape.is_answer:
                self.answers += len(own)
                self.last_answer = max(self.last_answer, int(own[-1]))
        return lines[~is_same]

    def leave_out(self, shape: Shape, lines: Integers) -> Integers:
        """Foreign lines of a shape say nothing; answer the others."""
        self.looks += 1
        is_same, _ = shape.match(self.data, self.starts[lines])
        if is_same.any():
            self.samples.append(self.line(lines[is_same.argmax()]))
        return lines[~is_same]

    def rest_lines(self, *, is_awaited: bool) -> Integers:
        """The lines that are left to the parser, in order. `is_awaited`: it waits for what may go on in the first one.

        What one of them begins may go on in foreign lines right behind it.
        """
        rest = np.sort(np.concatenate(self.rest))
        if not self.samples or self.is_foreign is None:
            return rest
        is_left = np.zeros(len(self.starts), np.bool_)
        is_left[rest] = True
        is_end = is_left | ~self.is_foreign
        last_end = np.maximum.accumulate(np.where(is_end, np.arange(len(is_end)), -1))
        is_begun = is_left[last_end]
        is_begun[last_end < 0] = is_awaited
        return np.flatnonzero(is_left | (is_begun & self.is_foreign))

    def decode(self, midnight: Callable[[bytes], float]) -> SampleColumns | None:
        """The decode lines in line order; None when one of them has a stamp that is no time."""
        if not self.decodes:
            return SampleColumns()
        lines, columns = _in_order(self.decodes)
        if (at := self._stamps.seconds(lines, midnight)) is None:
            return None
        running, context, usage, accept_len, accept_rate, tok_s, queue, sliding, graph, rank = columns
        return SampleColumns(
            offset=as_integers(self.starts[lines]),
            at=as_floats(at),
            rank=as_integers(rank),
            process=array("q", [-1]) * len(lines),
            running=as_integers(running),
            tok_s=as_floats(tok_s),
            accept_len=as_floats(accept_len),
            accept_rate=as_floats(accept_rate),
            context_tokens=as_floats(context),
            usage=as_floats(np.fmax(usage, sliding)),  # of two pools the fuller one
            queue=as_floats(queue),
            graph=as_integers(graph),
        )

    def prefill(self, midnight: Callable[[bytes], float]) -> PrefillColumns | None:
        """The prefill lines in line order; None as for `decode`."""
        if not self.prefills:
            return PrefillColumns()
        lines, columns = _in_order(self.prefills)
        if (at := self._stamps.seconds(lines, midnight)) is None:
            return None
        new_tokens, cached_tokens, usage, running, queue, sliding, _, rank = columns
        return PrefillColumns(
            offset=as_integers(self.starts[lines]),
            at=as_floats(at),
            rank=as_integers(rank),
            process=array("q", [-1]) * len(lines),
            new_tokens=as_floats(new_tokens),
            cached_tokens=as_floats(cached_tokens),
            running=as_floats(running),
            queue=as_floats(queue),
            usage=as_floats(np.fmax(usage, sliding)),  # of two pools the fuller one
        )


def _in_order(table: Table) -> tuple[Integers, list[Floats]]:
    """The lines of several shapes with their figures, in line order."""
    if len(table) == 1:
        return table[0]
    lines = np.concatenate([numbers for numbers, _ in table])
    order = np.argsort(lines, kind="stable")  # quick on a few ordered runs
    columns = zip(*(columns for _, columns in table), strict=True)
    return lines[order], [np.concatenate(parts)[order] for parts in columns]
