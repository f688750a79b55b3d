"""The table of all servers: what it shows at which size, and what its keys and clicks do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from textual.events import MouseScrollDown
from textual.geometry import Offset
from textual.pilot import Pilot

from specmon.monitor.snapshot import Role, Severity, Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.fleet import FleetScreen
from specmon.ui.help import HelpScreen
from specmon.ui.panels.fleet import FleetTable, columns_for, shortened
from specmon.ui.panels.others import Others
from specmon.ui.panels.verdict import VerdictBand

from .conftest import SnapCompare
from .feeds import StillFeed
from .fleets import fleet, row
from .frames import frame, text
from .test_news import NewsFeed

SIZES = [(40, 12), (80, 24), (200, 60)]


async def opened(pilot: Pilot[None]) -> FleetTable:
    await pilot.pause()
    await pilot.press("f")
    await pilot.pause()
    return pilot.app.screen.query_one(FleetTable)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_at_every_size_the_table_fits_and_those_in_need_stand_first(size: tuple[int, int]) -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        shown = frame(app)
        assert len(shown) == size[1]
        assert all(len(line) == size[0] for line in shown)
        assert "64 servers" in shown[0]
        assert "✗ crashed" in shown[2]
        assert "✗ diverged" in shown[3]
        assert "! no link" in shown[4]
        assert "356.4" in shown[3]
        assert "5 min" in shown[2]  # a dead server's numbers carry their age
        assert ":30000" in shown[3]  # what tells two servers of a host apart
        assert "out of memory" in text(app)  # the sentence of the chosen row
        assert "open" in shown[-1]


async def test_a_wide_table_has_every_figure() -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        diverged = frame(app)[3]
        for word in ("gpu11.lab.example:30000", "baseline", "sglang", "serving", "356.4", "−29.2 %", "< 1 s"):
            assert word in diverged


async def test_columns_go_by_their_rank_and_the_speed_stays() -> None:
    heads = [[column.head for column in columns_for(width, 23, 2)] for width in range(30, 200)]
    assert all("tok/s" in each for each in heads)
    assert all(set(narrow) <= set(wide) for narrow, wide in pairwise(heads))
    assert len(heads[-1]) == 10


@pytest.mark.parametrize("width", range(10, 30))
def test_names_that_differ_in_their_port_differ_when_shortened(width: int) -> None:
    one, other = (shortened(f"node-17.cluster.example:3000{port}", width) for port in (0, 1))
    assert one != other
    assert len(one) <= width


@pytest.mark.parametrize(
    ("keys", "put"),
    [
        (["enter"], ("7", Role.BASELINE)),
        (["down", "down", "enter"], ("4", Role.SPECULATIVE)),
        (["down", "s"], ("11", Role.SPECULATIVE)),
        (["down", "down", "b"], ("4", Role.BASELINE)),
        (["end", "enter"], ("64", Role.SPECULATIVE)),
        (["end", "home", "b"], ("7", Role.BASELINE)),
        (["pagedown", "pageup", "enter"], ("7", Role.BASELINE)),
    ],
)
async def test_a_server_is_put_on_a_side_and_the_comparison_is_back(keys: list[str], put: tuple[str, Role]) -> None:
    feed = StillFeed(fleet())
    app = SpecmonApp(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        assert feed.put_calls == [put]
        assert not isinstance(app.screen, FleetScreen)


async def test_a_server_of_unknown_role_goes_to_the_side_that_is_free() -> None:
    stranger = row(1, role=Role.UNKNOWN)
    for others, side in (((), Role.BASELINE), ((row(3, side=Role.BASELINE),), Role.SPECULATIVE)):
        feed = StillFeed(replace(fleet(), fleet=(stranger, *others)))
        async with SpecmonApp(feed).run_test(size=(80, 24)) as pilot:
            await opened(pilot)
            await pilot.press("enter")
            await pilot.pause()
            assert feed.put_calls == [("1", side)]


async def test_a_pair_that_is_opened_ends_the_frozen_picture() -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("space")
        assert "PAUSED" in text(app)
        await opened(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert "PAUSED" not in text(app)


@pytest.mark.parametrize("key", ["escape", "f"])
async def test_leaving_the_table_changes_nothing(key: str) -> None:
    feed = StillFeed(fleet())
    app = SpecmonApp(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert not isinstance(app.screen, FleetScreen)
        assert feed.put_calls == []


async def test_the_chosen_server_stays_chosen_when_its_row_moves_and_when_the_table_comes_again() -> None:
    feed = StillFeed(fleet())
    app = SpecmonApp(feed, interval_s=0.02)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        await pilot.press("down")
        assert table.chosen == "11"
        feed.show(replace(feed.picture, fleet=feed.picture.fleet[::-1]))
        while table.snapshot.fleet[0].key != "64":
            await pilot.pause(0.02)
        assert table.row is not None
        assert table.row.key == "11"
        assert any("diverged" in line for line in frame(app))  # the table scrolled to it
        await pilot.press("escape")
        assert (await opened(pilot)).chosen == "11"


async def test_a_click_chooses_and_a_click_on_the_chosen_row_opens() -> None:
    feed = StillFeed(fleet())
    app = SpecmonApp(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        await pilot.click(FleetTable, offset=Offset(20, 4))
        assert table.chosen == "4"
        assert feed.put_calls == []
        await pilot.click(FleetTable, offset=Offset(20, 4))
        await pilot.pause()
        assert feed.put_calls == [("4", Role.SPECULATIVE)]


async def test_a_click_on_a_key_does_what_the_key_does() -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        keys = frame(app)[-1]
        await pilot.click(FleetTable, offset=Offset(keys.index("esc"), 23))
        await pilot.pause()
        assert not isinstance(app.screen, FleetScreen)


async def test_the_wheel_and_the_help_work_on_the_table() -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        pilot.app.screen.post_message(MouseScrollDown(table, 5, 5, 0, 1, 0, False, False, False))
        await pilot.pause()
        assert table.chosen == "6"
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)


async def test_numbers_of_a_silent_server_are_dim() -> None:
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(120, 40)) as pilot:
        table = await opened(pilot)
        await pilot.press("end")
        await pilot.press("home", "down")
        styles = {}
        for y, figure in ((2, "503.2"), (6, "503.2")):
            found = [segment for segment in table.render_line(y) if figure in segment.text]
            assert found[0].style is not None
            styles[y] = found[0].style
        assert styles[2].dim
        assert not styles[6].dim


async def test_foreign_names_are_shown_and_never_obeyed() -> None:
    hostile = row(
        1, name="[/x] \x1b[2J[@click=app.quit]gone[/]", sentence="[bold]no\x07 data[/", severity=Severity.ALERT
    )
    app = SpecmonApp(StillFeed(replace(fleet(), fleet=(hostile, row(2)))))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        assert "[/x] ␛[2J[@click=app.quit]gone[/]" in text(app)
        assert "[bold]no␇ data[/" in text(app)


async def test_ascii_mode_shows_ascii_only_with_words() -> None:
    app = SpecmonApp(StillFeed(fleet()), ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        # The filter works on what is sent to the terminal, so the painted rows are asked for.
        ascii_filter, ground = app.get_line_filters()[-1], app.screen.background_colors[1]
        painted = [strip.apply_filter(ascii_filter, ground).text for strip in app.screen._compositor.render_strips()]
        assert all(line.isascii() for line in painted)
        assert "FAIL crashed" in painted[2]
        assert "WARN no link" in painted[4]


async def test_only_the_rows_in_view_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: set[str] = set()

    def shorten(name: str, width: int) -> str:
        made.add(name)
        return shortened(name, width)

    monkeypatch.setattr("specmon.ui.panels.fleet.shortened", shorten)
    app = SpecmonApp(StillFeed(fleet()))
    async with app.run_test(size=(80, 12)) as pilot:
        await opened(pilot)
        assert len(made) == 8


async def test_without_servers_the_table_says_so_and_opens_nothing() -> None:
    feed = StillFeed(Snapshot(version=1))
    app = SpecmonApp(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "0 servers" in text(app)
        await pilot.press("down", "enter", "b", "s")
        assert feed.put_calls == []


async def test_the_key_is_offered_where_there_are_more_than_two_servers() -> None:
    for picture, is_offered in ((fleet(), True), (replace(fleet(), fleet=fleet().fleet[:2]), False)):
        app = SpecmonApp(StillFeed(picture))
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert ("f all servers" in text(app)) is is_offered


async def test_a_click_on_the_servers_that_are_not_compared_shows_the_table() -> None:
    picture = fleet()
    assert picture.baseline is not None
    others = tuple(replace(picture.baseline, key=f"o{number}", name=f"o{number}") for number in range(9))
    app = SpecmonApp(StillFeed(replace(picture, others=others)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "and 7 more that are not compared · f shows all" in text(app)
        await pilot.click(Others)
        await pilot.pause()
        assert isinstance(app.screen, FleetScreen)


async def _press_f(pilot: Pilot[None]) -> None:
    await opened(pilot)


def test_fleet_screen(picture_matches: SnapCompare) -> None:
    app = SpecmonApp(StillFeed(fleet()), theme="specmon-dark")
    assert picture_matches(app, terminal_size=(120, 40), run_before=_press_f)


@pytest.mark.parametrize("key", ["escape", "d"])
async def test_panels_behind_the_table_rest_and_are_up_to_date_when_it_goes(key: str) -> None:
    feed = NewsFeed()
    feed.picture = fleet()
    app = SpecmonApp(feed, interval_s=3600)  # no beat comes in this test
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        before = feed.picture.version
        feed.show(replace(feed.picture, headline=replace(feed.picture.headline, word="ANOTHER WORD")))
        async with asyncio.timeout(60):
            while app.snapshot.version == before:  # until the quiet has lasted long enough
                feed.news.set()
                await asyncio.sleep(0.05)
        assert app.main.query_one(VerdictBand).snapshot.version == before
        await pilot.press(key)
        await pilot.pause()
        assert "ANOTHER WORD" in text(app)
