"""Reads the times of a custom format: a preset, or a layout in the words of strptime.

Times become seconds on the log's own clock, as `events` wants them: a stamp without a date counts days from the
first one, one without a year counts from 1972 in years of 366 days.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from specmon.events import MISSING, Clock
from specmon.formats.stamps import STAMP, StampReader, read_zone

PRESETS = ("iso", "epoch", "epoch_ms", "uptime")
_ISO = re.compile(rb"(" + STAMP + rb")(\s?(?:Z|[+-]\d\d:?\d\d))?")
_NUMBER = re.compile(rb"\d{1,14}(?:\.\d{1,9})?")
_FRACTION = re.compile(rb"[.,](\d{1,9})(?!.*[.,]\d)")
_DAY_S = 86_400.0
_YEAR_S = 366 * _DAY_S
_MONTH_S = 30 * _DAY_S


class Moments:
    """Reads the stamps of one stream in their order: what a stamp lacks follows from those before it."""

    def __init__(self, layout: str, utc_offset_s: int | None) -> None:
        self.layout = layout
        self.clock = clock_of(layout)
        self.utc_offset_s = 0 if layout.startswith("epoch") else utc_offset_s  # of the last stamp
        self._usual_offset_s = self.utc_offset_s
        self._stamps = StampReader()
        self._last = MISSING
        self._added = 0.0  # days or years that have passed since the first stamp

    def read(self, text: bytes) -> float:
        """Seconds on the log's clock; NaN for what is no time."""
        at = self._plain(text.strip())
        if at != at or self.clock in (Clock.DATED, Clock.UPTIME):
            return at
        span, back = (_DAY_S, _DAY_S / 2) if self.clock is Clock.TIME_OF_DAY else (_YEAR_S, _MONTH_S)
        if at + self._added < self._last - back:
            self._added += span
        self._last = at + self._added
        return self._last

    def _plain(self, text: bytes) -> float:
        if self.layout == "iso":
            if (match := _ISO.fullmatch(text)) is None:
                return MISSING
            stamp = self._stamps.read(match[1], (match[2] or b"").strip())
            self.utc_offset_s = self._usual_offset_s if stamp.utc_offset_s is None else stamp.utc_offset_s
            return stamp.at
        if self.layout in PRESETS:
            if _NUMBER.fullmatch(text) is None:
                return MISSING
            factor = 0.001 if self.layout == "epoch_ms" else 1.0
            return factor * float(text)
        return self._by_layout(text)

    def _by_layout(self, text: bytes) -> float:
        try:
            if self.clock is Clock.YEARLESS:
                # 1972 is a leap year, and where such clocks begin; a year of its own spares a warning of Python's.
                moment = datetime.strptime(f"1972 {text.decode()}", f"%Y {self.layout}")
            elif self.clock is Clock.TIME_OF_DAY:
                moment = datetime.strptime(f"1970-01-01 {text.decode()}", f"%Y-%m-%d {self.layout}")
            else:
                moment = datetime.strptime(text.decode(), self.layout)
        except (ValueError, OverflowError):
            return MISSING
        offset = moment.utcoffset()
        self.utc_offset_s = self._usual_offset_s if offset is None else round(offset.total_seconds())
        return moment.replace(tzinfo=UTC).timestamp()


def clock_of(layout: str) -> Clock:
    """How much of a date the stamps carry."""
    if layout in ("iso", "epoch", "epoch_ms"):
        return Clock.DATED
    if layout == "uptime":
        return Clock.UPTIME
    directives = set(re.findall(r"%([A-Za-z%])", layout))
    if directives & {"d", "j", "m", "b", "B", "x", "c"}:
        return Clock.DATED if directives & {"Y", "y", "G", "x", "c"} else Clock.YEARLESS
    return Clock.TIME_OF_DAY


def layout_fault(layout: str) -> str | None:
    """What is wrong with a layout, None when it can be used."""
    if layout in PRESETS:
        return None
    if "%" not in layout:
        return f"`{layout}` is neither {', '.join(PRESETS)} nor a layout with % directives"
    probe = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
    try:
        datetime.strptime(probe.strftime(f"%Y-%m-%d {layout}"), f"%Y-%m-%d {layout}")
    except (ValueError, re.error) as error:
        if "redefinition" not in str(error):  # the layout has a year of its own
            return f"strptime does not take `{layout}`: {error}"
        try:
            datetime.strptime(probe.strftime(layout), layout)
        except (ValueError, re.error) as again:
            return f"strptime does not take `{layout}`: {again}"
    return None


def zone_of(text: str) -> int | None:
    """Seconds east of UTC of `UTC`, `Z` or `+02:00`; None for anything else."""
    return 0 if text.upper() == "UTC" else read_zone(text.encode())


def written(at: float, clock: Clock) -> str:
    """A moment as samples write it: as much of a date as the clock has, a fraction only when there is one."""
    if clock is Clock.UPTIME:
        return f"{at:g}"
    whole = datetime(1970, 1, 1, tzinfo=timezone(timedelta(0))) + timedelta(seconds=round(at * 1e6) / 1e6)
    layout = {Clock.TIME_OF_DAY: "%H:%M:%S", Clock.YEARLESS: "%m-%d %H:%M:%S"}.get(clock, "%Y-%m-%d %H:%M:%S")
    fraction = f".{whole.microsecond:06}".rstrip("0") if whole.microsecond else ""
    return whole.strftime(layout) + fraction
