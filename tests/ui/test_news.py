"""What comes after a quiet moment is drawn without waiting for the next beat."""

from __future__ import annotations

import asyncio

from specmon.ui.app import SpecmonApp

from . import pictures
from .feeds import StillFeed


class NewsFeed(StillFeed):
    """A feed that says when there is something new, as a live one does."""

    def __init__(self) -> None:
        super().__init__(pictures.diverged())
        self.news = asyncio.Event()


async def test_news_after_quiet_are_drawn_before_the_next_beat() -> None:
    feed = NewsFeed()
    app = SpecmonApp(feed, interval_s=3600)  # no beat comes in this test
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        drawn = app.snapshot.version
        feed.show(pictures.diverged())
        fresh = feed.picture.version
        assert fresh != drawn
        async with asyncio.timeout(60):
            while app.snapshot.version != fresh:  # until the quiet has lasted long enough
                feed.news.set()
                await asyncio.sleep(0.05)
