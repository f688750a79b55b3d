"""A choice on the screen: how it is made, what leaves things as they are, and whose words are shown."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import OptionList

from specmon.ui.app import SpecmonApp
from specmon.ui.choose import Candidate, ChooseScreen

from . import pictures
from .feeds import StillFeed
from .frames import text
from .test_screen import HOSTILE

TWO = [Candidate("1", "gpu01:/a.log", "sglang · port 30000"), Candidate("2", "gpu01:/b.log", "sglang · port 30001")]


async def until_shown(app: SpecmonApp) -> OptionList:
    for _ in range(500):
        if isinstance(app.screen, ChooseScreen) and isinstance(app.focused, OptionList):
            return app.focused
        await asyncio.sleep(0.01)
    raise AssertionError("nobody was asked")


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["enter"], "1"),
        (["down", "enter"], "2"),
        (["down", "up", "enter"], "1"),
        (["2"], "2"),
        (["9", "1"], "1"),  # there is no ninth
        (["escape"], None),
        (["down", "escape"], None),
    ],
)
async def test_choice_is_made_with_keys(keys: list[str], answer: str | None) -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.choose("which baseline server", "2 baseline servers run.", TWO))
        await until_shown(app)
        await pilot.pause()
        shown = text(app)
        assert "which baseline server" in shown
        assert "1 gpu01:/a.log" in shown
        assert "sglang · port 30001" in shown
        await pilot.press(*keys)
        assert await asking == answer
        await pilot.pause()
        assert not isinstance(app.screen, ChooseScreen)


async def test_choice_is_made_with_a_click() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.choose("t", "x", TWO))
        choices = await until_shown(app)
        await pilot.pause()
        await pilot.click(choices, offset=(3, 3))  # two rows each
        assert await asking == "2"


async def test_question_from_before_the_screen_waits_for_it() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    asking = asyncio.create_task(app.choose("t", "x", TWO))
    await asyncio.sleep(0)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(app)
        await pilot.press("enter")
        assert await asking == "1"


async def test_names_cannot_steer_the_screen() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        asking = asyncio.create_task(app.choose(HOSTILE, HOSTILE, [Candidate("1", HOSTILE, HOSTILE)]))
        await until_shown(app)
        await pilot.pause()
        shown = text(app)
        assert shown.count("[bold]loud^G") == 4
        assert "\x1b[2J" not in shown
        await pilot.press("enter")
        assert await asking == "1"


async def test_many_candidates_fit_a_small_terminal() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    many = [Candidate(f"{number}", f"gpu{number:02}:/a.log", "x") for number in range(64)]
    async with app.run_test(size=(40, 12)) as pilot:
        asking = asyncio.create_task(app.choose("t", "x", many))
        await until_shown(app)
        await pilot.press("end", "enter")
        assert await asking == "63"
