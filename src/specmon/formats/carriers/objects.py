"""One JSON object a line: docker's json-file, journalctl -o json, the forwarders of a cluster.

>>> {"log":"[2026-01-01 10:00:00] Decode batch. …\\n","stream":"stderr","time":"2026-01-01T10:00:00.123456789Z"}
>>> {"MESSAGE":"[2026-01-01 10:00:00] …","_PID":"12","_SYSTEMD_UNIT":"spec.service","__REALTIME_TIMESTAMP":"1767…"}

docker cuts lines at 16 kB: all pieces but the last come without a line feed. journalctl gives a message with
control characters as a list of bytes, and leaves one of more than 4 kB out unless it is called with -a.
>>> {"textPayload":"[2026-01-01 10:00:00 TP0] Decode batch. …","timestamp":"2026-01-01T10:00:00Z"}
>>> {"level":"info","ts":1767261600.1,"msg":"INFO 01-01 10:00:00 [loggers.py:127] Engine 000: …"}

An engine's own JSON records hold other keys, or a message without a record's beginning, and stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import Any  # what a foreign JSON object holds

from specmon.events import Clock
from specmon.formats.carriers.envelope import Envelope, Label
from specmon.formats.carriers.journald import label_process
from specmon.formats.carriers.kubectl import pod_label
from specmon.formats.stamps import STAMP, StampReader

# What an engine's line begins with; some forwarder's stamp may stand in front.
_RECORD = (
    rb"(?:20\d\d-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:?\d\d) )?(?:\[20\d\d-\d\d-\d\d[ T]|\[\d\d/\d\d/20\d\d-"
    rb"|(?:\([A-Z][\w.-]{2,40} pid=\d{1,10}\) )?(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:"
    rb"|\d{1,9}\.\d\d\.\d{3}\.\d{3} [IWED] )"
)
_TEXTS = ("textPayload", "message", "msg", "line", "body", "content")
START = (
    rb"\{[^\n]{0,4096}?(?:\"(?:log|MESSAGE|__REALTIME_TIMESTAMP)\" ?:"
    rb"|\"(?:" + "|".join(_TEXTS).encode() + rb")\" ?: ?\"" + _RECORD + rb")"
)
_KEYS = re.compile(START)
_BEGINS = re.compile(_RECORD.decode())
_TIMES = ("timestamp", "@timestamp", "time", "ts", "receiveTimestamp")
_TIME = re.compile(rb"(" + STAMP + rb")(Z|[+-]\d\d:?\d\d)?")

_LAST_S = 4_102_444_800  # 2100-01-01: what lies behind it is no time of a log


class Objects:
    """Takes a line out of the object that carries it."""

    def __init__(self) -> None:
        self._stamps = StampReader()

    def unwrap(self, line: Envelope) -> bool:
        """Take the message out; False for an object that is none of a carrier's."""
        if _KEYS.match(line.text) is None:
            return False
        try:
            found = json.loads(line.text)
        except (ValueError, RecursionError):
            return False
        if not isinstance(found, dict):
            return False
        text = found.get("log")
        if isinstance(text, str) and ("stream" in found or "time" in found or _BEGINS.match(text)):
            self._docker(line, found, text)
            return True
        if "MESSAGE" in found and ("__REALTIME_TIMESTAMP" in found or "_PID" in found or "_SYSTEMD_UNIT" in found):
            self._journal(line, found, found["MESSAGE"])
            return True
        for key in _TEXTS:
            if isinstance(text := found.get(key), str) and _BEGINS.match(text):
                self._forwarded(line, found, text)
                return True
        return False

    def _forwarded(self, line: Envelope, found: dict[str, Any], text: str) -> None:
        """A forwarder's record around a whole line of the server."""
        line.text = _bytes_of(text)
        for key in _TIMES:
            value = found.get(key)
            if isinstance(value, str) and (match := _TIME.match(value.encode("utf-8", "replace"))):
                stamp = self._stamps.read(match[1], match[2] or b"")
                line.stamp(stamp.at, Clock.DATED, stamp.utc_offset_s)
                break
            if isinstance(value, float | int) and not isinstance(value, bool) and 1e9 < value < _LAST_S:
                line.stamp(float(value), Clock.DATED, 0)
                break
        pod = found.get("kubernetes")
        if isinstance(pod, dict) and isinstance(name := pod.get("pod_name"), str):
            line.name(pod_label(name, str(pod.get("container_name") or "")))

    def _docker(self, line: Envelope, found: dict[str, Any], text: str) -> None:
        line.channel = str(found.get("stream", "")).encode("utf-8", "replace")
        line.is_partial = not text.endswith("\n")
        line.text = _bytes_of(text)
        if match := _TIME.match(str(found.get("time", "")).encode("utf-8", "replace")):
            stamp = self._stamps.read(match[1], match[2] or b"")
            line.stamp(stamp.at, Clock.DATED, stamp.utc_offset_s)
        pod = found.get("kubernetes")
        if isinstance(pod, dict) and isinstance(name := pod.get("pod_name"), str):
            line.is_partial = False  # a forwarder takes the line feed off
            line.name(pod_label(name, str(pod.get("container_name") or "")))

    def _journal(self, line: Envelope, found: dict[str, Any], message: object) -> None:
        line.text = b""
        if isinstance(message, str):
            line.text = _bytes_of(message)
        elif isinstance(message, list) and all(isinstance(part, int) and 0 <= part < 256 for part in message):
            line.text = bytes(message)
        else:
            line.is_hidden = True  # null: left out
        micros = _whole(found.get("__REALTIME_TIMESTAMP"))
        if micros is not None and micros / 1e6 < _LAST_S:
            line.stamp(micros / 1e6, Clock.DATED, 0)
        process = _whole(found.get("_PID"))
        line.is_supervisor = found.get("SYSLOG_IDENTIFIER") == "systemd" and isinstance(found.get("UNIT"), str)
        if line.is_supervisor:
            # What systemd says of a unit names its own process, but belongs to the unit's.
            label_process(line, str(found.get("_HOSTNAME") or ""), "systemd", -1)
            line.text = f"{found['UNIT']}: ".encode() + line.text if b".service" not in line.text else line.text
            return
        unit = found.get("_SYSTEMD_UNIT") or found.get("CONTAINER_NAME") or found.get("SYSLOG_IDENTIFIER")
        if isinstance(unit, str):
            host = str(found.get("_HOSTNAME") or "")
            label_process(line, host, unit.removesuffix(".service"), -1 if process is None else process)
        elif process is not None:
            line.name(Label((), (), f"[{process}]"))


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19 else None


def _bytes_of(text: str) -> bytes:
    return text.removesuffix("\n").removesuffix("\r").encode("utf-8", "replace")
