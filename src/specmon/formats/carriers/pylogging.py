"""The prefixes that Python programs put before the records of a server which they started.

>>> 2025-03-07 23:50:27,531 - __main__ - INFO - [2025-03-07 23:50:27 TP0] Decode batch. …
>>> 2025-03-07 23:50:27.531 | INFO     | launcher:pump:12 - INFO 03-07 23:50:27 [loggers.py:127] Engine 000: …
>>> [2026-01-01 10:00:00] [INFO] Decode batch. …

In the last form the stamp is the engine's only one, so it stays in front of the body.
"""

from __future__ import annotations

import re

from specmon.events import Clock
from specmon.formats.carriers.envelope import Envelope
from specmon.formats.stamps import StampReader

_LEVEL = rb"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_STAMP = rb"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_NAMES = rb"(?: - [\w.:<>-]{1,128}+){0,2}? - " + _LEVEL + rb"(?: - [\w.:<>-]{1,128}+)?(?: - |: )"
_PIPES = rb" {1,4}\| {0,4}" + _LEVEL + rb" {0,8}\| {1,4}[\w.:<>-]{1,160}+ - "
_BRACKETS = rb"\[" + _STAMP + rb"(?: [A-Z_]{2,12}\d{1,6}){0,8}\] (?:\[[\w.:-]{1,64}\] ){0,2}?\[" + _LEVEL + rb" {0,4}\]"
# Without the bracket: most lines of SGLang begin with one, and are looked at for the rest by position alone.
START = _STAMP + rb"(?:" + _NAMES + rb"|" + _PIPES + rb")"
BRACKET_START = _BRACKETS
_PREFIX = re.compile(rb"(" + _STAMP + rb")(?:" + _NAMES + rb"|" + _PIPES + rb")")
_BRACKET_PREFIX = re.compile(
    rb"(\[" + _STAMP + rb"(?: [A-Z_]{2,12}\d{1,6}){0,8}\] )"
    rb"(?:\[[\w.:-]{1,64}\] ){0,2}?\[" + _LEVEL + rb" {0,4}\](?: \[[\w.:-]{1,128}\])?:? {0,4}(?:- )?"
)


class PythonLogging:
    """Takes a program's own logging prefix off."""

    def __init__(self) -> None:
        self._stamps = StampReader()

    def unwrap(self, line: Envelope) -> bool:
        """Take stamp, name and level off; of the form in brackets only name and level."""
        if match := _PREFIX.match(line.text):
            stamp = self._stamps.read(match[1])
            line.stamp(stamp.at, Clock.DATED, None)
            line.text = line.text[match.end() :]
            return True
        if match := _BRACKET_PREFIX.match(line.text):
            line.text = match[1] + line.text[match.end() :]
            return True
        return False
