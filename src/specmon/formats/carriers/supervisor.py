"""What those say of a server who start and stop it: systemd in the journal, docker compose at its end.

>>> Apr 05 20:02:51 gpu01 systemd[1]: spec.service: Main process exited, code=exited, status=1/FAILURE
>>> Apr 05 20:02:56 gpu01 systemd[1]: spec.service: Scheduled restart job, restart counter is at 1.
>>> Apr 05 20:02:56 gpu01 systemd[1]: Started spec.service - LLM server.
>>> spec-1 exited with code 137
"""

from __future__ import annotations

import re

from specmon.events import Crashed, Exited, LogEvent, ServiceStarted, StopRequested

_ENDED = re.compile(
    rb"(?:Main process exited, code=(exited|killed|dumped), status=(\d{1,3})/|exited with code (\d{1,3}))"
)
# The main process may outlive the child that was killed; the unit does not.
_FAILED = re.compile(rb"\.service: Failed with result '(oom-kill|watchdog|core-dump)'")
_STARTED = re.compile(rb"Started (?!Session )\S")
_STOPPING = re.compile(rb"Stopping \S")
_STOPPED = re.compile(rb"Stopped \S|(?:^|: )Deactivated successfully|Scheduled restart job|: Succeeded\.")
_UNIT = re.compile(rb"(?:^|(?:Started|Stopping|Stopped) )([\w@.\\-]{1,200}?)\.service\b")
_ORDERLY_SIGNALS = (2, 15)
_ORDERLY_CODES = (0, 130, 143)  # 128 + the signal
_LONGEST_DETAIL = 300


def unit_of(text: bytes) -> str | None:
    """The service that a line of systemd is about, None when it does not name it."""
    match = _UNIT.search(text)
    return match[1].decode("utf-8", "replace") if match else None


def read_supervisor(text: bytes, offset: int) -> LogEvent | None:
    """What a supervisor's line means for its server."""
    detail = text.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]
    if match := _ENDED.search(text):
        code = int(match[2] or match[3])
        is_orderly = code in (_ORDERLY_SIGNALS if match[1] in (b"killed", b"dumped") else _ORDERLY_CODES)
        if is_orderly:
            return Exited(offset, detail=detail)
        return Crashed(offset, cause="exit", detail=detail, exit_code=code)
    if _FAILED.search(text):
        return Crashed(offset, cause="death", detail=detail)
    if _STARTED.match(text):
        return ServiceStarted(offset)
    if _STOPPING.match(text):
        return StopRequested(offset, detail=detail)
    if _STOPPED.search(text):
        return Exited(offset, detail=detail)
    return None
