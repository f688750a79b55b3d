"""journalctl: short, short-precise, short-iso, short-iso-precise, with-unit.

>>> Apr 05 20:02:51 gpu01 python3[123]: [2026-04-05 20:02:51 TP0] Decode batch. …
>>> Apr 05 20:02:51.123456 gpu01 sglang[123]: …
>>> 2026-04-05T20:02:51+0200 gpu01 sglang[123]: …
>>> Apr 05 20:02:51 gpu01 sglang[123]: [1.3K blob data]

journalctl hides a line with control characters in it, a progress bar for one, behind its size.
"""

from __future__ import annotations

import re
from datetime import date

from specmon.events import MISSING, Clock
from specmon.formats.carriers.envelope import Envelope, Label
from specmon.formats.stamps import StampReader

LEAP_YEAR = 1972  # in which a stamp without a year is counted; 29 February is a day of it

_SHORT = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_ISO = rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?[+-]\d\d:?\d\d"
_NAMES = rb" [\w.-]{1,253}+ [^\s\[:]{1,128}+"
# With a stamp of another tool, "slot print_timing: " would pass for host and process: there the pid must be there.
START = rb"(?:" + _SHORT + _NAMES + rb"(?:\[\d{1,10}\])?|" + _ISO + _NAMES + rb"\[\d{1,10}\]): "
_PREFIX = re.compile(
    rb"(?:(" + _SHORT + rb")|(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)([+-]\d\d:?\d\d))"
    rb" ([\w.-]{1,253}+) ([^\s\[:]{1,128}+)(?:\[(\d{1,10})\])?: "
)
BLOB = re.compile(rb"\[[\d.]{1,8}[BKMG]? blob data\]\s{0,4}\Z")
_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"), start=1
    )
}
_EPOCH = date(1970, 1, 1).toordinal()


class Journald:
    """Takes a journal's prefix off."""

    def __init__(self) -> None:
        self._stamps = StampReader()

    def unwrap(self, line: Envelope) -> bool:
        """Take stamp, host and process off."""
        if (match := _PREFIX.match(line.text)) is None:
            return False
        if match[1]:
            line.stamp(_yearless(match[1]), Clock.YEARLESS, None)
        else:
            stamp = self._stamps.read(match[2], match[3])
            line.stamp(stamp.at, Clock.DATED, stamp.utc_offset_s)
        host, name = match[4].decode("utf-8", "replace"), match[5].decode("utf-8", "replace")
        process = int(match[6]) if match[6] else -1
        line.text = line.text[match.end() :]
        line.is_supervisor = name == "systemd"
        line.is_hidden = BLOB.match(line.text) is not None
        label_process(line, host, name, process)
        return True


def label_process(line: Envelope, host: str, name: str, process: int) -> None:
    """Note which process of which host wrote a line."""
    line.process = process
    number = f"[{process}]" if process >= 0 else ""
    names = (name, f"{name}{number}", f"{host} {name}{number}")
    line.name(Label(("journal", host, name), names, number))


def _yearless(text: bytes) -> float:
    month, day = _MONTHS[text[:3]], int(text[4:6])
    hour, minute, second = int(text[7:9]), int(text[10:12]), int(text[13:15])
    if hour > 23 or minute > 59 or second > 60:
        return MISSING
    try:
        days = date(LEAP_YEAR, month, day).toordinal() - _EPOCH
    except ValueError:
        return MISSING
    fraction = float(b"0" + text[15:]) if len(text) > 16 else 0.0
    return days * 86400 + hour * 3600 + minute * 60 + second + fraction
