"""Fetching a running server's metrics page, through the machine that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.sources.page import Door, Pages

_LIMIT_BYTES = (8 << 20) + (1 << 16)  # what the reader of pages takes at most, and a head
_PLAIN = "text/plain; version=0.0.4"


@dataclass(frozen=True, slots=True)
class MetricsAnswer:
    """What came of the question."""

    body: bytes | None
    reason: str = ""  # why there is no page
    is_usual: bool = False  # no fault: the server has no metrics page, or is not up


async def ask_metrics(pages: Pages, door: Door) -> MetricsAnswer:
    """Ask for the metrics page. Every fault is an answer with its reason."""
    answer = await pages.ask(door, "/metrics", limit_bytes=_LIMIT_BYTES, accept=_PLAIN)
    return MetricsAnswer(answer.body, answer.reason, answer.is_closed or answer.is_missing)
