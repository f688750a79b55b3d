"""The rare lines of SGLang's log: start, graphs, ready, retraction, flush, stop, crash.

Every pattern has the beginning of a body in front, which is how the parser finds the line at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from specmon.events import (
    Crashed,
    Exited,
    Flushed,
    GraphCaptured,
    LogEvent,
    ProcessStarted,
    Ready,
    Retracted,
    StopRequested,
)
from specmon.formats.sglang.prefix import Prefix

# Beginnings of the bodies that `read_event` knows. INFO lines are uvicorn's.
STARTS = (
    rb"The server is fired up|INFO: {1,8}(?:Started server process|Finished server process|Shutting down)"
    rb"|(?:Testing retraction\. )?(?:KV cache pool is full|Decode out of memory happened)"
    rb"|Cache flushed successfully|[A-Z][A-Za-z]{2,40} hit an exception"
    rb"|(?:[A-Z][A-Za-z]{2,40} w|W)atchdog timeout \(self|Subprocess [\w-]{1,64} \(pid=\d{1,10}\) crashed"
    rb"|SIG[A-Z]{3,6} received|Received sig[a-z]{3,6}|Rank \d{1,5} scheduler is dead|Initialization failed"
    rb"|Scheduler or DataParallelController \d{1,10} terminated|(?:Prefill|Decode) out of memory\. Try"
    rb"|Out of memory even after|Capture [\w ]{0,48}(?:graph|CUDA graph) (?:begin|end)|Gracefully exiting"
    rb"|kill_process_tree called"
)
# Bodies that say nothing but that this is SGLang.
FAMILIAR = (
    rb"Load weight (?:begin|end)|Memory pool end|KV Cache is allocated|max_total_num_tokens=|Init torch distributed"
)

_LONGEST_DETAIL = 300  # characters
_ASKED = (-2, -15)  # exit codes of SIGINT and SIGTERM


def read_event(body: bytes, prefix: Prefix, offset: int) -> LogEvent | None:
    """The event that a body tells, None when it only begins like one."""
    at = None if prefix.at != prefix.at else prefix.at
    process = None if prefix.process < 0 else prefix.process
    for pattern, make in _TABLE:
        if match := pattern.match(body):
            return make(match, offset, at, prefix.rank, process)
    return None


Maker = Callable[["re.Match[bytes]", int, "float | None", str, "int | None"], LogEvent]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]


def _ready(_m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return Ready(offset, at, rank, process)


def _started(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return ProcessStarted(offset, at, rank, process, int(m[1]))


def _retracted(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return Retracted(offset, at, rank, process, int(m[1]) if m[1] else None)


def _flushed(_m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return Flushed(offset, at, rank, process)


def _stop(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return StopRequested(offset, at, rank, process, _text(m[1]))


def _exited(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return Exited(offset, at, rank, process, _text(m[0]))


def _subprocess(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    if int(m[1]) in _ASKED:  # a child tells that it was asked to end, perhaps before the main process does
        return StopRequested(offset, at, rank, process, _text(m[0]))
    return Crashed(offset, at, rank, process, "subprocess", _text(m[0]), int(m[1]))


def _crashed(cause: str) -> Maker:
    def make(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
        return Crashed(offset, at, rank, process, cause, _text(m[0]))

    return make


def _graph(m: re.Match[bytes], offset: int, at: float | None, rank: str, process: int | None) -> LogEvent:
    return GraphCaptured(offset, at, rank, process, graph_stage(_text(m[1])), m[2] == b"end")


def graph_stage(words: str) -> str:
    """Which part of a cycle a capture line means; "" where the release does not say."""
    words = words.lower()
    for sign, stage in (
        ("draft extend", "draft_extend"),
        ("draft", "draft"),
        ("verify", "verify"),
        ("decode", "decode"),
        ("prefill", "prefill"),
        ("piecewise", "prefill"),
    ):
        if sign in words:
            return stage
    return ""


_TABLE: tuple[tuple[re.Pattern[bytes], Maker], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (rb"The server is fired up and ready to roll", _ready),
        (rb"INFO: {1,8}Started server process \[(\d{1,10})\]", _started),
        (rb"INFO: {1,8}Finished server process \[\d{1,10}\]", _exited),
        (rb"INFO: {1,8}Shutting down", _exited),
        (
            rb"(?:Testing retraction\. )?(?:KV cache pool is full\.|Decode out of memory happened\.)"
            rb"[^\n]{0,64}?(?:#retracted_reqs: (\d{1,9})|$)",
            _retracted,
        ),
        (rb"Cache flushed successfully", _flushed),
        (rb"[A-Z][A-Za-z]{2,40} hit an exception", _crashed("exception")),
        # A soft watchdog only tells: the server goes on.
        (
            rb"(?:[A-Z][A-Za-z]{2,40} w|W)atchdog timeout \(self\.watchdog_timeout="
            rb"(?![^\n]{0,64}soft=True)[^\n]{0,64}",
            _crashed("watchdog"),
        ),
        (
            rb"Subprocess [\w-]{1,64} \(pid=\d{1,10}\) crashed with exit code (-?\d{1,6})",
            _subprocess,
        ),
        (rb"Scheduler or DataParallelController \d{1,10} terminated with (-?\d{1,6})", _subprocess),
        (rb"Rank \d{1,5} scheduler is dead", _crashed("subprocess")),
        (rb"Initialization failed[^\n]{0,256}", _crashed("exception")),
        (rb"(?:Prefill|Decode) out of memory\. Try[^\n]{0,128}", _crashed("exception")),
        (rb"Out of memory even after[^\n]{0,128}", _crashed("exception")),
        (rb"(SIG(?:TERM|INT) received)", _stop),
        (rb"(Gracefully exiting)", _stop),
        # A child that failed asks for this. The parser tells whether the failure had a line of its own.
        (rb"(?:SIGQUIT received|Received sigquit from a child process)[^\n]{0,128}", _crashed("signal")),
        (rb"kill_process_tree called: [^\n]{0,64}include_parent=True", _exited),
        (rb"Capture ([\w ]{0,48}?) ?(?:CUDA )?graph (begin|end)", _graph),
    )
)
