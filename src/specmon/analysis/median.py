"""The median of figures that keep coming, one by one or by the thousand."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

from specmon.analysis.spread import Ranked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST_LATE = 1024  # figures beside the sorted ones, before they are sorted in
_MOST_SINGLE = 4096  # figures in heaps
_RARELY = 8  # batches are sorted in when they have grown to one part in so many
_MANY = 100_000  # sorted figures of which only the middle quarter is kept: then batches of 6,000 leave bounds


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The figures of a median in order; those far from its middle cost a look at all."""

    count: int
    at: Callable[[int], float]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rank: int, /) -> float:
        return self.at(rank)


class RunningMedian:
    """Two heaps: the lower half upside down, the upper half as it is; the middle lies at their tops.

    Figures that come by the thousand are sorted instead (8 bytes each, where the heaps need 32), and so are those that
    came one by one when they are thousands. They are sorted in rarely: until then the sorted ones tell between which
    bounds the median lies. Of many, those far from the middle are only counted; should the median ever get there,
    `everything` must give all figures once more.
    """

    __slots__ = (
        "_above",
        "_below",
        "_everything",
        "_late",
        "_lower",
        "_middle",
        "_sorted",
        "_upper",
        "_waiting",
        "_waiting_count",
    )

    def __init__(
        self, values: Iterable[float] = (), *, everything: Callable[[], npt.NDArray[np.float64]] | None = None
    ) -> None:
        self._lower: list[float] = []  # negated, so that its top is the largest of the lower half
        self._upper: list[float] = []
        self._sorted: npt.NDArray[np.float64] | None = None  # from the first batch on; the heaps are empty then
        self._middle: float | None = None  # of the sorted ones; None: to be looked for
        self._below = 0  # figures that are smaller than all of the sorted ones, and larger
        self._above = 0
        self._late: list[float] = []  # in order: what came one by one since, and lies between the sorted ones
        self._waiting: list[npt.NDArray[np.float64]] = []  # batches that are not sorted in yet
        self._waiting_count = 0
        self._everything = everything
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        if self._sorted is None:
            return len(self._lower) + len(self._upper)
        return self._below + len(self._sorted) + self._above + len(self._late) + self._waiting_count

    def add(self, value: float) -> None:
        """Take one figure in."""
        if self._sorted is not None:
            self._middle = None
            if self._below and value < self._sorted[0]:
                self._below += 1
            elif self._above and value > self._sorted[-1]:
                self._above += 1
            else:
                insort(self._late, value)
                if len(self._late) > _MOST_LATE:
                    self._sort()
        elif len(self._lower) == len(self._upper):
            heappush(self._lower, -heappushpop(self._upper, value))
            if len(self._lower) + len(self._upper) > _MOST_SINGLE:
                self._line_up()
        else:
            heappush(self._upper, -heappushpop(self._lower, -value))

    def extend(self, values: npt.NDArray[np.float64]) -> None:
        """Take a batch of figures in."""
        if self._sorted is None:
            self._line_up()
        self._middle = None
        self._waiting.append(values)
        self._waiting_count += len(values)
        if self._waiting_count * _RARELY > len(self) - self._waiting_count:
            self._sort()

    def thinned(self) -> RunningMedian:
        """One of half as many figures, every second in order, with nearly the same median; of one that holds all."""
        other = RunningMedian()
        if self._sorted is None:
            for value in self._in_order()[::2]:
                other.add(value)
        else:
            self._sort()
            other._sorted = self._held[::2].copy()
        return other

    def of_fewer(self, values: npt.NDArray[np.float64]) -> RunningMedian:
        """One in the same form that holds just these."""
        other = RunningMedian(everything=self._everything)
        if self._sorted is not None:
            other.extend(values)
        else:
            ordered = sorted(values.tolist())
            middle = (len(ordered) + 1) // 2
            other._lower = [-value for value in reversed(ordered[:middle])]  # what is in order is a heap
            other._upper = ordered[middle:]
        return other

    def bounds(self, more: int) -> tuple[float, float] | None:
        """Between which figures every median lies from now until `more` others have come; None: nobody can say."""
        ordered = self._in_order() if self._sorted is None else self._sorted
        count = self._below + len(ordered) + self._above
        others = more + self._waiting_count + len(self._late)
        low, high = (count - others - 1) // 2 - self._below, (count + others) // 2 - self._below
        return (float(ordered[low]), float(ordered[high])) if low >= 0 and high < len(ordered) else None

    @property
    def value(self) -> float | None:
        """The median so far; None without any figure."""
        if self._sorted is not None:
            return self._of_sorted()
        if not self._lower:
            return None
        if len(self._lower) > len(self._upper):
            return -self._lower[0]
        return (self._upper[0] - self._lower[0]) / 2

    @property
    def in_order(self) -> Ranked | None:
        """All figures in order, until the next one comes; None as long as they lie in heaps."""
        if self._sorted is None:
            return None
        if self._waiting:
            self._sort()
        return _Ranks(len(self), self._at)

    def _of_sorted(self) -> float | None:
        if self._middle is None and (count := len(self)):
            if self._waiting:
                self._sort()
            above = self._at(count // 2)
            self._middle = above if count % 2 else (above + self._at(count // 2 - 1)) / 2
        return self._middle

    def _line_up(self) -> None:
        """From now on sorted figures instead of heaps."""
        import numpy as np

        self._sorted = np.array(self._in_order(), dtype=np.float64)
        self._lower, self._upper = [], []

    def _in_order(self) -> list[float]:
        return sorted([*(-value for value in self._lower), *self._upper])

    def _at(self, rank: int) -> float:
        """The figure of a rank."""
        if not 0 <= rank - self._below < len(self._held) + len(self._late):
            self._hold_everything()
        rank -= self._below
        ordered, late = self._held, self._late
        # How many of the late ones lie before it: the fewest for which the next late one does not.
        low, high = max(0, rank - len(ordered)), min(rank, len(late))
        while low < high:
            middle = (low + high) // 2
            if late[middle] < ordered[rank - middle - 1]:
                low = middle + 1
            else:
                high = middle
        position = rank - low
        if low == len(late):
            return float(ordered[position])
        return late[low] if position == len(ordered) else min(late[low], float(ordered[position]))

    @property
    def _held(self) -> npt.NDArray[np.float64]:
        assert self._sorted is not None
        return self._sorted

    def _sort(self) -> None:
        """Sort everything in."""
        import numpy as np

        new = np.concatenate([*self._waiting, np.array(self._late, dtype=np.float64)])
        new.sort()
        ordered = self._held
        self._late, self._waiting, self._waiting_count = [], [], 0
        begin = int(np.searchsorted(new, ordered[0], "left")) if self._below else 0
        end = int(np.searchsorted(new, ordered[-1], "right")) if self._above else len(new)
        self._below += begin
        self._above += len(new) - end
        new = new[begin:end]
        self._sorted = np.insert(ordered, np.searchsorted(ordered, new), new)
        self._forget_the_ends()

    def _forget_the_ends(self) -> None:
        """Keep the middle quarter of many figures, and of the others their number."""
        ordered = self._held
        if self._everything is None or len(ordered) <= _MANY:
            return
        count = self._below + len(ordered) + self._above
        outside = 3 * count // 8
        begin = max(outside - self._below, 0)
        end = min(count - outside - self._below, len(ordered))
        if end - begin >= 2:
            self._below += begin
            self._above += len(ordered) - end
            self._sorted = ordered[begin:end].copy()  # not a view: the rest shall go

    def _hold_everything(self) -> None:
        assert self._everything is not None
        values = self._everything()
        values.sort()
        self._sorted, self._below, self._above = values, 0, 0
        self._late, self._waiting, self._waiting_count = [], [], 0
