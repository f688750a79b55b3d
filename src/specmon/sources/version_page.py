"""Asking a running server itself which version it is, through the machine that it runs on."""

from __future__ import annotations

import json
from dataclasses import dataclass

from specmon.errors import SpecmonError
from specmon.secrets import is_secret_value
from specmon.sources.engines import Engine
from specmon.sources.http import HttpAnswer, get, is_whole, read_answer
from specmon.sources.machine import Machine, PortClosed

_LIMIT_S = 5.0
_LIMIT_BYTES = 4 << 20
_LONGEST_VERSION = 80
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1", "localhost": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """What came of the question."""

    version: str | None
    reason: str = ""  # why there is no version
    model: str | None = None  # the model that the server says it serves
    is_closed: bool = False  # nobody listens: the server is still loading, or gone


async def ask_version(machine: Machine, engine: Engine, host: str | None, port: int) -> VersionAnswer:
    """Ask for the version page. Every fault is an answer with its reason; no key is ever sent."""
    address = _ANYWHERE.get(host or "", host or "")
    answer = VersionAnswer(None, "it has no version page")
    for page in engine.version_pages:
        where = f"{page} on port {port}"
        try:
            data = await machine.exchange(
                address,
                port,
                get(page, address, port),
                is_whole=is_whole,
                limit_bytes=_LIMIT_BYTES,
                timeout_s=_LIMIT_S,
            )
        except PortClosed:
            return VersionAnswer(None, f"nobody listens on port {port} yet", is_closed=True)
        except SpecmonError as error:
            return VersionAnswer(None, f"{where} gave no answer: {error}")
        answer = _read(engine, where, data)
        if answer.reason != _not_there(where):
            break
    return answer


def _read(engine: Engine, where: str, data: bytes) -> VersionAnswer:
    http = read_answer(data)
    if http is None:
        return VersionAnswer(None, f"{where} does not speak HTTP" + ("" if data else " (TLS perhaps)"))
    if http.status in (401, 403):
        return VersionAnswer(None, f"{where} wants an API key, and specmon keeps none")
    if http.status == 404:
        return VersionAnswer(None, _not_there(where))
    if http.status != 200:
        return VersionAnswer(None, f"{where} answers with status {http.status}")
    return _read_page(engine, where, http)


def _read_page(engine: Engine, where: str, http: HttpAnswer) -> VersionAnswer:
    try:
        page = json.loads(http.body)
    except (ValueError, RecursionError):
        return VersionAnswer(None, f"{where} is no JSON")
    version = page.get(engine.version_key) if isinstance(page, dict) else None
    # What is not a version in form is not taken: the page is foreign text.
    if not isinstance(version, str) or not _is_version(version):
        return VersionAnswer(None, f"{where} names no version")
    model = page.get("model_path")
    return VersionAnswer(version, model=model if isinstance(model, str) else None)


def _is_version(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_VERSION and text.isprintable() and " " not in text and not is_secret_value(text)


def _not_there(where: str) -> str:
    return f"{where} is not there"
