"""The median of figures that keep coming, at a cost that grows with the logarithm of their number."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappush, heappushpop


class RunningMedian:
    """Two heaps: the lower half upside down, the upper half as it is; the middle lies at their tops."""

    __slots__ = ("_lower", "_upper")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._lower: list[float] = []  # negated, so that its top is the largest of the lower half
        self._upper: list[float] = []
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._lower) + len(self._upper)

    def add(self, value: float) -> None:
        """Take one figure in."""
        if len(self._lower) == len(self._upper):
            heappush(self._lower, -heappushpop(self._upper, value))
        else:
            heappush(self._upper, -heappushpop(self._lower, -value))

    @property
    def value(self) -> float | None:
        """The median so far; None without any figure."""
        if not self._lower:
            return None
        if len(self._lower) > len(self._upper):
            return -self._lower[0]
        return (self._upper[0] - self._lower[0]) / 2
