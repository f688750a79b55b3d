"""Columns that grow at their end and lose their oldest, in pieces of one size.

A column that is one stretch of memory moves when it outgrows its place, and whoever was given it keeps the old one. In
pieces nothing moves: what is given away shares them, and memory of one size is used again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

PIECE = 4096  # entries
Array: TypeAlias = npt.NDArray[np.generic]
Kinds: TypeAlias = Sequence[tuple[str, npt.DTypeLike]]


class Piece:
    """Columns of one length. What has been written is not written again."""

    __slots__ = ("_span", "columns")

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = columns
        self._span: tuple[float, float] | None = None  # once it is full

    @classmethod
    def empty(cls, kinds: Kinds, size: int) -> Piece:
        """One with room for `size` entries, in one block of memory."""
        types = [(name, np.dtype(kind)) for name, kind in kinds]
        types.sort(key=lambda each: -each[1].alignment)  # so that each begins where it may
        block = np.zeros(size * sum(kind.itemsize for _, kind in types), np.uint8)
        columns: dict[str, Array] = {}
        begin = 0
        for name, kind in types:
            columns[name] = block[begin : begin + size * kind.itemsize].view(kind)
            begin += size * kind.itemsize
        return cls(columns)

    def written(self, part: slice, new: Mapping[str, Array]) -> Piece:
        """A piece that holds something else there; whoever has this one sees no change."""
        columns = dict(self.columns)
        for name, values in new.items():
            columns[name] = self.columns[name].copy()
            columns[name][part] = values
        return Piece(columns)

    def span(self, name: str, count: int) -> tuple[float, float]:
        """The least and the greatest of the first `count` entries of a column, and of no other one ever."""
        if self._span is not None:
            return self._span
        values = self.columns[name][:count]
        found = float(values.min()), float(values.max())
        if count == len(self.columns[name]):
            self._span = found
        return found


class View:
    """A part of the columns as it was when it was taken; it shares their memory."""

    __slots__ = ("_begin", "_end", "_pieces", "_size")

    def __init__(self, pieces: Sequence[Piece], size: int, begin: int, end: int) -> None:
        """Entries from `begin` to `end`, counted from the start of the first of pieces of `size`."""
        self._pieces = pieces
        self._size = size
        self._begin = begin
        self._end = max(begin, end)

    @classmethod
    def of(cls, columns: Mapping[str, Array]) -> View:
        """Columns that lie elsewhere, as one piece."""
        count = len(next(iter(columns.values())))
        return cls((Piece(columns),), max(1, count), 0, count)

    def __len__(self) -> int:
        return self._end - self._begin

    def part(self, which: slice) -> View:
        """A stretch without a step."""
        begin, end, _ = which.indices(len(self))
        return View(self._pieces, self._size, self._begin + begin, self._begin + end)

    def at(self, name: str, index: int) -> np.generic:
        """One entry of a column. Raises IndexError for one that is not held."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        number, place = divmod(index % len(self) + self._begin, self._size)
        found: np.generic = self._pieces[number].columns[name][place]
        return found

    def parts(self) -> Iterator[tuple[Piece, slice]]:
        """The pieces in order, each with what of it is meant."""
        if self._begin == self._end:
            return
        for number in range(self._begin // self._size, (self._end - 1) // self._size + 1):
            first = number * self._size
            yield self._pieces[number], slice(max(self._begin - first, 0), min(self._end - first, self._size))

    def arrays(self, name: str) -> Iterator[Array]:
        """A column, piece by piece."""
        for piece, part in self.parts():
            yield piece.columns[name][part]

    def numbers(self, name: str) -> Array:
        """A column as one array; of a single piece it shares the memory."""
        found = list(self.arrays(name))
        if not found:
            return self._pieces[0].columns[name][:0] if self._pieces else np.zeros(0)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def around(self, name: str, low: float, high: float) -> View:
        """The stretch from the first to the last piece that has an entry of [low, high] in this column."""
        first, end, place = 0, 0, 0
        for piece, part in self.parts():
            least, greatest = piece.span(name, part.stop)
            count = part.stop - part.start
            if not (greatest < low or least > high):
                first, end = first if end else place, place + count
            place += count
        return self.part(slice(first, end))


class Pieces:
    """The columns themselves."""

    def __init__(self, kinds: Kinds, *, piece: int = PIECE) -> None:
        """`kinds`: the name and the type of each column."""
        self._kinds = kinds
        self._size = piece
        self._pieces: list[Piece] = []
        self._begin = self._end = 0  # of what is held, counted from the start of the first piece

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def nbytes(self) -> int:
        """Memory, without what only those hold who were given something."""
        return sum(column.nbytes for piece in self._pieces for column in piece.columns.values())

    def view(self) -> View:
        """All of it, as it is now."""
        return View(tuple(self._pieces), self._size, self._begin, self._end)

    def extend(self, new: Mapping[str, Array]) -> None:
        """Take entries in, as columns of one length."""
        count, done = len(next(iter(new.values()))), 0
        while done < count:
            number, place = divmod(self._end, self._size)
            if number == len(self._pieces):
                self._pieces.append(Piece.empty(self._kinds, self._size))
            some = min(self._size - place, count - done)
            for name, values in new.items():
                self._pieces[number].columns[name][place : place + some] = values[done : done + some]
            self._end += some
            done += some

    def put(self, begin: int, new: Mapping[str, Array]) -> None:
        """Write over entries that are held, from one on; whoever was given them keeps the old ones."""
        count, done = len(next(iter(new.values()))), 0
        while done < count:
            number, place = divmod(self._begin + begin + done, self._size)
            some = min(self._size - place, count - done)
            part = {name: values[done : done + some] for name, values in new.items()}
            self._pieces[number] = self._pieces[number].written(slice(place, place + some), part)
            done += some

    def forget(self, count: int) -> None:
        """Let the oldest go; their memory goes by whole pieces."""
        self._begin += min(count, len(self))
        over = min(self._begin // self._size, len(self._pieces))
        del self._pieces[:over]
        self._begin -= over * self._size
        self._end -= over * self._size

    def cut(self, count: int) -> None:
        """Keep so many of the oldest, and let the rest go; whoever was given them keeps them."""
        self._end = min(self._end, self._begin + count)
        del self._pieces[math.ceil(self._end / self._size) :]
        if self._end % self._size:
            last = self._pieces[-1]
            self._pieces[-1] = last.written(slice(0, 0), {name: values[:0] for name, values in last.columns.items()})
