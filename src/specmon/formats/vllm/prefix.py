"""What stands in front of the body of a line: the process, the level, a time without a year, the place in the code.

    (APIServer pid=10267) INFO 11-30 15:41:36 [loggers.py:335] …    [0.10 on]
    INFO 11-30 15:41:36 [loggers.py:116] …                          [0.8, 0.9]
    INFO 08-02 04:33:51 metrics.py:295] …                           [up to 0.7: no opening bracket]

With the JSON formatter [0.32] the same things are fields of an object, and the time has a year.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from specmon.events import MISSING
from specmon.formats.stamps import STAMP, StampReader

PROCESS = rb"\(([A-Za-z][\w.-]{0,40}+) pid=(\d{1,10}+)[^)\n]{0,64}\)"
TIME = rb"\d\d-\d\d \d\d:\d\d:\d\d"
LEVEL = rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
PLACE = rb"\[?[^\[\]\n]{1,128}+\]"
LONGEST = 512  # bytes in front of a body; what is longer is text, not a prefix

_PROCESS = re.compile(PROCESS)
_YEARLESS = re.compile(LEVEL + rb" {1,8}(" + TIME + rb") " + PLACE + rb" {0,8}$")
_DATED = re.compile(rb"(" + STAMP + rb")")
_STYLE = re.compile(rb"\x1b\[[\d;?]{0,16}[A-Za-z]")

# Days before each month in a leap year. A year of the yearless clock always has 366 days, so that every
# stamp has its place and the step from 31 December to 1 January is one day.
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_DAYS_IN = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_S = 86_400.0
_YEAR_S = 366 * _DAY_S
_FIRST_YEAR_S = 730 * _DAY_S  # 1972, a leap year; the year itself means nothing
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prefix says; `at` is NaN and `pid` -1 when it does not."""

    at: float = MISSING
    name: str = ""  # of the process: APIServer, ApiServer_1, EngineCore_DP0, Worker_TP1
    pid: int = -1
    is_dated: bool = False

    @property
    def process(self) -> tuple[str, int]:
        """Which process wrote the line; the same for all lines that do not say."""
        return self.name, self.pid


@dataclass(frozen=True, slots=True)
class Record:
    """A line of the JSON formatter: its message and what it says about itself."""

    prefix: Prefix
    message: bytes


class PrefixReader:
    """Reads prefixes of one stream; stamps without a year are put into the order of the stream."""

    def __init__(self) -> None:
        self._stamps = StampReader()
        self._seconds: dict[bytes, float] = {}  # "11-30 15:41" to its seconds in the year
        self._year_s = _FIRST_YEAR_S
        self._last: float | None = None

    def yearless(self, text: bytes) -> float:
        """Seconds of "11-30 15:41:36" on a clock that goes on over New Year; NaN when there is no such time."""
        minute = self._seconds.get(text[:11])
        if minute is None:
            minute = _seconds_in_year(text)
            if len(self._seconds) >= _KEPT:
                self._seconds.clear()
            self._seconds[text[:11]] = minute
        at = self._year_s + minute + int(text[12:14])
        if at != at:
            return at
        # Of all years that the stamp may mean, the one nearest to the line before: lines of two processes
        # can come a second out of order around New Year.
        if self._last is not None and abs(at - self._last) > _YEAR_S / 2:
            step = _YEAR_S if at < self._last else -_YEAR_S
            self._year_s += step
            at += step
        self._last = at
        return at

    def read(self, before: bytes) -> Prefix:
        """Read whatever stands before a body."""
        before = before[-LONGEST:]
        found = _PROCESS.findall(before)
        # The last one is the engine's own, the others a carrier's.
        name, pid = (found[-1][0].decode("ascii"), int(found[-1][1])) if found else ("", -1)
        if stamp := _YEARLESS.search(before):
            return Prefix(self.yearless(stamp[1]), name, pid)
        if stamp := _DATED.search(before):
            at = self._stamps.seconds(stamp[1])
            return Prefix(at, name, pid, at == at)
        return Prefix(name=name, pid=pid)

    def record(self, line: bytes) -> Record | None:
        """Read a line of the JSON formatter; None for any other object."""
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or not isinstance(message := fields.get("message"), str):
            return None
        stamp = _DATED.match(str(fields.get("asctime", "")).encode())
        at = self._stamps.seconds(stamp[1]) if stamp else MISSING
        name = fields.get("vllm_process_name", fields.get("processName"))
        pid = fields.get("process")
        prefix = Prefix(
            at,
            name if isinstance(name, str) else "",
            pid if isinstance(pid, int) and 0 <= pid < 10**10 else -1,
            at == at,
        )
        return Record(prefix, message.encode("utf-8", "replace"))


def without_styles(line: bytes) -> bytes:
    """The line without the colours that a terminal, or `FORCE_COLOR`, asks for."""
    return _STYLE.sub(b"", line) if b"\x1b" in line else line


def _seconds_in_year(text: bytes) -> float:
    month, day, hour, minute = int(text[:2]), int(text[3:5]), int(text[6:8]), int(text[9:11])
    if not (1 <= month <= 12 and 1 <= day <= _DAYS_IN[month - 1] and hour < 24 and minute < 60):
        return MISSING
    return (_DAYS_BEFORE[month - 1] + day - 1) * _DAY_S + hour * 3600 + minute * 60
