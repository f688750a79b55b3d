"""A full stamp in front of each line: docker logs -t, kubectl --timestamps, GitHub Actions, CRI.

>>> 2026-06-24T17:38:02.436246479+02:00 stderr F [2026-06-24 15:38:02 PP0] Decode batch, …
>>> 2026-06-24T17:38:02.4362464Z [2026-06-24 17:38:02 TP0] Decode batch, …

The runtime of Kubernetes cuts lines of 16 kB and more: `P` marks a part, `F` the last one.
"""

from __future__ import annotations

import re

from specmon.events import Clock
from specmon.formats.carriers.envelope import Envelope
from specmon.formats.stamps import StampReader

START = rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)[ \t\n]"
_PREFIX = re.compile(
    rb"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(Z|[+-]\d\d:?\d\d)(?:[ \t]|(?=\n)|\Z)"
    rb"(?:(stdout|stderr) ([FP])(?::\w{1,16})?(?: |(?=\n)|\Z))?"
)


class Stamped:
    """Takes off stamps with date and zone; remembers days."""

    def __init__(self) -> None:
        self._stamps = StampReader()

    def unwrap(self, line: Envelope) -> bool:
        """Take the stamp, and what the runtime wrote behind it, off."""
        if (match := _PREFIX.match(line.text)) is None:
            return False
        stamp = self._stamps.read(match[1], match[2])
        line.stamp(stamp.at, Clock.DATED, stamp.utc_offset_s)
        if match[3]:
            line.channel = match[3]
            line.is_partial = match[4] == b"P"
        line.text = line.text[match.end() :]
        return True
