"""Reads the stamps of log lines: `2026-04-30 08:57:02`, with or without a fraction and a zone.

A stamp becomes seconds since 1970 on the log's own clock, as if that clock were UTC. Most lines of a log
share their day and many share their second, so both are remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from specmon.events import MISSING

STAMP = rb"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"

_ZONE = re.compile(rb"\s?(?:(Z)|([+-])(\d\d):?(\d\d))")
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Stamp:
    """A moment as a log printed it."""

    at: float  # s since 1970 on the log's clock
    utc_offset_s: int | None = None


class StampReader:
    """Converts stamps; remembers the days that it has seen."""

    def __init__(self) -> None:
        self._days: dict[bytes, int | None] = {}

    def seconds(self, text: bytes) -> float:
        """Seconds since 1970 of a text that matches `STAMP`; NaN when there is no such day or time."""
        day = text[:10]
        if (start := self._days.get(day)) is None and (start := self._start_of(day)) is None:
            return MISSING
        hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
        if hour > 23 or minute > 59 or second > 60:
            return MISSING
        whole = start + hour * 3600 + minute * 60 + second
        if len(text) > 20:
            return whole + float(b"0." + text[20:])
        return float(whole)

    def midnight(self, day: bytes) -> float:
        """Seconds since 1970 at the beginning of a day; NaN when there is no such day."""
        start = self._start_of(day)
        return MISSING if start is None else float(start)

    def read(self, text: bytes, zone: bytes = b"") -> Stamp:
        """A stamp together with what its text says about the zone."""
        return Stamp(self.seconds(text), read_zone(zone))

    def _start_of(self, day: bytes) -> int | None:
        if day not in self._days:
            if len(self._days) >= _DAYS_KEPT:
                self._days.clear()
            self._days[day] = _midnight(day)
        return self._days[day]


def read_zone(text: bytes) -> int | None:
    """Seconds east of UTC of a zone that `text` begins with, None without one."""
    if (match := _ZONE.match(text)) is None:
        return None
    if match[1]:
        return 0
    if int(match[3]) > 23 or int(match[4]) > 59:
        return None  # a damaged zone, with which no moment can be written
    seconds = int(match[3]) * 3600 + int(match[4]) * 60
    return -seconds if match[2] == b"-" else seconds


def _midnight(day: bytes) -> int | None:
    try:
        return (date(int(day[:4]), int(day[5:7]), int(day[8:10])).toordinal() - _EPOCH) * 86400
    except ValueError:
        return None
