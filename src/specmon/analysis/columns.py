"""Columns of figures that grow without bound, in as few bytes as they can be held exactly.

A log prints its figures with two decimals, and many of its columns hold one value all the time (an empty queue, the
accept length of a baseline). So a column is one value with a count as long as it can be, then whole hundredths of
four bytes, and takes eight bytes a figure from the first one on that fits into neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING

from specmon.analysis.stack import Stack

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MISSING = -(2**31)  # the code of NaN
_LARGEST = 2**31 - 1
_MOST_COUNTED = 1 << 16  # hundredths between the smallest and the largest code, up to which they are counted
_FAR = 1e6  # from here on hundredths are counted from the first figure and not from zero: times


class Column:
    """Floats, or NaN, in the order in which they came."""

    __slots__ = ("_codes", "_count", "_only", "_origin", "_wide")

    def __init__(self) -> None:
        self._count = 0
        self._only = math.nan
        self._origin = 0.0
        self._codes: Stack[int] | None = None
        self._wide: Stack[float] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> float:
        if self._wide is not None:
            return self._wide[position]
        if self._codes is not None:
            code = self._codes[position]
            return math.nan if code == _MISSING else self._origin + code / 100
        if not -self._count <= position < self._count:
            raise IndexError(position)
        return self._only

    def __delitem__(self, position: int) -> None:
        if self._wide is not None:
            del self._wide[position]
        elif self._codes is not None:
            del self._codes[position]
        self._count -= 1

    def __iter__(self) -> Iterator[float]:
        if self._wide is not None:
            return iter(self._wide)
        if self._codes is None:
            return repeat(self._only, self._count)
        origin = self._origin
        return (math.nan if code == _MISSING else origin + code / 100 for code in self._codes)

    def every(self) -> list[float]:
        """All figures at once: quicker than one by one, where there is room for them."""
        if self._wide is not None:
            return list(self._wide)
        if self._codes is None:
            return [self._only] * self._count
        codes, origin = list(self._codes), self._origin
        if _MISSING in codes:
            return [math.nan if code == _MISSING else origin + code / 100 for code in codes]
        return [origin + code / 100 for code in codes] if origin else [code / 100 for code in codes]

    def append(self, value: float) -> None:
        """Take one figure in."""
        if self._wide is not None:
            self._wide.append(value)
        elif self._codes is None and (
            not self._count or value == self._only or (value != value and self._only != self._only)
        ):
            self._only = value
        else:
            if self._codes is None:
                self._spread()
            code = self._code(value)
            if self._codes is not None and code is not None:
                self._codes.append(code)
            else:
                self._widen().append(value)
        self._count += 1

    def extend(self, values: npt.NDArray[np.float64]) -> None:
        """Take many figures in."""
        import numpy as np

        if not len(values):
            return
        if self._wide is None and self._codes is None:
            only = values[0] if not self._count else self._only
            if np.all(values == only) or (_is_nan(only) and np.all(values != values)):
                self._only = float(only)
                self._count += len(values)
                return
            self._only = float(only)
            self._spread()
        if self._codes is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                codes = np.rint((values - self._origin) * 100)
                is_told = values == values
                fits = (self._origin + codes / 100 == values) & (np.abs(codes) < _LARGEST)
            if np.all(fits | ~is_told):
                self._codes.extend(np.where(is_told, codes, _MISSING).astype(np.int32).data)
                self._count += len(values)
                return
            self._widen()
        assert self._wide is not None
        self._wide.extend(values.data)
        self._count += len(values)

    def forget(self, count: int) -> None:
        """Let the oldest go."""
        if self._wide is not None:
            self._wide.forget(count)
        elif self._codes is not None:
            self._codes.forget(count)
        self._count -= count

    def numbers(self, part: slice = slice(None)) -> npt.NDArray[np.float64]:
        """A part of the figures, as an array of its own."""
        import numpy as np

        if self._wide is not None:
            return self._wide.numbers(part).astype(np.float64, copy=False)
        if self._codes is None:
            return np.full(len(range(self._count)[part]), self._only)
        codes = self._codes.numbers(part).astype(np.float64)
        is_missing = codes == _MISSING
        codes /= 100
        codes += self._origin
        codes[is_missing] = math.nan
        return codes

    def tally(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]] | None:
        """The different figures in order, and how often each came; NaN is none. None: too many to be counted."""
        import numpy as np

        if self._wide is not None:
            return None
        if self._codes is None or not self._count:
            told = np.array([self._only] if self._count and not _is_nan(self._only) else [], np.float64)
            return told, np.full(len(told), self._count)
        pieces = [piece.astype(np.int32, copy=False) for piece in self._codes.parts()]
        low, high = min(int(piece.min()) for piece in pieces), max(int(piece.max()) for piece in pieces)
        if low == _MISSING or high - low >= _MOST_COUNTED:
            return None
        counts = np.zeros(high - low + 1, np.int64)
        for piece in pieces:
            counts += np.bincount(piece - low, minlength=len(counts))
        seen = np.flatnonzero(counts)
        return (seen + low) / 100 + self._origin, counts[seen]

    @property
    def only(self) -> float | None:
        """The one value of all entries, None when there are several."""
        return None if self._codes is not None or self._wide is not None else self._only

    def _code(self, value: float) -> int | None:
        if value != value:
            return _MISSING
        hundredths = (value - self._origin) * 100
        if not abs(hundredths) < _LARGEST:  # infinite too, or on the way there
            return None
        code = round(hundredths)
        return code if self._origin + code / 100 == value else None

    def _spread(self) -> None:
        """Give each entry a place of its own: the next value is another one."""
        self._origin = math.floor(self._only) if _FAR < abs(self._only) < math.inf else 0.0
        code = self._code(self._only) if self._count else 0
        if code is None:
            self._wide = Stack("d", repeat(self._only, self._count))
        else:
            self._codes = Stack("i", repeat(code, self._count))

    def _widen(self) -> Stack[float]:
        """Some figure is no whole number of hundredths."""
        if self._wide is None:
            self._wide = Stack("d", self)
        self._codes = None
        return self._wide


def _is_nan(value: float) -> bool:
    return value != value
