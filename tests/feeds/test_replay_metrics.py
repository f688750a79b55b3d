"""Looks at a metrics page come when they were made, and again after going back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from specmon.commands.metrics import clock_shift, metrics_beside, pages_of
from specmon.feeds.replay import Look, ReplayFeed, ReplayLog
from specmon.feeds.timeline import timeline_of
from specmon.monitor.session import Session
from specmon.scrape import PageRefused

LOG = Path(__file__).parents[1] / "data" / "metrics" / "sglang-0.5.16-baseline-both.log"


class Hand:
    """A clock that stands still, so that only a seek moves the replay."""

    def clock(self) -> float:
        return 100.0

    async def sleep(self, _: float) -> None:
        await asyncio.sleep(0)

    async def turn(self) -> None:
        for _ in range(300):  # enough rounds of the loop for the longest advance of this test
            await asyncio.sleep(0)


@asynccontextmanager
async def running(feed: ReplayFeed) -> AsyncIterator[None]:
    player = asyncio.ensure_future(feed.run())
    try:
        yield
    finally:
        player.cancel()
        await asyncio.gather(player, return_exceptions=True)


async def test_looks_follow_the_clock_of_the_replay_both_ways() -> None:
    def new_session() -> Session:
        session = Session(mode="replay")
        session.add("1", LOG.name)
        return session

    def tokens() -> float:
        life = feed.session.server("1").life
        totals = None if life is None else life.counters.totals
        return (totals and totals.tokens) or 0

    looks = tuple(Look(page.at, page) for page in pages_of(metrics_beside(LOG)) if page.at is not None)
    hand = Hand()
    log = ReplayLog("1", LOG, timeline_of(LOG), looks=looks)
    feed = ReplayFeed(new_session, [log], speed=1.0, clock=hand.clock, sleep=hand.sleep)
    async with running(feed):
        feed.seek(looks[5].at)
        await hand.turn()
        early = tokens()
        assert 0 < early < 5000
        feed.seek(looks[-1].at + 3600)
        await hand.turn()
        assert tokens() == 41844
        life = feed.session.server("1").life
        assert life is not None
        assert life.phases is not None
        assert life.phases.source == "metrics"
        feed.seek(looks[5].at)
        await hand.turn()
        assert tokens() == early


def test_looks_are_put_on_the_clock_of_a_log_in_another_zone() -> None:
    pages = [PageRefused(1000.0 + at, "none") for at in (0, 10, 20)]
    assert clock_shift(pages, 1005.0, 2000.0) == 0
    assert clock_shift(pages, 1005.0 + 5.5 * 3600, 1015.0 + 5.5 * 3600) == 5.5 * 3600
    assert clock_shift(pages, 990.0 - 8 * 3600, 1015.0 - 8 * 3600) == -8 * 3600
    assert clock_shift(pages, None, None) == 0
    assert clock_shift([], 1.0, 2.0) == 0


def test_series_beside_a_log_is_found_whatever_packs_the_log(tmp_path: Path) -> None:
    (tmp_path / "base.metrics").touch()
    (tmp_path / "server.metrics").touch()  # the name that a capture directory has
    for log, series in (("base.log", "base"), ("base.log.xz", "base"), ("server.log", "server"), ("other.log", None)):
        found = [path.name.split(".")[0] for path in metrics_beside(tmp_path / log)]
        assert found == ([series] if series else [])
