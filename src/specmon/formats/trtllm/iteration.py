"""One row of the iteration log, read by the names of its fields: their order and their punctuation moved.

    … [TRT-LLM] [I] iter = 198, global_rank = 0, rank = 0, currank_total_requests = 0/0, elapsed_time = 0.005162129s,
      timestamp = 2025-04-30 09:56:49, num_scheduled_requests: 10, states = {'num_ctx_requests': 0, …}     April 2025
    … host_step_time = 7.41ms, prev_device_step_time = N/A, timestamp = …                                   mid 2025
    … num_scheduled_requests = 16, kv_cache_util = 0.125, currank_total_requests = 1/8, host_step_time = …   May 2026

`num_generation_tokens` counts padding and drafts, so it is no number of requests and no number of tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from specmon.events import MISSING

MARK = rb"\biter = \d{1,15}, "

_FIELD = re.compile(
    rb"(?:^|[\s,{'])(iter|global_rank|num_scheduled_requests|kv_cache_util|currank_total_requests|elapsed_time"
    rb"|host_step_time|prev_device_step_time|timestamp|num_ctx_requests|num_ctx_tokens|num_generation_tokens)"
    rb"'?(?: = |: )([^,{}\n]{1,64})(?=[,}\n]|$)"
)
_NUMBER = re.compile(rb"\d{1,15}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?")
_DURATION = re.compile(rb"(\d{1,15}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?) ?(ms|s|us)")
_LONGEST_ROW = 8192


@dataclass(frozen=True, slots=True)
class Row:
    """What one row says; None and NaN: not in it."""

    iteration: int
    rank: int
    scheduled: int | None  # requests in the batch
    context_requests: int
    context_tokens: int
    generation_tokens: int | None
    host_ms: float  # of this step, by the host's clock
    device_ms: float  # of the step BEFORE
    kv_used: float
    mine: int | None  # requests that this rank has fetched so far
    all: int | None  # and all ranks
    timestamp: bytes
    fields: int  # how many of them there are: of two rows for one step the fuller one counts

    @property
    def is_whole(self) -> bool:
        """It has what a sample needs."""
        return self.scheduled is not None and self.generation_tokens is not None

    @property
    def is_decoding(self) -> bool:
        """Requests that generate are in the batch."""
        return bool(self.scheduled and self.generation_tokens)


def read_row(text: bytes) -> Row | None:
    """Read the row that begins at the start of `text` (at `iter = `)."""
    fields: dict[bytes, bytes] = {}
    for name, value in _FIELD.findall(text[:_LONGEST_ROW]):
        fields.setdefault(name, value.strip())
    iteration = _count(fields, b"iter")
    if iteration is None:
        return None
    mine, _, total = fields.get(b"currank_total_requests", b"").partition(b"/")
    return Row(
        iteration=iteration,
        rank=_count(fields, b"global_rank") or 0,
        scheduled=_count(fields, b"num_scheduled_requests"),
        context_requests=_count(fields, b"num_ctx_requests") or 0,
        context_tokens=_count(fields, b"num_ctx_tokens") or 0,
        generation_tokens=_count(fields, b"num_generation_tokens"),
        host_ms=_milliseconds(fields.get(b"host_step_time", fields.get(b"elapsed_time", b""))),
        device_ms=_milliseconds(fields.get(b"prev_device_step_time", b"")),
        kv_used=_number(fields.get(b"kv_cache_util", b"")),
        mine=int(mine) if mine.isdigit() else None,
        all=int(total) if total.isdigit() else None,
        timestamp=fields.get(b"timestamp", b""),
        fields=len(fields),
    )


def _count(fields: dict[bytes, bytes], name: bytes) -> int | None:
    text = fields.get(name, b"")
    return int(text) if text.isdigit() and len(text) < 16 else None


def _number(text: bytes) -> float:
    return float(text) if _NUMBER.fullmatch(text) else MISSING


def _milliseconds(text: bytes) -> float:
    """A duration with its unit; NaN for `N/A`, for none, and for one without a unit."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return MISSING
    return float(match[1]) * {b"ms": 1.0, b"s": 1000.0, b"us": 0.001}[match[2]]
