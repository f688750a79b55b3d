"""Looks at a server's metrics page while its log is followed."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.feeds.live import CounterLook
from specmon.formats.metricspage import read_series
from specmon.scrape import Scrape
from specmon.sources.machine import Machine
from specmon.sources.metrics_page import ask_metrics


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """The page that a server of one machine serves on its own port."""

    machine: Machine

    async def read(self, host: str | None, port: int, at: float) -> CounterLook:
        """The page now; no page where there is none, with the reason if that is worth a word."""
        answer = await ask_metrics(self.machine, host, port)
        if answer.body is None:
            return CounterLook(None, "" if answer.is_usual else answer.reason)
        page = next(iter(read_series(answer.body.splitlines(keepends=True))), None)
        if isinstance(page, Scrape):
            return CounterLook(Scrape(at, page.samples, page.refused_figures))
        return CounterLook(page)
