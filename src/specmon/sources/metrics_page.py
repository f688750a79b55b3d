"""Fetching a running server's metrics page, through the machine that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.errors import SpecmonError
from specmon.sources.http import get, is_whole, read_answer
from specmon.sources.machine import Machine, PortClosed

_LIMIT_S = 5.0
_LIMIT_BYTES = (8 << 20) + (1 << 16)  # what the reader of pages takes at most, and a head
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1", "localhost": "127.0.0.1"}
_PLAIN = "text/plain; version=0.0.4"


@dataclass(frozen=True, slots=True)
class MetricsAnswer:
    """What came of the question."""

    body: bytes | None
    reason: str = ""  # why there is no page
    is_usual: bool = False  # no fault: the server has no metrics page, or is not up


async def ask_metrics(machine: Machine, host: str | None, port: int) -> MetricsAnswer:
    """Ask for the metrics page. Every fault is an answer with its reason; no key is ever sent."""
    address = _ANYWHERE.get(host or "", host or "")
    where = f"/metrics on port {port}"
    try:
        data = await machine.exchange(
            address,
            port,
            get("/metrics", address, port, accept=_PLAIN),
            is_whole=is_whole,
            limit_bytes=_LIMIT_BYTES,
            timeout_s=_LIMIT_S,
        )
    except PortClosed:
        return MetricsAnswer(None, f"nobody listens on port {port} yet", is_usual=True)
    except SpecmonError as error:
        return MetricsAnswer(None, f"{where} gave no answer: {error}")
    http = read_answer(data)
    if http is None:
        return MetricsAnswer(None, f"{where} does not speak HTTP" + ("" if data else " (TLS perhaps)"))
    if http.status in (401, 403):
        return MetricsAnswer(None, f"{where} wants an API key, and specmon keeps none")
    if http.status in (404, 501):  # 501: llama.cpp without --metrics
        return MetricsAnswer(None, f"{where} is not there", is_usual=True)
    if http.status != 200:
        return MetricsAnswer(None, f"{where} answers with status {http.status}")
    return MetricsAnswer(http.body)
