"""The pages on top of the dashboard: phases and what if, at every size, by keys and by mouse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.geometry import Offset

from specmon.monitor.phaserecords import (
    AcceptanceView,
    IdentityCheck,
    PhaseLevel,
    PhasePart,
    PhasesView,
    PhaseWindow,
    VerifyCost,
)
from specmon.monitor.snapshot import Snapshot, WhatIf
from specmon.reports.plain import plain_lines
from specmon.ui.app import SpecmonApp
from specmon.ui.look import Look
from specmon.ui.phasechart import axes_of, history_rows
from specmon.ui.phasescreen import PhasesScreen
from specmon.ui.whatifscreen import WhatIfPage, WhatIfScreen

from . import pictures
from .conftest import SnapCompare
from .feeds import StillFeed
from .frames import frame, text

SIZES = [(40, 12), (80, 24), (200, 60)]


def _parts(**ms: float) -> tuple[PhasePart, ...]:
    cycle = sum(ms.values())
    return tuple(PhasePart(name, value, value / cycle) for name, value in ms.items())


def _view(change_at: int = 30, **ms: float) -> PhasesView:
    windows = tuple(
        PhaseWindow(
            pictures.NOW - 60 + index, 40, None,
            {name: value * (0.73 if index < change_at and name == "verify" else 1) for name, value in ms.items()
             if name != "other"},
        )
        for index in range(60)
    )  # fmt: skip
    parts = _parts(**ms)
    level = PhaseLevel(1, 2400, sum(ms.values()), parts)
    return PhasesView(
        source="probe", source_words="specmon-probe", shown=level, levels=(level,), windows=windows,
        identity=IdentityCheck(True, "agrees within 0.1 %: phases + other 29.86 ms, 1000·A·B/R 29.90 ms", -0.001),
    )  # fmt: skip


def timed() -> Snapshot:
    """The story with five steps, phases on both sides."""
    story = pictures.diverged()
    assert story.baseline is not None
    assert story.speculative is not None
    spec = _view(draft=0.61, verify=28.7, draft_extend=0.41, other=0.14)
    spec = replace(spec, sentence="verify 21.0 → 28.7 ms since 16:41:13 (cycle 22.2 → 29.9 ms)")
    return replace(
        story,
        baseline=replace(story.baseline, phases=_view(decode=15.7, other=0.2)),
        speculative=replace(story.speculative, phases=spec),
        verify_cost=VerifyCost(1.83, 15.7, "the baseline's measured decode phase"),
        what_if=WhatIf(2.12, 15.9, 0.16, 28.7, 1.02, 1000 / 88.8, 6, 1, 15.7),
    )


def bare() -> Snapshot:
    """The same without any phase."""
    missing = PhasesView(why_none="the log has no phase times", mend="start it with --enable-metrics")
    story = timed()
    assert story.baseline is not None
    assert story.speculative is not None
    return replace(
        story,
        baseline=replace(story.baseline, phases=missing),
        speculative=replace(story.speculative, phases=missing),
        verify_cost=None,
        what_if=WhatIf(2.12, 15.9, 29.88, most_accept_len=6, running=1),
    )


@pytest.mark.parametrize(
    ("state", "size", "ascii_only"),
    [
        *((timed, size, False) for size in SIZES),
        (timed, (80, 24), True),
        (bare, (40, 12), False),
        (bare, (80, 24), True),
        (pictures.no_data, (60, 20), False),
        (Snapshot, (80, 24), False),
    ],
)
async def test_no_row_is_wider_than_the_terminal(
    state: Callable[[], Snapshot], size: tuple[int, int], ascii_only: bool
) -> None:
    app = SpecmonApp(StillFeed(replace(state(), version=1)), ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        for key in ("p", "w"):
            await pilot.press(key)
            await pilot.pause()
            rows = frame(app)
            assert len(rows) == size[1]
            assert {len(row) for row in rows} == {size[0]}
            assert rows[-1].strip().startswith("esc back")


async def test_the_phases_screen_tells_all_of_it() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("p")
        await pilot.pause()
        shown = text(app)
        for words in (
            "29.9 ms", "28.70   96 %", "draft-extend", "verify costs 1.83× the baseline's measured decode phase",
            "identity agrees within 0.1 %", "verify 21.0 → 28.7 ms since 16:41:13", "measured by specmon-probe",
            "spec phases over time", "verify 28.7", "decode 15.7",
        ):  # fmt: skip
            assert words in shown


async def test_narrow_table_has_the_milliseconds_of_both_servers_and_no_shares() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("p")
        await pilot.pause()
        row = next(line for line in text(app).splitlines() if "verify  " in line and "28.70" in line)
        assert row.rstrip().endswith("–      28.70")


async def test_phases_are_told_apart_by_their_patterns() -> None:
    app = SpecmonApp(StillFeed(timed()), ascii_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("p")
        await pilot.pause()
        bars = {row.split()[0]: row.split()[1] for row in frame(app) if row.startswith((" base  D", " spec  d"))}
        assert set(bars["base"]) == {"D", "."}
        assert "".join(dict.fromkeys(bars["spec"])) == "dVx."
        # One axis: the bars are as long as the cycles are.
        assert len(bars["base"]) / len(bars["spec"]) == pytest.approx(15.9 / 29.86, abs=0.02)


async def test_without_phases_the_screen_says_how_to_get_them() -> None:
    app = SpecmonApp(StillFeed(bare()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("p")
        await pilot.pause()
        assert "no data: the log has no phase times" in text(app)
        assert "to get it: start it with --enable-metrics" in text(app)


async def test_figures_that_cannot_be_right_are_words_and_no_numbers() -> None:
    picture = timed()
    assert picture.speculative is not None
    broken = PhasesView(
        source="custom",
        shown=PhaseLevel(1, 40, 29.9, fault="the phases add up to 34.00 ms, more than the 29.90 ms of a whole cycle"),
        notices=("3 phase lines not counted",),
    )
    picture = replace(picture, speculative=replace(picture.speculative, phases=broken), verify_cost=None)
    app = SpecmonApp(StillFeed(picture))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "not shown: the phases add up" in text(app)
        assert "28.7 ms" not in text(app)
        await pilot.press("p")
        await pilot.pause()
        assert "not shown: the phases add up to 34.00 ms" in text(app)
        assert "3 phase lines not counted" in text(app)
        assert "28.70" not in text(app)


async def test_the_dashboard_has_the_phases_of_both_servers() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = text(app)
        assert "base decode" in shown
        assert "28.7 ms  (96 %)" in shown
        assert "verify costs 1.83×" in shown


async def test_a_page_goes_on_with_the_session_and_closes() -> None:
    feed = StillFeed(bare())
    app = SpecmonApp(feed, interval_s=0.02)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("p")
        await pilot.pause()
        assert isinstance(app.screen, PhasesScreen)
        feed.show(timed())
        for _ in range(500):
            await pilot.pause(0.01)
            if "28.70" in text(app):
                break
        assert "28.70" in text(app)
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, WhatIfScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main
        await pilot.press("p", "d")
        await pilot.pause()
        assert app.screen is app.main


async def test_keys_move_the_break_even_and_reset_brings_it_back() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        await pilot.pause()
        page = app.screen.query_one(WhatIfPage)
        start = page.now
        assert page.moved == start
        await pilot.press("right")
        assert page.moved is not None
        assert page.moved.accept_len == pytest.approx(2.17)
        await pilot.press("down", "shift+left")
        assert page.moved.verify_ms == pytest.approx(28.7 * 0.9)
        await pilot.press("down", "left")
        assert page.moved.draft_ms == pytest.approx(1.02 * 0.99)
        assert "measured 29.9 ms" in text(app)
        await pilot.press("r")
        assert page.moved == start


async def test_values_can_be_typed_also_in_baseline_steps() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w", "3", "full_stop", "5", "enter")
        page = app.screen.query_one(WhatIfPage)
        assert page.moved is not None
        assert page.moved.accept_len == 3.5
        await pilot.press("down", "1", "x", "enter")
        assert page.moved.verify_ms == pytest.approx(15.7)
        await pilot.press("up", "full_stop", "full_stop", "enter")
        await pilot.pause()
        assert ".. is no number here" in text(app)
        assert page.moved.accept_len == 3.5
        await pilot.press("9", "escape")
        await pilot.pause()
        assert isinstance(app.screen, WhatIfScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_the_mouse_moves_a_slider_and_the_chart() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        await pilot.pause()
        page = app.screen.query_one(WhatIfPage)
        row = next(index for index, each in enumerate(frame(app)) if each.startswith("   verify"))
        await pilot.click(WhatIfPage, offset=Offset(frame(app)[row].index("├") + 1, row - 1))
        assert page.moved is not None
        assert page.moved.verify_ms == 0.0
        assert page.chosen == "verify"
        await pilot.click(WhatIfPage, offset=Offset(78, 15))
        assert page.moved.accept_len == pytest.approx(6.0, abs=0.1)


async def test_the_reference_is_beside_it_while_the_baseline_is_not_trusted() -> None:
    app = SpecmonApp(StillFeed(timed()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w")
        await pilot.pause()
        shown = text(app)
        assert "measured baseline      ✓ 1.13× wins  break-even 1.88" in shown
        assert "against the reference  ✗ 0.80× loses  break-even 2.65" in shown


async def test_without_phases_the_whole_cycle_can_be_moved() -> None:
    app = SpecmonApp(StillFeed(bare()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("w", "down", "1", "5", "full_stop", "9", "enter")
        page = app.screen.query_one(WhatIfPage)
        assert page.moved is not None
        assert page.moved.break_even_accept_len == pytest.approx(1.0)
        await pilot.pause()
        assert "no phase was measured" in text(app)


async def test_acceptance_by_position_stands_with_its_sum() -> None:
    picture = timed()
    assert picture.speculative is not None
    known = AcceptanceView((0.71, 0.43, 0.26), 2.40, "log", True, "1 + 0.71 + 0.43 + 0.26 = 2.40")
    app = SpecmonApp(StillFeed(replace(picture, speculative=replace(picture.speculative, acceptance=known))))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "1 + 0.71 + 0.43 + 0.26 = 2.40 ✓" in text(app)
        await pilot.press("p")
        await pilot.pause()
        app.screen.query_one("#page-room").scroll_end(animate=False)
        await pilot.pause()
        assert "pos 3  0.26" in text(app)
        assert "1 + 0.71 + 0.43 + 0.26 = 2.40 ✓" in text(app)


def test_plain_lines_have_the_phases_of_both_sides() -> None:
    line = next(line for line in plain_lines(timed()) if line.startswith("cycle "))
    assert "base decode 15.7 (99 %) other 0.20 ms (probe)" in line
    assert "spec draft 0.61 verify 28.7 (96 %) draft-extend 0.41 other 0.14 ms (probe)" in line
    assert "verify 21.0 → 28.7 ms since 16:41:13" in line
    assert line.endswith("verify 1.83× the baseline's measured decode phase")
    assert not any(line.startswith("cycle ") for line in plain_lines(bare()))


async def test_every_key_of_the_pages_has_an_id() -> None:
    for screen in (PhasesScreen, WhatIfScreen):
        for kind in screen.__mro__[:2]:
            bindings = kind.__dict__.get("BINDINGS", [])
            assert all(binding.id for binding in bindings)


def test_the_phases_screen_as_a_picture(picture_matches: SnapCompare) -> None:
    assert picture_matches(SpecmonApp(StillFeed(timed())), press=["p"], terminal_size=(120, 40))


def test_the_what_if_screen_as_a_picture(picture_matches: SnapCompare) -> None:
    app = SpecmonApp(StillFeed(timed()))
    assert picture_matches(app, press=["w", "right", "right", "right"], terminal_size=(80, 24))


def test_charts_of_phases_share_their_time_unless_they_never_ran_together() -> None:
    early, late, much_later = (
        [PhaseWindow(at + step, 40, None, {"decode": 20.0}) for step in range(10)] for at in (100.0, 105.0, 900.0)
    )
    assert [(axes.start, axes.end) for axes in axes_of([early, late])] == [(100, 114), (100, 114)]
    assert [(axes.start, axes.end) for axes in axes_of([early, much_later])] == [(100, 109), (900, 909)]


def test_the_names_of_phases_stand_in_the_order_of_their_lines() -> None:
    windows = [
        PhaseWindow(float(at), 40, None, {"draft": 0.25, "draft_extend": 0.4, "verify": 26.6}) for at in range(9)
    ]
    rows = [row.plain for row in history_rows(windows, (), 60, 12, Look(), axes_of([windows])[0])]
    assert [name for row in rows for name in ("verify", "extend", "draft") if name in row] == [
        "verify",
        "extend",
        "draft",
    ]
