"""A question on the screen: who asks, what is shown, and where the answer goes."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input

from specmon.ui.app import SpecmonApp
from specmon.ui.ask import AskScreen

from . import pictures
from .feeds import StillFeed
from .frames import text
from .test_screen import HOSTILE


async def until_asked(app: SpecmonApp) -> AskScreen:
    for _ in range(200):
        if isinstance(app.screen, AskScreen) and isinstance(app.focused, Input):
            return app.screen
        await asyncio.sleep(0.01)
    raise AssertionError("nobody was asked")


@pytest.mark.parametrize("is_echoed", [True, False])
async def test_answer_goes_to_whoever_asked_and_a_secret_is_not_shown(is_echoed: bool) -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.ask("gpu01", "Password for gpu01:", is_echoed))
        await until_asked(app)
        await pilot.press(*"q sesame")  # q is a letter here
        await pilot.pause()
        shown = text(app)
        assert "Password for gpu01:" in shown
        assert ("sesame" in shown) is is_echoed
        await pilot.press("enter")
        assert await asking == "q sesame"
        await pilot.pause()
        assert not isinstance(app.screen, AskScreen)


async def test_escape_is_no_answer() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(80, 24)) as pilot:
        asking = asyncio.create_task(app.ask("gpu01", "Code:", True))
        await until_asked(app)
        await pilot.press("x", "escape")
        assert await asking is None


async def test_words_of_a_host_cannot_steer_the_screen() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.ask(HOSTILE, f"{HOSTILE}\nsecond line", False))
        await until_asked(app)
        await pilot.pause()
        shown = text(app)
        assert "[bold]loud^G" in shown
        assert "second line" in shown
        assert "\x1b[2J" not in shown
        await pilot.press("enter")
        assert await asking == ""


async def test_question_that_nobody_waits_for_any_more_goes_away() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(80, 24)) as pilot:
        asking = asyncio.create_task(app.ask("gpu01", "Code:", True))
        await until_asked(app)
        asking.cancel()
        for _ in range(50):
            await pilot.pause()
            if not isinstance(app.screen, AskScreen):
                break
        assert not isinstance(app.screen, AskScreen)
        await pilot.press("space")  # the keys of the dashboard work again
        await pilot.pause()


async def test_two_hosts_are_asked_about_one_after_the_other() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(80, 24)) as pilot:
        first = asyncio.create_task(app.ask("gpu01", "Code:", True))
        await until_asked(app)
        second = asyncio.create_task(app.ask("gpu02", "Code:", True))
        await pilot.pause()
        await pilot.pause()
        await pilot.press("b", "enter")  # the newest lies on top
        assert await second == "b"
        await until_asked(app)
        await pilot.press("a", "enter")
        assert await first == "a"


async def test_figures_go_on_behind_a_question() -> None:
    feed = StillFeed(pictures.healthy())
    app = SpecmonApp(feed, interval_s=0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.ask("gpu01", "Code:", True))
        screen = await until_asked(app)
        feed.show(pictures.diverged())
        await pilot.pause()
        assert app.screen is screen
        await pilot.press("enter")
        await asking
        for _ in range(500):
            await pilot.pause()
            if "BASELINE NOT TRUSTED" in text(app):
                break
            await asyncio.sleep(0.01)
        assert "BASELINE NOT TRUSTED" in text(app)
