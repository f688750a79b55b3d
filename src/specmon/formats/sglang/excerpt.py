"""Some lines of a block, one after another, and where each of them stands in the stream."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where whole lines come from that were put together into one text."""

    starts: Sequence[int]  # of the lines in the text
    offsets: Sequence[int]  # of the same lines in the stream
    size: int  # of the text

    def offset(self, position: int) -> int:
        """The offset in the stream of a position in the text."""
        line = bisect_right(self.starts, position) - 1
        return self.offsets[line] + position - self.starts[line] if line >= 0 else position

    def line_end(self, offset: int) -> int:
        """The offset behind the line in which an offset lies."""
        line = bisect_right(self.offsets, offset) - 1
        end = self.starts[line + 1] if line + 1 < len(self.starts) else self.size
        return self.offsets[line] + end - self.starts[line]

    def placed(self, positions: Iterable[int]) -> array[int]:
        """The offsets of many positions."""
        return array("q", map(self.offset, positions))
