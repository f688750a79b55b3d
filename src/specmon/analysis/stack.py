"""An array that grows by pieces of one size.

An array that is one stretch of memory must move each time it outgrows its place, and what it leaves behind is too
small for it when it moves again: with a handful of long columns that comes to as much memory as they hold.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PIECE = 1 << 15  # entries

Number = TypeVar("Number", int, float)
Typecode = Literal["i", "I", "f", "d"]


class Stack(Generic[Number]):
    """Numbers of one type, in the order in which they came."""

    __slots__ = ("_full", "_gone", "_newest", "_piece", "_typecode")

    def __init__(self, typecode: Typecode, values: Iterable[Number] = (), *, piece: int = PIECE) -> None:
        self._typecode: Typecode = typecode
        self._piece = piece
        self._gone = 0  # of the oldest piece, fewer than it holds
        self._full: list[array[Number]] = []
        self._newest: array[Number] = array(typecode)  # never full
        coming = iter(values)
        while part := array(typecode, islice(coming, piece)):
            self._newest = part
            self._close()

    def __len__(self) -> int:
        return len(self._full) * self._piece + len(self._newest) - self._gone

    def __iter__(self) -> Iterator[Number]:
        return islice(chain(*self._full, self._newest), self._gone, None)

    def __getitem__(self, position: int) -> Number:
        number, place = self._find(position)
        return (self._full[number] if number < len(self._full) else self._newest)[place]

    def __delitem__(self, position: int) -> None:
        number, place = self._find(position)
        if number == len(self._full):
            del self._newest[place]
            return
        later = array(self._typecode, chain(*self._full[number:], self._newest))
        del later[place]
        del self._full[number:]
        self._newest = array(self._typecode)
        self.extend(memoryview(later))
        self.forget(0)

    def append(self, value: Number) -> None:
        """Take one number in."""
        self._newest.append(value)
        self._close()

    def extend(self, values: memoryview) -> None:
        """Take many in, of just this type."""
        coming = values.cast("B")
        size = self._newest.itemsize
        while len(coming):
            room = (self._piece - len(self._newest)) * size
            self._newest.frombytes(coming[:room])
            self._close()
            coming = coming[room:]

    def forget(self, count: int) -> None:
        """Let the oldest go; their memory goes by whole pieces."""
        self._gone += min(count, len(self))
        over = min(self._gone // self._piece, len(self._full))
        del self._full[:over]
        self._gone -= over * self._piece
        if not self._full:
            del self._newest[: self._gone]
            self._gone = 0

    def parts(self, part: slice = slice(None)) -> Iterator[npt.NDArray[np.generic]]:
        """A stretch without a step, as arrays that must be gone before more comes."""
        import numpy as np

        begin, end, _ = part.indices(len(self))
        begin, end = begin + self._gone, end + self._gone
        kind = np.dtype(self._typecode)
        for number in range(begin // self._piece, -(-end // self._piece)):
            own = self._full[number] if number < len(self._full) else self._newest
            first = number * self._piece
            if len(own):
                yield np.frombuffer(own, kind)[max(begin - first, 0) : end - first]

    def numbers(self, part: slice = slice(None)) -> npt.NDArray[np.generic]:
        """A stretch without a step, as an array of its own."""
        import numpy as np

        parts = list(self.parts(part))
        if len(parts) == 1:
            return parts[0].copy()
        return np.concatenate(parts) if parts else np.zeros(0, np.dtype(self._typecode))

    def _find(self, position: int) -> tuple[int, int]:
        """Which piece, and where in it."""
        count = len(self)
        if not -count <= position < count:
            raise IndexError(position)
        return divmod(position % count + self._gone, self._piece)

    def _close(self) -> None:
        if len(self._newest) == self._piece:
            self._full.append(self._newest)
            self._newest = array(self._typecode)
