"""The stamps at the beginning of many lines at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specmon.formats.sglang.template import Floats, Integers, Words, words_at

_MASKS = {48: (0xF0, 6)}  # of a digit: what must be the same, and what shows in the upper half that it is none


@dataclass(frozen=True, slots=True)
class StampForm:
    """One way of writing a stamp, in three words of eight bytes."""

    size: int
    text: Words
    mask: Words
    carry: Words

    @classmethod
    def of(cls, text: bytes) -> StampForm:
        """The form of which `text` is an example; a 0 stands for any digit."""
        mask = bytes(_MASKS.get(sign, (0xFF, 0))[0] for sign in text).ljust(24, b"\0")
        carry = bytes(_MASKS.get(sign, (0xFF, 0))[1] for sign in text).ljust(24, b"\0")
        # The century is fixed.
        mask = mask[:2] + b"\xff" + mask[3:]
        carry = carry[:2] + b"\0" + carry[3:]
        return cls(len(text), *(np.frombuffer(part, "<u8") for part in (text.ljust(24, b"\0"), mask, carry)))


SECONDS = StampForm.of(b"[2000-00-00 00:00:00")
_MILLISECONDS = {
    sign: StampForm.of(b"[2000-00-00 00:00:00" + bytes((sign,)) + b"000") for sign in b".,"
}  # [0.5.6] SGLANG_LOG_MS=1


def form_in(data: bytes) -> StampForm:
    """The form of the first stamp in a block."""
    begin = 0 if data.startswith(b"[20") else data.find(b"\n[20") + 1
    return _MILLISECONDS.get(data[begin + 20], SECONDS) if begin + 20 < len(data) else SECONDS


class LineStamps:
    """The first 24 bytes of each line, and which of the lines have no stamp of the form."""

    def __init__(self, data: bytes, starts: Integers, form: StampForm) -> None:
        self._words = words_at(data, starts, 3)
        self.form = form
        self.unstamped: npt.NDArray[np.bool_] | None = None  # None: all lines have one
        self._is_one_hour = True  # and ten minutes: the first words of all lines are the same
        for place, (word, text, mask, carry) in enumerate(
            zip(self._words, form.text, form.mask, form.carry, strict=True)
        ):
            if (word == word[0]).all():
                word = word[:1]
            elif place < 2:
                self._is_one_hour = False
            told = word ^ text
            wrong = ((told + carry) | told) & mask
            if wrong.any():
                unstamped = np.broadcast_to(wrong != 0, starts.shape)
                self.unstamped = unstamped if self.unstamped is None else self.unstamped | unstamped

    @property
    def has_milliseconds(self) -> bool:
        """Whether the stamps are that fine."""
        return self.form is not SECONDS

    def seconds(self, lines: Integers, midnight: Callable[[bytes], float]) -> Floats | None:
        """Seconds since 1970 of some stamped lines; None when one of them has no such day or time."""
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
        if self.has_milliseconds:
            moments += (_digit(third, 5) * 100 + _digit(third, 6) * 10 + _digit(third, 7)) / 1000
        return moments


def _digit(words: Words, place: int) -> Integers:
    return ((words >> np.uint64(8 * place)) & np.uint64(15)).astype(np.int64)


def _day(first: int, second: int) -> bytes:
    """`2026-04-30` out of the first two words of a line."""
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little"))[1:11]
