"""Asking a running server itself which version it is, through the machine that it runs on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from specmon.secrets import Json, is_secret_value
from specmon.sources.engines import SGLANG, Engine
from specmon.sources.page import Door, Pages

_LIMIT_BYTES = 4 << 20
_LONGEST_VERSION = 80
_MOST_FLAGS = 2000
_FLAG = re.compile(r"[a-z][a-z0-9_]{0,127}")
# What SGLang's page says besides the launch flags: the state, and facts that follow from them.
_NO_FLAGS = frozenset(
    {
        *("version", "status", "internal_states", "kv_events", "max_total_num_tokens", "max_req_input_len"),
        *("last_gen_throughput", "avg_spec_accept_length", "memory_usage", "load", "step_time_dict"),
        "effective_max_running_requests_per_dp",
    }
)


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """What came of the question."""

    version: str | None
    reason: str = ""  # why there is no version
    model: str | None = None  # the model that the server says it serves
    is_closed: bool = False  # nobody listens: the server is still loading, or gone
    flags: Mapping[str, Json] | None = field(default=None, compare=False)  # where the page lists them; secrets and all


async def ask_version(pages: Pages, engine: Engine, door: Door) -> VersionAnswer:
    """Ask for the version page. Every fault is an answer with its reason."""
    found = VersionAnswer(None, "it has no version page")
    for page in engine.version_pages:
        answer = await pages.ask(door, page, limit_bytes=_LIMIT_BYTES)
        if answer.body is not None:
            return _read_page(engine, f"{page} on port {door.port}", answer.body)
        found = VersionAnswer(None, answer.reason, is_closed=answer.is_closed)
        if not answer.is_missing:
            break
    return found


def _read_page(engine: Engine, where: str, body: bytes) -> VersionAnswer:
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        return VersionAnswer(None, f"{where} is no JSON")
    version = page.get(engine.version_key) if isinstance(page, dict) else None
    # What is not a version in form is not taken: the page is foreign text.
    if not isinstance(version, str) or not _is_version(version):
        return VersionAnswer(None, f"{where} names no version")
    model = page.get("model_path")
    flags = None
    if engine is SGLANG:
        named = {name: value for name, value in page.items() if _FLAG.fullmatch(name) and name not in _NO_FLAGS}
        flags = dict(islice(named.items(), _MOST_FLAGS))
    return VersionAnswer(version, model=model if isinstance(model, str) else None, flags=flags)


def _is_version(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_VERSION and text.isprintable() and " " not in text and not is_secret_value(text)
