"""The rare lines of vLLM's log: start, ready, preemption, stop, crash, and a word on statistics that are off."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from specmon.events import (
    Crashed,
    Exited,
    Flushed,
    LaunchContinued,
    Launched,
    LogEvent,
    ProcessStarted,
    Ready,
    Retracted,
    StatisticsOff,
    StopRequested,
)
from specmon.formats.vllm.launch import LaunchHistory, LaunchRecord, read_launch
from specmon.formats.vllm.prefix import Prefix

# Beginnings of the bodies that `Lifecycle.read` knows.
STARTS = (
    rb"vLLM (?:API )?server version |non-default args: \{|args: Namespace\(|Initializing an? (?:V\d )?LLM engine \("
    rb"|Application startup complete|Started server process|Started \d{1,4} API server process|Shutting down"
    rb"|Finished server process|\[shutdown\] |AsyncLLM created with |Disabling stats|EngineCore [a-z]"
    rb"|Engine core (?:proc|initialization)|Engine process failed|WorkerProc [a-z]|Worker proc [\w-]{1,64} died"
    rb"|AsyncLLM output_handler failed|Engine background task failed|Sequence group \S{1,128} is preempted by"
    rb"|Successfully reset prefix cache|KeyboardInterrupt|\^C"
)
_USAGE = re.compile(rb"(?:\bvllm(?: serve)?|api_server\.py|python3? -m vllm[\w.]{0,64}): error: [^\n]{1,300}")
_USAGE_HEAD = re.compile(rb"usage: (?:vllm\b|api_server\.py)")
_CORE = re.compile(r"EngineCore_?(?:DP)?(\d{1,6})$")
_EXIT_CODE = re.compile(rb"Failed core proc\(s\): \{[^}\n]{0,256}?: (-?\d{1,6})")
_LONGEST_DETAIL = 300  # characters


class Lifecycle:
    """Reads rare lines and knows which of them say again what one has said before."""

    def __init__(self) -> None:
        self.launches = LaunchHistory()
        self._crashed: set[str] = set()  # processes of which it is told that they ended
        self._is_ready = False
        self._is_stopping = False

    def read(self, body: bytes, prefix: Prefix, offset: int) -> LogEvent | None:
        """The event that a body tells; None when it tells none, or nothing new."""
        if (record := read_launch(body)) is not None:
            return self._launch(record, prefix, offset)
        for pattern, make in _TABLE:
            if match := pattern.match(body):
                return make(self, match, prefix, offset)
        return None

    def read_usage(self, line: bytes, offset: int) -> tuple[LogEvent | None, bool]:
        """A command line that vLLM could not read: it ends there, with status 2."""
        if match := _USAGE.search(line):
            return self.crash(Crashed(offset, detail=_text(match[0]), exit_code=2), ""), True
        return None, _USAGE_HEAD.match(line) is not None

    def crash(self, event: Crashed, name: str) -> LogEvent | None:
        """A crash, unless it only follows from one that is known."""
        self.launches.end()
        if self._crashed and (name in self._crashed or _CORE.search(name) is None):
            return None
        self._crashed.add(name)
        self._is_ready = False
        return event

    def traceback(self, event: Crashed) -> LogEvent | None:
        """The exception that came out of the main module."""
        if event.detail.startswith("KeyboardInterrupt"):
            return self._stop(event.offset, None, event.detail)
        if event.detail.startswith("SystemExit"):
            return Exited(event.offset, detail=event.detail)
        return self.crash(event, "")

    def _begin(self) -> None:
        """Another life of the server."""
        self._crashed.clear()
        self._is_ready = self._is_stopping = False

    # -- makers ---------------------------------------------------------------------------------------

    def _launch(self, record: LaunchRecord, prefix: Prefix, offset: int) -> LogEvent:
        begins, flags, is_complete = self.launches.add(record, prefix.name)
        place = (offset, _at(prefix), "", _pid(prefix))
        if not begins:
            return LaunchContinued(*place, flags=flags, is_complete=is_complete, version=record.version)
        self._begin()
        return Launched(*place, flags=flags, is_complete=is_complete, version=record.version)

    def _ready(self, _m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        self.launches.serve()
        if self._is_ready:
            return None  # a further API server of the same deployment
        self._is_ready = True
        return Ready(offset, _at(prefix), "", _pid(prefix))

    def _started(self, m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        pid = int(m[1])
        if not self.launches.started(pid):
            return None
        self._begin()
        return ProcessStarted(offset, _at(prefix), "", _pid(prefix), pid)

    def _servers(self, m: re.Match[bytes], _prefix: Prefix, _offset: int) -> LogEvent | None:
        self.launches.servers = max(1, int(m[1]))
        return None

    def _shutdown(self, m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        return self._stop(offset, _at(prefix), _text(m[0]))

    def _stop(self, offset: int, at: float | None, detail: str) -> LogEvent | None:
        self.launches.end()
        if self._is_stopping:
            return None  # each process tells of each step of a stop
        self._is_stopping, self._is_ready = True, False
        return StopRequested(offset, at, detail=detail)

    def _exited(self, m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        self.launches.end()
        self._is_ready = False
        return Exited(offset, _at(prefix), "", _pid(prefix), _text(m[0]))

    def _died(self, m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        code = _EXIT_CODE.search(m[0])
        number = _CORE.search(prefix.name)
        rank = f"Engine {int(number[1]):03d}" if number and "DP" in prefix.name else ""
        event = Crashed(
            offset, _at(prefix), rank, _pid(prefix), "exception", _text(m[0]), int(code[1]) if code else None
        )
        return self.crash(event, prefix.name)

    def _preempted(self, _m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        return Retracted(offset, _at(prefix), "", _pid(prefix), 1)

    def _flushed(self, _m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        return Flushed(offset, _at(prefix), "", _pid(prefix))

    def _statistics_off(self, m: re.Match[bytes], prefix: Prefix, offset: int) -> LogEvent | None:
        return StatisticsOff(offset, _at(prefix), "", _pid(prefix), _text(m[0]))


def _at(prefix: Prefix) -> float | None:
    return None if prefix.at != prefix.at else prefix.at


def _pid(prefix: Prefix) -> int | None:
    return None if prefix.pid < 0 else prefix.pid


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]


_Maker: TypeAlias = "Callable[[Lifecycle, re.Match[bytes], Prefix, int], LogEvent | None]"
_TABLE: tuple[tuple[re.Pattern[bytes], _Maker], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rb"Application startup complete", Lifecycle._ready),
        (rb"Started server process \[(\d{1,10})\]", Lifecycle._started),
        (rb"Started (\d{1,4}) API server process", Lifecycle._servers),
        (rb"Shutting down(?: FastAPI HTTP server)?\.?(?=\s|$)|Finished server process \[\d{1,10}\]", Lifecycle._exited),
        (rb"\[shutdown\] [^\n]{1,256}|KeyboardInterrupt\b|\^C\s*$", Lifecycle._shutdown),
        (rb"AsyncLLM created with [^\n]{0,64}; disabling stats logging[^\n]{0,64}", Lifecycle._statistics_off),
        # The engine core tells of its own end first; the API server then tells that it has noticed.
        (rb"EngineCore (?:failed to start|encountered a fatal error|hit an exception)[^\n]{0,256}", Lifecycle._died),
        (rb"WorkerProc (?:failed to start|hit an exception)[^\n]{0,256}", Lifecycle._died),
        (rb"Worker proc \S{1,64} died unexpectedly[^\n]{0,128}", Lifecycle._died),
        (rb"Engine core proc \S{1,64} died unexpectedly[^\n]{0,128}", Lifecycle._died),
        (rb"Engine core initialization failed[^\n]{0,256}|Engine process failed to start[^\n]{0,256}", Lifecycle._died),
        (rb"AsyncLLM output_handler failed[^\n]{0,128}|Engine background task failed[^\n]{0,128}", Lifecycle._died),
        (rb"Sequence group \S{1,128} is preempted by", Lifecycle._preempted),
        (rb"Successfully reset prefix cache", Lifecycle._flushed),
    )
)
