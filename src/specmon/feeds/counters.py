"""Looks at a server's metrics page while its log is followed."""

from __future__ import annotations

from specmon.feeds.live import CounterLook
from specmon.formats.metricspage import kept_lines, read_series
from specmon.scrape import Scrape
from specmon.sources.machine import Machine
from specmon.sources.metrics_page import ask_metrics
from specmon.sources.page import Door, Pages
from specmon.sources.page_access import PageAccess


class MetricsPage:
    """The page that a server of one machine serves on its own port."""

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
