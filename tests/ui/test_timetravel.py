"""Keys, wheel and clicks that move the charts in time, live and in a replay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Offset

from specmon.monitor.snapshot import MarkKind, Moment, Playback, Severity, Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.chart import Chart
from specmon.ui.panels.bars import PlaybackBar

from . import pictures
from .feeds import Controls, StillFeed
from .frames import frame, text
from .test_timeview import SESSION

SIZES = [(80, 24), (200, 60)]


def _replay(**more: object) -> Snapshot:
    """The long session as a replay that stands in its middle."""
    moments = (
        Moment(pictures.NOW - 3000, Severity.WARNING, "gpu01: restart", MarkKind.RESTART),
        Moment(pictures.NOW - 2000, Severity.ALERT, "gpu01: baseline −34 %", MarkKind.DRIFT),
        Moment(pictures.NOW + 500, Severity.ALERT, "gpu01: crashed", MarkKind.CRASH),
    )
    playback = Playback(pictures.NOW - 2500, pictures.NOW - 10800, pictures.NOW + 600, 10.0, True, moments)
    return replace(SESSION, mode="replay", playback=replace(playback, **more))  # type: ignore[arg-type]  # its fields


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("is_replay", [False, True])
async def test_charts_zoom_pan_and_follow_again(size: tuple[int, int], is_replay: bool) -> None:
    feed = StillFeed(_replay(), Controls()) if is_replay else StillFeed(SESSION)
    app = SpecmonApp(feed)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        at_first = text(app)
        assert "−30 min" in at_first
        await pilot.press("left_square_bracket")
        assert app.time_view.span_s == 3600
        assert "−60 min" in text(app)
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert "−15 min" in text(app)
        await pilot.press("less_than_sign", "less_than_sign")
        await pilot.pause()
        assert "PAST 16:11:43" in frame(app)[0]
        assert "16:26:43" in text(app)
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert "PAST 16:19:13" in frame(app)[0]
        await pilot.press("0")
        await pilot.pause()
        assert text(app) == at_first


async def test_the_arrows_move_a_live_session_as_they_move_a_replay() -> None:
    app = SpecmonApp(StillFeed(SESSION))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("left", "shift+left")
        assert app.time_view.end == pictures.NOW - 70
        await pilot.press("right", "shift+right")
        assert not app.time_view.is_past
        await pilot.press("home")
        assert app.time_view.end == pictures.NOW - 10800 + 1800
        await pilot.press("end")
        assert not app.time_view.is_past


@pytest.mark.parametrize("size", SIZES)
async def test_the_cursor_tells_the_sample_of_both_sides(size: tuple[int, int]) -> None:
    app = SpecmonApp(StillFeed(SESSION))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("c")
        await pilot.pause()
        assert "▲ 16:41:43" in frame(app)[0]
        assert text(app).count("80.0 tok/s") >= 2
        assert "acc 2.00" in text(app)
        assert "╏" in text(app) or size == (80, 24)
        before = app.time_view.cursor
        await pilot.press("left")
        assert app.time_view.cursor != before
        await pilot.press("comma")
        await pilot.press("full_stop")
        await pilot.press("escape")
        await pilot.pause()
        assert app.time_view.cursor is None
        assert "▲ 16" not in frame(app)[0]


@pytest.mark.parametrize("size", SIZES)
async def test_the_cursor_says_why_a_sample_is_left_out(size: tuple[int, int]) -> None:
    assert SESSION.baseline is not None
    points = SESSION.baseline.points
    spoilt = replace(SESSION.baseline, points=(*points[:-1], replace(points[-1], excluded="after_prefill")))
    app = SpecmonApp(StillFeed(replace(SESSION, baseline=spoilt)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("c")
        await pilot.pause()
        assert f"80.0{'  ◦' if size[0] < 100 else ' tok/s  left out:'} after prefill" in text(app)


async def test_a_click_puts_the_cursor_and_the_wheel_zooms_and_pans() -> None:
    app = SpecmonApp(StillFeed(SESSION))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        chart = app.query_one("#baseline .speed", Chart)
        await pilot.click(chart, offset=Offset(30, 3))
        assert app.time_view.cursor == pytest.approx(chart.moment_at(30))
        await pilot.press("escape")

        async def turn(event: type[MouseScrollUp] | type[MouseScrollDown], *, shift: bool) -> None:
            x, y = chart.region.x + 30, chart.region.y + 3
            app.screen._forward_event(
                event(None, x, y, 0, 0, 0, shift, False, False, screen_x=x, screen_y=y)  # as the driver makes it
            )
            await pilot.pause()

        await turn(MouseScrollUp, shift=False)
        assert app.time_view.span_s == 900
        await turn(MouseScrollDown, shift=False)
        assert app.time_view.span_s == 1800
        await turn(MouseScrollUp, shift=True)
        assert app.time_view.end == pictures.NOW - 180


async def test_one_key_steps_the_large_charts_through_their_measures() -> None:
    app = SpecmonApp(StillFeed(SESSION))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        at_first = text(app)
        await pilot.press("m")
        await pilot.pause()
        assert "cycle ms" in frame(app)[0]
        await pilot.press("m")
        await pilot.pause()
        assert "accept length" in frame(app)[0]
        assert "no accept length: a baseline drafts nothing" not in at_first
        await pilot.press("m")
        await pilot.pause()
        assert text(app) == at_first


async def test_jumps_in_a_live_session_take_the_cursor_and_its_window_there() -> None:
    story = pictures.diverged()
    app = SpecmonApp(StillFeed(story))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("J")
        assert app.time_view.cursor == pictures.RESTART
        await pilot.press("n")
        assert app.time_view.cursor is not None
        assert app.time_view.cursor > pictures.RESTART
        await pilot.press("N")
        assert app.time_view.cursor == pictures.RESTART
        await pilot.press("j")
        await pilot.pause()
        assert app.time_view.cursor == pictures.RESTART
        assert "no later restart is known" in {toast.message for toast in app._notifications}


async def test_jumps_in_a_replay_go_there_also_to_what_is_still_to_come_and_pause() -> None:
    controls = Controls()
    app = SpecmonApp(StillFeed(_replay(is_paused=False), controls))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("n", "N", "j", "J", "o")
        places = [where for what, where in controls.calls if what == "seek"]
        later, before, drift = pictures.NOW + 500, pictures.NOW - 3000, pictures.NOW - 2000
        assert places == [drift, before, later, before, drift]
        assert controls.calls.count(("pause", 0)) == 5
        await pilot.press("O")
        assert len(controls.calls) == 10  # there is no drift before


async def test_the_replay_bar_shows_events_and_a_click_on_one_goes_to_it() -> None:
    controls = Controls()
    app = SpecmonApp(StillFeed(_replay(), controls))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        bar = app.query_one(PlaybackBar)
        row = frame(app)[bar.region.y]
        assert [row.count(sign) for sign in "│╎┃"] == [1, 1, 1]
        await pilot.click(PlaybackBar, offset=Offset(row.index("╎"), 0))
        assert controls.calls == [("seek", pictures.NOW - 2000)]


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_the_ratio_is_drawn_on_one_clock_with_its_line_at_one(size: tuple[int, int]) -> None:
    app = SpecmonApp(StillFeed(SESSION))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        chart = app.query_one("#ratio Chart", Chart)
        shown = "\n".join("".join(run for run, _ in row) for row in chart.picture)
        assert "⣿" in shown
        assert "break-even 1.0" in shown
        assert "−30 min" in shown
        await pilot.press("left_square_bracket", "c")
        await pilot.pause()
        shown = "\n".join("".join(run for run, _ in row) for row in chart.picture)
        assert "−60 min" in shown
        assert "▲" in shown


async def test_servers_that_ran_one_after_the_other_have_no_ratio_and_it_says_so() -> None:
    assert SESSION.baseline is not None
    assert SESSION.speculative is not None
    early = replace(SESSION.baseline, points=SESSION.baseline.points[:300])
    late = replace(SESSION.speculative, points=SESSION.speculative.points[500:])
    app = SpecmonApp(StillFeed(replace(SESSION, baseline=early, speculative=late)))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "no clean sample at one time" in text(app)
