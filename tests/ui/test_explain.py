"""Every figure of the screen opens by key and by click, and leads to its line; the four assumptions have a view."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from specmon.monitor.explaining import explanations_of
from specmon.monitor.snapshot import Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.assumptionscreen import AssumptionsScreen
from specmon.ui.explainpage import ExplainPage
from specmon.ui.explainscreen import ExplainScreen
from specmon.ui.logscreen import LogScreen
from specmon.ui.opened import figure_under, written
from specmon.ui.panels.figurelist import FigureList
from tests.monitor.test_explaining import STORY
from tests.ui.conftest import SnapCompare
from tests.ui.feeds import Controls, StillFeed
from tests.ui.frames import frame, text

EXPLAINED = {each.id: each for each in explanations_of(STORY)}


async def settle(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait until all that they set off is done."""
    for key in keys:
        await pilot.press(key)
    await pilot.pause()
    await pilot.pause()


def shown_figure(app: SpecmonApp) -> str:
    assert isinstance(app.screen, ExplainScreen)
    assert app.screen.figure is not None
    return app.screen.figure.id


@pytest.mark.parametrize(("size", "ascii_only"), [((40, 12), False), ((80, 24), True), ((120, 40), False)])
async def test_explanations_fit_every_terminal(size: tuple[int, int], ascii_only: bool) -> None:
    app = SpecmonApp(StillFeed(STORY), ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "x")
        for key in ("right", "tab", "a"):
            await settle(pilot, key)
            rows = frame(app)
            assert [len(row) for row in rows] == [size[0]] * size[1]
            assert rows[-1].strip().startswith("esc back")
            assert not ascii_only or "\n".join(rows).isascii()


async def test_the_verdict_tells_how_its_speed_up_is_made_and_a_margin_stays_right_of_the_title_row() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "x")
        rows = frame(app)
        assert shown_figure(app) == "comparison.verdict"
        assert rows[0].endswith(" ")
        for label in ("formula   R spec / R base", "interval  95 %: ", "samples   "):
            assert any(label in row for row in rows), label


async def test_keys_go_through_all_figures_and_round() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "x")
        assert isinstance(app.screen, ExplainScreen)
        seen = []
        for _ in EXPLAINED:
            seen.append(shown_figure(app))
            app.screen.action_step(1)
        assert seen == list(EXPLAINED)
        assert shown_figure(app) == seen[0]
        await settle(pilot, "left")
        assert shown_figure(app) == seen[-1]
        await settle(pilot, "escape")
        assert app.screen is app.main
        await settle(pilot, "x")
        assert shown_figure(app) == seen[-1]  # where one was


async def test_a_figure_is_told_with_formula_samples_line_and_doubts() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(120, 40)) as pilot:
        app.explain("speculative.accept")
        await settle(pilot)
        shown = text(app)
        for words in (
            "Mean tokens per request and cycle", "= 3,480.8 / 1,640 = 2.12", "41 clean samples of 45 at 1 running",
            "1 first after start", "`accept len`", "/logs/spec.log, byte", "Decode batch, #running-req: 1",
            "its sample counts",
        ):  # fmt: skip
            assert words in shown, words
        app.explain("comparison.speedup_ref")
        await settle(pilot)
        assert "= 70.991 / 88.8 = 0.80×" in text(app)
        assert "The baseline is not trusted" in text(app)


def marked(app: SpecmonApp) -> dict[str, tuple[int, int]]:
    """Where each figure that knows its name is drawn."""
    found: dict[str, tuple[int, int]] = {}
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            figure = figure_under(segment.style.meta) if segment.style is not None else None
            if figure is not None:
                found.setdefault(figure, (x, y))
            x += segment.cell_length
    return found


@pytest.mark.parametrize(("size", "least"), [((60, 30), 16), ((80, 24), 24), ((120, 40), 24), ((200, 60), 33)])
async def test_every_figure_that_is_drawn_is_the_one_that_is_explained(size: tuple[int, int], least: int) -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        places, rows = marked(app), frame(app)
        assert places.keys() <= EXPLAINED.keys()
        assert len(places) >= least
        for figure, (x, y) in places.items():
            number = re.search(r"[\d.,]*\d", written(EXPLAINED[figure]))
            assert number is not None
            # Digits three rows high, a spread of three figures, and evidence as a count are written otherwise.
            is_other = size[0] >= 120 and figure.endswith((".decode", ".spread", ".evidence"))
            assert is_other or number[0] in rows[y][x:], (figure, rows[y][x:])


