"""Lines that differ in nothing but some digits: one is read by its pattern, the others are compared and computed.

A server's usual lines come in a few dozen shapes. A shape is kept as words of eight bytes, with a mask that says
which bytes must be the same and which may be any digit. Lines of it are compared a whole column of words at a time,
and as the places of the digits are known, so are the figures: value / 10**decimals, which is exactly what reading
the text would give as long as all digits fit into 53 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_DIGITS = 15  # 10**15 < 2**53


@dataclass(frozen=True, slots=True)
class Figure:
    """Where the digits of a figure stand in a line, without its point."""

    places: tuple[int, ...]
    decimals: int

    @classmethod
    def of(cls, text: bytes, begin: int, end: int) -> Figure:
        """The figure in `text` between two positions: digits, with one point among them or none."""
        point = text.find(b".", begin, end)
        places = tuple(place for place in range(begin, end) if place != point)
        return cls(places, 0 if point < 0 else end - point - 1)


class Shape:
    """One shape of lines, from a position of the line on."""

    def __init__(self, line: bytes, begin: int, digits: Iterable[int]) -> None:
        """`digits`: the places, in the whole line, that may hold any digit."""
        self._begin = begin
        count = -(-(len(line) - begin) // 8)
        size = 8 * count
        text = bytearray(line[begin:].ljust(size, b"\0"))
        mask = bytearray(b"\xff" * (len(line) - begin)).ljust(size, b"\0")
        carry = bytearray(size)
        for place in digits:
            text[place - begin], mask[place - begin], carry[place - begin] = ord("0"), 0xF0, 6
        self._size = size
        self._text, self._mask, self._carry = (np.frombuffer(bytes(part), "<u8") for part in (text, mask, carry))

    def match(self, data: bytes, starts: Integers) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint8]]:
        """Which of the lines at `starts` are of this shape; and each line's bytes less the shape's: digits as values.

        All of them must be as long as the shape, and seven more bytes must follow each in `data`.
        """
        rows = np.ndarray((len(data) - self._size - self._begin + 1,), f"V{self._size}", data, self._begin, (1,))
        words = rows[starts].view("<u8").reshape(len(starts), -1)
        words ^= self._text
        # A byte that must be equal is 0 now, a digit 0 to 9. With 6 added anything above 9 shows in the upper half;
        # no addition runs over into the next byte unless the byte itself has been found to differ.
        wrong = words + self._carry
        wrong |= words
        wrong &= self._mask
        if np.bitwise_or.reduce(wrong, axis=None):
            return np.bitwise_or.reduce(wrong, axis=1) == 0, words.view(np.uint8)
        return np.ones(len(starts), np.bool_), words.view(np.uint8)  # as nearly always, and in less time

    def value(self, figure: Figure, bytes_: npt.NDArray[np.uint8]) -> Floats:
        """A figure of each line."""
        first, *others = (place - self._begin for place in figure.places)
        value = bytes_[:, first].astype(np.float64)
        for place in others:
            value *= 10
            value += bytes_[:, place]
        if figure.decimals:
            value /= 10.0**figure.decimals
        return value


def words_at(data: bytes, positions: Integers, count: int = 1) -> Words:
    """So many words of eight bytes at each position, one row a word; the bytes must be there.

    To fetch one word or six takes the same time: it is spent on waiting for the memory.
    """
    rows = np.ndarray((len(data) - 8 * count + 1,), f"V{8 * count}", data, 0, (1,))
    return np.ascontiguousarray(rows[positions].view("<u8").reshape(-1, count).T)
