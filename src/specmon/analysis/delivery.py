"""What a level delivered: tokens over the time of its windows, prefill stalls included, idle time not.

Sums over blocks of windows in time order are kept beside the totals, so that an interval can be told however long
the level runs; when there are too many blocks, neighbours are put together.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specmon.analysis.uncertainty import Influences, influences_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST_BLOCKS = 128
_EXACT = 2.0**53  # whole numbers below are exact, and so are their sums
_COEFFICIENTS = _MOST_BLOCKS // 8  # of the low frequencies that the fewest blocks (64) still show


class Delivery:
    """Totals and block sums of windows, of one rank at one B."""

    __slots__ = ("_block_seconds", "_block_tokens", "_filled", "_length", "cycles", "seconds", "tokens", "windows")

    def __init__(self) -> None:
        self.tokens = 0.0
        self.seconds = 0.0
        self.cycles = 0.0
        self.windows = 0
        self._length = 1  # windows a block
        self._filled = 0  # windows in the last block
        self._block_tokens = array("d")
        self._block_seconds = array("d")

    def add(self, tokens: float, seconds: float, cycles: float) -> None:
        """Take one window in."""
        self.tokens += tokens
        self.seconds += seconds
        self.cycles += cycles
        self.windows += 1
        if self._filled == self._length or not self._block_tokens:
            self._open_block()
        self._block_tokens[-1] += tokens
        self._block_seconds[-1] += seconds
        self._filled += 1

    def extend(self, tokens: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64], cycles: float) -> None:
        """Take many windows in, of so many cycles each."""
        self.tokens = _add_up(self.tokens, tokens)
        self.seconds = _add_up(self.seconds, seconds)
        self.cycles = add_equals(self.cycles, cycles, len(tokens))
        self.windows += len(tokens)
        done = 0
        while done < len(tokens):
            self._open_block()
            end = min(done + self._length - self._filled, len(tokens))
            self._block_tokens[-1] = _add_up(self._block_tokens[-1], tokens[done:end])
            self._block_seconds[-1] = _add_up(self._block_seconds[-1], seconds[done:end])
            self._filled += end - done
            done = end

    def _open_block(self) -> None:
        """See to it that the last block has room."""
        if self._block_tokens and self._filled < self._length:
            return
        if len(self._block_tokens) == _MOST_BLOCKS:
            self._block_tokens = _paired(self._block_tokens)
            self._block_seconds = _paired(self._block_seconds)
            self._length *= 2
        self._block_tokens.append(0.0)
        self._block_seconds.append(0.0)
        self._filled = 0

    @property
    def tok_s(self) -> float | None:
        """Tokens over time; None without a window."""
        return self.tokens / self.seconds if self.seconds > 0 else None

    @property
    def influences(self) -> Influences | None:
        """What the windows do to ln(tokens / time): a ratio of sums, by the delta method."""
        return ratio_influences([(self, 1)])

    def blocks(self) -> Sequence[tuple[float, float]]:
        """Tokens and seconds of each block."""
        return list(zip(self._block_tokens, self._block_seconds, strict=True))


def ratio_influences(parts: Sequence[tuple[Delivery, int]]) -> Influences | None:
    """Of the windows of several levels, one level after the other, on their common tokens / time.

    The tokens of each level are divided by the number beside it: its running requests, or 1.
    """
    tokens = math.fsum(part.tokens / share for part, share in parts)
    seconds = math.fsum(part.seconds for part, _ in parts)
    if not tokens > 0 or not seconds > 0:
        return None
    count = sum(part.windows for part, _ in parts)
    blocks = [count * (t / share / tokens - s / seconds) for part, share in parts for t, s in part.blocks()]
    return influences_of(blocks, count, most=_COEFFICIENTS)


def _paired(values: array[float]) -> array[float]:
    return array("d", (values[at] + values[at + 1] for at in range(0, len(values), 2)))


def add_equals(start: float, value: float, count: int) -> float:
    """Add the same number so many times, rounded as single additions are: whole numbers not at all."""
    total = start + value * count
    if start.is_integer() and value.is_integer() and abs(start) + abs(value) * count < _EXACT:
        return total
    for _ in range(count):
        start += value
    return start


def _add_up(start: float, values: npt.NDArray[np.float64]) -> float:
    """Add one after the other: rounded as single additions are, which a pairwise sum is not."""
    import numpy as np

    return float(np.cumsum(np.concatenate(([start], values)))[-1])
