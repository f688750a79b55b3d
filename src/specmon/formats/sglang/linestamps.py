"""The stamps at the beginning of many lines at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specmon.formats.sglang.template import Floats, Integers, Words, words_at

STAMPED = 20  # bytes of `[2026-04-30 08:57:02`


class LineStamps:
    """The first 24 bytes of each line, and whether all of them are stamps."""

    _TEXT = np.frombuffer(b"[2000-00-00 00:00:00\0\0\0\0", "<u8")
    _MASK = np.frombuffer(bytes(0xF0 if sign == 48 else 0xFF for sign in b"[2x00-00-00 00:00:00") + b"\0" * 4, "<u8")
    _CARRY = np.frombuffer(bytes(6 if sign == 48 else 0 for sign in b"[2x00-00-00 00:00:00") + b"\0" * 4, "<u8")

    def __init__(self, data: bytes, starts: Integers) -> None:
        self._words = [words_at(data, starts + place) for place in (0, 8, 16)]
        self._is_one_hour = True  # and ten minutes: the first words of all lines are the same
        self.are_usual = True
        for word, text, mask, carry in zip(self._words, self._TEXT, self._MASK, self._CARRY, strict=True):
            if (word == word[0]).all():
                word = word[:1]
            elif word is not self._words[2]:
                self._is_one_hour = False
            told = word ^ text
            self.are_usual = self.are_usual and not (((told + carry) | told) & mask).any()

    def seconds(self, lines: Integers, midnight: Callable[[bytes], float]) -> Floats | None:
        """Seconds since 1970 of some lines; None when one of them has no such day or time."""
        which = lines[:1] if self._is_one_hour else lines
        first, second = self._words[0][which], self._words[1][which]
        third = self._words[2][lines]
        hours = _digit(second, 4) * 10 + _digit(second, 5)
        minutes = _digit(second, 7) * 10 + _digit(third, 0)
        seconds = _digit(third, 2) * 10 + _digit(third, 3)
        if (hours > 23).any() or (minutes > 59).any() or (seconds > 60).any():
            return None
        days = (first >> np.uint64(24)) ^ (second << np.uint64(40))  # the digits of year, month and day
        starts = np.zeros(len(which))
        for position in np.unique(days, return_index=True)[1] if (days != days[0]).any() else (0,):
            start = midnight(_day(int(first[position]), int(second[position])))
            if start != start:
                return None
            starts[days == days[position]] = start
        moments: Floats = starts + (hours * 3600 + minutes * 60 + seconds)
        return moments


def _digit(words: Words, place: int) -> Integers:
    return ((words >> np.uint64(8 * place)) & np.uint64(15)).astype(np.int64)


def _day(first: int, second: int) -> bytes:
    """`2026-04-30` out of the first two words of a line."""
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little"))[1:11]
