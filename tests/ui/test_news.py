"""What comes after a quiet moment is drawn without waiting for the next beat."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from specmon.ui.app import SpecmonApp

from . import pictures
from .feeds import StillFeed
from .frames import frame


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


async def test_others_have_their_turn_between_two_panels_and_no_frame_shows_half_a_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("specmon.ui.app._SLICE_S", -1.0)  # after every panel
    feed = NewsFeed()
    app = SpecmonApp(feed, interval_s=3600)
    turns: list[bool] = []

    async def take_turns() -> None:
        while True:
            turns.append(app._batch_count > 0)
            await asyncio.sleep(0)

    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        picture = pictures.diverged()
        feed.show(replace(picture, headline=replace(picture.headline, word="ANOTHER WORD")))
        others = asyncio.create_task(take_turns())
        async with asyncio.timeout(60):
            while app._batch_count or not any("ANOTHER WORD" in row for row in frame(app)):
                feed.news.set()
                await asyncio.sleep(0.05)
        others.cancel()
    assert sum(turns) >= 10
