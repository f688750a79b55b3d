"""Splits a line of llama.cpp into its time, the router's child that wrote it, and its body.

Three generations of prefixes, and none at all:

    0.06.563.693 I slot print_timing: id  3 | task 1 | …              since early 2026: minutes.seconds.ms.us of uptime
    [53409] 15.44.253.775 I slot print_timing: …                      the same behind a router's child port
    slot print_timing: id  0 | task 0 | …                             Sep 2024 to early 2026: no time
    INFO [  print_timings] generation eval time = … | tid="1" timestamp=1712345678 id_slot=0 id_task=5
    {"tid":"1","timestamp":1712345678,"level":"INFO","function":"print_timings","msg":"…","id_slot":0,"id_task":5}
    {"type":"log","time":5334002,"level":"info","msg":"slot print_timing: …\\n"}   --log-jsonl: us of uptime
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from specmon.events import MISSING, Clock

UPTIME = rb"\d{1,7}\.[0-5]\d\.\d{3}\.\d{3} [IWEDT] "
CHILD = rb"\[\d{2,6}\] "

_PREFIX = re.compile(rb"(?:\[(\d{2,6})\] )?(?:(\d{1,7})\.([0-5]\d)\.(\d{3})\.(\d{3}) ([IWEDT]) )?")
_STYLE = re.compile(rb"\x1b\[[\d;?]{0,16}[A-Za-z]")
_KEY_VALUE = re.compile(rb"(?:INFO|WARN|ERR|VERB) \[ *(\w{1,64})\] ([^|\n]{0,4096}?) *\| (.{0,4096})")
_EPOCH = re.compile(rb"\btimestamp=(\d{9,11})\b")
_SLOT = re.compile(rb"\bid_slot=(\d{1,6})\b|\bslot_id=(\d{1,6})\b")
_TASK = re.compile(rb"\bid_task=(-?\d{1,12})\b|\btask_id=(-?\d{1,12})\b")
_LONGEST_JSON = 65_536  # bytes of a line that are tried as JSON


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its prefix."""

    body: bytes
    at: float = MISSING  # s: uptime, or since 1970 in the oldest form
    clock: Clock = Clock.NONE
    child: int = -1  # a router's child
    is_error: bool = False
    is_old: bool = False  # of the form before Sep 2024, with fields behind the message
    slot: int | None = None  # from those fields
    task: int | None = None


def read_line(raw: bytes) -> Line:
    """Split a line; a line without any known prefix is all body."""
    if b"\x1b" in raw:
        raw = _STYLE.sub(b"", raw)
    raw = raw.rstrip(b"\r ")
    match = _PREFIX.match(raw)
    assert match is not None  # every part of it is optional
    child = int(match[1]) if match[1] else -1
    body = raw[match.end() :]
    if match[2] is not None:
        at = int(match[2]) * 60 + int(match[3]) + int(match[4]) / 1e3 + int(match[5]) / 1e6
        return Line(body, at, Clock.UPTIME, child, match[6] == b"E")
    if body[:1] == b"{":
        return _read_json(body, child)
    if body[:4] in (b"INFO", b"WARN", b"ERR ", b"VERB") and (old := _KEY_VALUE.match(body)):
        fields = old[3]
        stamp = _EPOCH.search(fields)
        return Line(
            b"%b: %b" % (old[1], old[2]),
            float(stamp[1]) if stamp else MISSING,
            Clock.DATED if stamp else Clock.NONE,
            child,
            body[:3] == b"ERR",
            is_old=True,
            slot=_number(_SLOT, fields),
            task=_number(_TASK, fields),
        )
    return Line(body, child=child)


def _read_json(body: bytes, child: int) -> Line:
    if len(body) > _LONGEST_JSON:
        return Line(body, child=child)
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return Line(body, child=child)
    text = record.get("msg") if isinstance(record, dict) else None
    if not isinstance(text, str):
        return Line(b"", child=child)
    # A record may hold several lines; what spans lines here also does so in the plain form.
    message = text.rstrip("\n").encode("utf-8", "replace")
    error = str(record.get("level")).lower() in ("err", "error")
    epoch, uptime = record.get("timestamp"), record.get("time")
    if isinstance(epoch, int) and not isinstance(epoch, bool) and 0 < epoch < 1 << 40:
        function = str(record.get("function", "")).encode("utf-8", "replace")
        slot, task = (
            next((value for name in names if isinstance(value := record.get(name), int)), None)
            for names in (("id_slot", "slot_id"), ("id_task", "task_id"))
        )
        return Line(b"%b: %b" % (function, message), float(epoch), Clock.DATED, child, error, True, slot, task)
    inner = _PREFIX.match(message)
    assert inner is not None
    message = message[inner.end() :]
    if isinstance(uptime, int) and not isinstance(uptime, bool) and 0 <= uptime < 1 << 52:
        return Line(message, uptime / 1e6, Clock.UPTIME, child, error)
    return Line(message, child=child, is_error=error)


def _number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    match = pattern.search(text)
    return int(match[match.lastindex or 0]) if match else None
