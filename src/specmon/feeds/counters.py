"""Looks at a server's metrics page while its log is followed."""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from specmon.feeds.live import CounterLook, Seen
from specmon.formats.metricspage import kept_lines, read_series
from specmon.references.fingerprint import Fingerprint
from specmon.scrape import Scrape
from specmon.sources.engines import ENGINES
from specmon.sources.machine import Machine
from specmon.sources.metrics_page import ask_metrics
from specmon.sources.page import Door, Pages
from specmon.sources.page_access import PageAccess
from specmon.sources.version_page import ask_version

_UNSEEN = "environment and GPUs: the server's process was not seen"


class MetricsPage:
    """The pages that a server of one machine serves on its own port."""

    def __init__(self, machine: Machine, access: PageAccess | None = None) -> None:
        self.pages = Pages(machine, access or PageAccess())

    async def read(self, door: Door, at: float) -> CounterLook:
        """The page now; no page where there is none, with the reason if that is worth a word."""
        answer = await ask_metrics(self.pages, door)
        if answer.body is None:
            return CounterLook(None, "" if answer.is_usual else answer.reason)
        page = next(iter(read_series(answer.body.splitlines(keepends=True))), None)
        if isinstance(page, Scrape):
            return CounterLook(Scrape(at, page.samples, page.refused_figures), kept=kept_lines(answer.body))
        return CounterLook(page)

    async def conditions(self, engine: str, door: Door, model: str | None) -> Seen:
        """What the server says of itself: its version, and SGLang its launch flags. Another model is another server."""
        known = next((each for each in ENGINES if each.name == engine), None)
        if known is None:
            return Seen(None)
        answer = await ask_version(self.pages, known, door)
        if answer.version is None:
            return Seen(None, "" if answer.is_closed else f"engine version: {answer.reason}")
        if model is not None and answer.model not in (None, model):
            return Seen(None, f"engine version: port {door.port} answers for another model")
        flags = None if answer.flags is None else cast(dict[str, JsonValue], dict(answer.flags))
        return Seen(Fingerprint(flags=flags, versions={"engine": answer.version}, unread=(_UNSEEN,)))