async def test_a_click_on_a_figure_opens_it() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        places = marked(app)
        for figure in (
            "baseline.decode", "speculative.accept", "comparison.speedup_ref", "speculative.phase.verify",
            "comparison.break_even", "baseline.queue",
        ):  # fmt: skip
            await pilot.click(offset=places[figure])
            await settle(pilot)
            assert shown_figure(app) == figure
            await settle(pilot, "escape")


async def test_a_click_on_a_number_of_the_verdict_opens_that_figure() -> None:
    cases = [
        ("62.9", "trust.measured"),
        ("88.8", "trust.reference"),
        ("−29 %", "trust.deviation"),
        ("1.13×", "comparison.speedup"),
        ("0.80×", "comparison.speedup_ref"),
        ("NOT TRUSTED", "comparison.verdict"),
    ]
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(120, 40)) as pilot:
        for word, figure in cases:
            await settle(pilot)
            y, x = next((y, row.index(word)) for y, row in enumerate(frame(app)[:4]) if word in row)
            await pilot.click(offset=(x + 1, y))
            await settle(pilot)
            assert shown_figure(app) == figure
            await settle(pilot, "escape")


async def test_enter_leads_to_the_line_in_the_log_and_back() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(120, 40)) as pilot:
        app.explain("speculative.decode")
        await settle(pilot, "enter")
        assert isinstance(app.screen, LogScreen)
        source = EXPLAINED["speculative.decode"].source
        assert source is not None
        assert STORY.logbook is not None
        line = STORY.logbook().line_at(source.key, source.position or 0)
        assert line is not None
        chosen = next(row for row in frame(app) if row.startswith("▸"))
        assert "0.0.0.0:30001 16:40:31" in chosen
        assert "#token: 737" in line.raw
        assert "#token: 737" in chosen
        await settle(pilot, "escape")
        assert shown_figure(app) == "speculative.decode"
        app.explain("comparison.headroom")
        await settle(pilot, "enter")
        assert isinstance(app.screen, ExplainScreen)  # no single line stands for it


async def test_the_list_chooses_by_arrows_and_clicks_at_both_widths() -> None:
    for size in ((80, 24), (120, 40)):
        app = SpecmonApp(StillFeed(STORY))
        async with app.run_test(size=size) as pilot:
            await settle(pilot, "x")
            if size[0] == 80:
                await settle(pilot, "tab")
            await settle(pilot, "down", "down")
            assert shown_figure(app) == list(EXPLAINED)[2]
            await pilot.click(FigureList, offset=(4, 2))
            await settle(pilot)
            assert shown_figure(app) == list(EXPLAINED)[1]
            if size[0] == 80:
                await settle(pilot, "enter")
                assert app.screen.query_one(ExplainPage).parent.display  # type: ignore[union-attr]  # in a scroll


async def test_explanations_go_on_with_a_replay() -> None:
    feed = StillFeed(STORY, Controls())
    app = SpecmonApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        app.explain("speculative.accept")
        await settle(pilot)
        assert STORY.speculative is not None
        assert STORY.speculative.level is not None
        level = replace(STORY.speculative.level, accept_len=1.5)
        feed.show(replace(STORY, speculative=replace(STORY.speculative, level=level)))
        while "1.50" not in text(app):
            await pilot.pause(0.05)
        assert shown_figure(app) == "speculative.accept"


async def test_nothing_known_has_explanations_too() -> None:
    app = SpecmonApp(StillFeed(Snapshot()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "x", "right")
        assert "no data: it needs clean samples of both servers" in text(app)
        await settle(pilot, "escape", "a")
        assert "no comparison yet" in text(app)


async def test_assumptions_say_state_evidence_and_what_to_do() -> None:
    app = SpecmonApp(StillFeed(STORY))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert isinstance(app.screen, AssumptionsScreen)
        shown = " ".join(text(app).split())
        for words in (
            "2 hold, 1 is contradicted, 1 is unknown", "the baseline reproduces: CONTRADICTED",
            "the method is sound: HOLDS", "speculation is the only difference: UNKNOWN",
            "to do Put back what differs from the reference", "the environments were not read",
        ):  # fmt: skip
            assert words in shown, words
        await settle(pilot, "a")
        assert app.screen is app.main


def test_an_explanation_as_a_picture(picture_matches: SnapCompare) -> None:
    async def to_accept(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SpecmonApp)
        pilot.app.explain("speculative.accept")
        await settle(pilot)

    assert picture_matches(SpecmonApp(StillFeed(STORY)), terminal_size=(120, 40), run_before=to_accept)


def test_the_assumptions_as_a_picture(picture_matches: SnapCompare) -> None:
    assert picture_matches(SpecmonApp(StillFeed(STORY)), press=["a"], terminal_size=(80, 40))
