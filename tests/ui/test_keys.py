"""Keys that users choose: what can be had, what is told, and what the screen then shows and does."""

from __future__ import annotations

import pytest

from specmon.ui.app import SpecmonApp
from specmon.ui.dashboard import Dashboard
from specmon.ui.help import HelpScreen
from specmon.ui.keys import checked_keys, key_actions, parse_keys, shown_keys
from specmon.ui.layout import Focus
from specmon.ui.logscreen import LogScreen
from specmon.ui.panels.bars import KeyBar
from tests.ui.feeds import StillFeed
from tests.ui.pictures import diverged


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("L", "L"),
        ("?", "question_mark"),
        (",", "comma"),
        ("ctrl+l", "ctrl+l"),
        ("CTRL+L", "ctrl+l"),
        ("f5", "f5"),
        ("home", "home"),
        ("shift+right", "shift+right"),
        ("L, f5", "L,f5"),
        ("question_mark", "question_mark"),
        ("hyper+l", None),
        ("nokey", None),
        ("", None),
        ("L,,", None),
        ("\t", None),
    ],
)
def test_keys_are_characters_or_names(text: str, keys: str | None) -> None:
    assert parse_keys(text) == keys


def test_every_key_that_comes_with_specmon_can_be_written_as_it_is_listed() -> None:
    wanted = {action.id: action.keys for action in key_actions()}
    assert checked_keys(wanted) == (wanted, [])


def test_no_two_actions_of_a_screen_have_one_key() -> None:
    assert checked_keys({}) == ({}, [])
    ids = [action.id for action in key_actions()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("wanted", "chosen", "said"),
    [
        ({"view.log": "L"}, {"view.log": "L"}, []),
        ({"view.log": "t"}, {}, ["view.log: t belongs to view.theme"]),
        ({"view.log": "t", "view.theme": "l"}, {"view.log": "t", "view.theme": "l"}, []),  # swapped
        ({"view.log": "t", "view.theme": "T"}, {"view.log": "t", "view.theme": "T"}, []),
        ({"view.log": "X", "view.theme": "X"}, {"view.log": "X"}, ["view.theme: X belongs to view.log"]),
        ({"view.lag": "X", "view.log": "L"}, {"view.log": "L"}, ["'view.lag' is no action"]),
        ({"view.log": "hyper+l"}, {}, ["'hyper+l' is no key"]),
        ({"log.follow": "l"}, {"log.follow": "l"}, []),  # the log pane has keys of its own
    ],
)
def test_what_cannot_be_had_is_left_out_and_told(
    wanted: dict[str, str], chosen: dict[str, str], said: list[str]
) -> None:
    found, faults = checked_keys(wanted)
    assert found == chosen
    assert len(faults) == len(said)
    for part, fault in zip(said, faults, strict=True):
        assert part in fault


@pytest.mark.parametrize(
    ("default", "own", "shown"),
    [
        ("l  /", {}, "l  /"),
        ("l  /", {"view.log": "L"}, "L"),
        ("l  /", {"view.theme": "T"}, "l  /"),
        ("←→", {"replay.forward": "ctrl+f"}, "← ^f"),
        ("+ -", {"replay.faster": "F,G"}, "F G -"),
        ("esc", {"view.overview": "backspace"}, "⌫"),
        ("^p", {"view.log": "L"}, "^p"),
    ],
)
def test_rows_show_the_users_keys(default: str, own: dict[str, str], shown: str) -> None:
    assert shown_keys(default, own) == shown


async def test_chosen_key_works_and_is_shown_and_the_old_one_is_free() -> None:
    app = SpecmonApp(StillFeed(diverged()), keys={"view.log": "L", "view.theme": "t, f5"})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        dashboard = app.query_one(Dashboard)
        bar = "\n".join(row.plain for row in app.query_one(KeyBar).rows(150, 1))
        assert "L log" in bar
        assert "t f5 theme" in bar
        await pilot.press("l")
        assert str(dashboard.focus_on) == str(Focus.OVERVIEW)
        assert not isinstance(app.screen, LogScreen)
        await pilot.press("L")
        assert isinstance(app.screen, LogScreen)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        page = app.screen._page(76).plain
        assert "\n  L             the log of all servers" in page
        assert not app._notifications


async def test_keys_that_cannot_be_had_are_one_notification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SpecmonApp, "NOTIFICATION_TIMEOUT", 3600)  # a slow machine must not outlive it
    app = SpecmonApp(StillFeed(diverged()), keys={"view.log": "t", "view.lag": "X", "view.picture": "P"})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        (told,) = app._notifications
        assert told.message.startswith("Keys left out: ")
        assert told.message.count("\n") == 1
        before = app.theme
        await pilot.press("t")
        assert app.theme != before
        await pilot.press("l")
        assert isinstance(app.screen, LogScreen)


async def test_ctrl_c_still_quits_when_every_other_key_is_another() -> None:
    letters = iter("abcdefghijkmnopruvwxyzABCDEFGHIJKMNOPQRSTUVWXYZ")
    keys = {each.id: next(letters) for each in key_actions() if each.group == "SpecmonApp"}
    del keys["app.interrupt"]
    app = SpecmonApp(StillFeed(diverged()), keys=keys)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert app.return_code == 130
