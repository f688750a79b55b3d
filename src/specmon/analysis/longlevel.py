"""The sums and order statistics of a level with very many clean samples, on arrays instead of lists.

Columns are unpacked piece by piece, as a whole one takes as much memory as all that is kept of a level. Sums are
pairwise within a piece, where short levels add exactly; the two agree to about the fifteenth digit.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from specmon.analysis.clean import CleanColumns
from specmon.analysis.columns import Column
from specmon.analysis.estimate import BlockSums
from specmon.analysis.uncertainty import block_length

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Unpack = Callable[[slice], npt.NDArray[np.floating]]

_PIECE = 1 << 15


def pieces(count: int) -> Iterator[slice]:
    """Parts of a column that together are all of it."""
    return (slice(start, start + _PIECE) for start in range(0, count, _PIECE))


class Ordered:
    """Figures as if they were in order. Few of them are asked for, so only those are put into their places."""

    def __init__(self, values: npt.NDArray[np.floating]) -> None:
        self._values = values
        self._placed = [-1, len(values)]  # ranks whose figures are where they belong

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rank: int, /) -> float:
        position = bisect_left(self._placed, rank)
        if self._placed[position] != rank:
            begin, end = self._placed[position - 1] + 1, self._placed[position]
            self._values[begin:end].partition(rank - begin)
            self._placed.insert(position, rank)
        return float(self._values[rank])

    def deviations(self, middle: float) -> Ordered:
        """|x - middle| of each figure, in the place of the figures."""
        self._values -= middle
        np.abs(self._values, out=self._values)
        return Ordered(self._values)


class Tally:
    """Figures in order of which few are different: each once, with how many there are up to it."""

    def __init__(self, values: Floats, counts: Integers) -> None:
        """`values` in order."""
        self._values = values
        self._counts = counts
        self._ends = np.cumsum(counts)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, rank: int, /) -> float:
        return float(self._values[np.searchsorted(self._ends, rank, "right")])

    def deviations(self, middle: float) -> Tally:
        """|x - middle| of each figure."""
        away = np.abs(self._values - middle)
        order = np.argsort(away)
        return Tally(away[order], self._counts[order])


def ordered_numbers(columns: Sequence[tuple[int, Unpack]], kind: type[np.floating] = np.float64) -> Ordered:
    """All figures that are no NaN, in order. A column is its length and what unpacks a part of it."""
    whole = np.empty(sum(count for count, _ in columns), kind)
    end = 0
    for count, unpack in columns:
        for part in pieces(count):
            values = unpack(part)
            values = values[values == values]
            whole[end : end + len(values)] = values
            end += len(values)
    return Ordered(whole[:end])


def ordered_columns(columns: Sequence[Column]) -> Ordered | Tally:
    """The same for columns as they are kept: counted, where that is possible."""
    tallies = [tally for column in columns if (tally := column.tally()) is not None]
    if len(tallies) < len(columns):
        return ordered_numbers([(len(column), column.numbers) for column in columns])
    values, places = np.unique(np.concatenate([told for told, _ in tallies]), return_inverse=True)
    counts = np.zeros(len(values), np.int64)
    np.add.at(counts, places, np.concatenate([count for _, count in tallies]))
    return Tally(values, counts)


def mean_of(clean: CleanColumns) -> float:
    """The mean throughput."""
    return math.fsum(float(clean.tok_s.numbers(part).sum()) for part in pieces(len(clean))) / len(clean)


def summed_tok_s(columns: Sequence[CleanColumns], part: slice) -> Floats:
    """The throughput of several ranks together, sample by sample."""
    total = columns[0].tok_s.numbers(part)
    for other in columns[1:]:
        total += other.tok_s.numbers(part)
    return total


def instants_agree(columns: Sequence[CleanColumns]) -> bool:
    """Whether the samples of several ranks are of the same moments."""
    first, *others = columns
    return all(
        len(other) == len(first)
        and all(np.array_equal(first.at.numbers(part), other.at.numbers(part)) for part in pieces(len(first)))
        for other in others
    )


def weighted(clean: CleanColumns, *, is_timed: bool = False) -> tuple[float, float]:
    """The sum of A x cycles and that of cycles, over the samples that have an A (`is_timed`: and a C)."""
    sums: list[float] = []
    totals: list[float] = []
    for part in pieces(len(clean)):
        accept, cycles = clean.accept_len.numbers(part), clean.cycles.numbers(part)
        known = (accept == accept) & (cycles > 0)
        if is_timed and clean.has_own_cycles:
            known &= _is_told(clean.cycles_ms(part))
        elif is_timed:
            known &= clean.tok_s.numbers(part) > 0
        sums.append(float((accept[known] * cycles[known]).sum()))
        totals.append(float(cycles[known].sum()))
    return math.fsum(sums), math.fsum(totals)


def _is_told(values: Floats) -> npt.NDArray[np.bool_]:
    told: npt.NDArray[np.bool_] = values == values
    return told


def prompt_sums(clean: CleanColumns) -> tuple[float, float]:
    """Prompt and generated tokens/s over the samples that tell both."""
    if (only := clean.prompt_tok_s.only) is not None and math.isnan(only):
        return 0.0, 0.0
    prompts: list[float] = []
    generated: list[float] = []
    for part in pieces(len(clean)):
        prompt = clean.prompt_tok_s.numbers(part)
        told = prompt == prompt
        prompts.append(float(prompt[told].sum()))
        generated.append(float(clean.tok_s.numbers(part)[told].sum()))
    return math.fsum(prompts), math.fsum(generated)


def usable_cycles(clean: CleanColumns, part: slice) -> Floats:
    """C of the samples of a part that have A, C and cycles."""
    cycle_ms = clean.cycles_ms(part)
    return cycle_ms[_is_usable(clean, part, cycle_ms)]


def block_sums(clean: CleanColumns, count: int, middle: float) -> BlockSums:
    """Sums over blocks of the `count` samples that have A, C and cycles; `middle` is the median of C."""
    length = block_length(count)
    accept, cycles, signs = (np.zeros(-(-count // length)) for _ in range(3))
    done = 0
    for part in pieces(len(clean)):
        cycle_ms = clean.cycles_ms(part)
        usable = _is_usable(clean, part, cycle_ms)
        weights = clean.cycles.numbers(part)[usable]
        if not len(weights):
            continue
        block = np.arange(done, done + len(weights)) // length
        starts = np.flatnonzero(np.diff(block, prepend=-1))
        block = block[starts]
        accept[block] += np.add.reduceat(clean.accept_len.numbers(part)[usable] * weights, starts)
        cycles[block] += np.add.reduceat(weights, starts)
        signs[block] += np.add.reduceat(np.sign(cycle_ms[usable] - middle), starts)
        done += len(weights)
    return BlockSums(accept.tolist(), cycles.tolist(), signs.tolist())


def _is_usable(clean: CleanColumns, part: slice, cycle_ms: Floats) -> npt.NDArray[np.bool_]:
    usable = _is_told(cycle_ms) & (clean.cycles.numbers(part) > 0)
    return usable & _is_told(clean.accept_len.numbers(part)) if clean.has_own_cycles else usable
