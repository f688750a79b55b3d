"""What the screen does: keys, pause, replay, focus, foreign text, a feed that ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.geometry import Offset, Region

from specmon.errors import SourceRefused
from specmon.monitor.logtail import LogTail
from specmon.monitor.snapshot import EventLine, LogLine, Mark, MarkKind, PageGauges, Role, Severity, Snapshot, Trust
from specmon.ui.app import SpecmonApp
from specmon.ui.chart import Chart
from specmon.ui.help import HelpScreen
from specmon.ui.panels.bars import KeyBar, PlaybackBar
from specmon.ui.panels.logpane import LogPane

from . import pictures
from .feeds import Controls, StillFeed
from .frames import frame, text

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
HOSTILE = "[/x] [bold]loud\x1b[2J\x07 [@click=app.quit]gone[/]"


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
async def test_the_story_is_told_on_one_screen(size: tuple[int, int]) -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = text(app)
        for words in (
            "✗ BASELINE NOT TRUSTED", "reference 88.8 (−29.2 %)", "NCCL_PROTO", "delivered 58.9", "delivered 71.4",
            "2.10 / 3", "27.7 ms", "15.9 ms", "1.21× apparent", "0.85× against the reference", "1.74 now, 2.46 with",
            "no phase data", "1 unparsed", "ref 88.8", "restart", "same load ✓",
        ):  # fmt: skip
            assert words in shown


async def test_without_data_every_place_says_why() -> None:
    app = SpecmonApp(StillFeed(pictures.no_data()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = text(app)
        assert "no data: no decode line yet: the server is ready" in shown
        assert "no data: not connected: retry in 4 s" in shown
        assert "tok/s" not in shown


@pytest.mark.parametrize(("logged", "shown"), [(None, "queue 3 (metrics)"), (0.0, "queue 0  KV 45 % (metrics)")])
async def test_queue_of_the_metrics_page_stands_in_for_the_logs_and_says_so(logged: float | None, shown: str) -> None:
    story = pictures.healthy()
    assert story.baseline is not None
    assert story.baseline.level is not None
    level = replace(story.baseline.level, queue=logged)
    view = replace(story.baseline, level=level, page=PageGauges(running=1, queue=3, kv_usage=0.45))
    app = SpecmonApp(StillFeed(replace(story, baseline=view)))
    async with app.run_test(size=(240, 60)) as pilot:
        await pilot.pause()
        assert shown in " ".join(text(app).split(" "))


async def test_nothing_at_all_is_a_screen_too() -> None:
    app = SpecmonApp(StillFeed(Snapshot(version=1)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "NO DATA" in text(app)
        assert "no baseline server yet" in text(app)


async def test_live_pause_freezes_the_picture_and_says_that_lines_still_come() -> None:
    feed = StillFeed(pictures.healthy())
    app = SpecmonApp(feed, interval_s=0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("space")
        feed.show(replace(pictures.diverged(), log_revision=feed.picture.log_revision + 5))
        await pilot.pause(0.15)
        assert "PAUSED · still receiving, +5 lines" in text(app)
        assert "SPECULATIVE WINS" in text(app)
        await pilot.press("space")
        await pilot.pause()
        assert "PAUSED" not in text(app)
        assert "BASELINE NOT TRUSTED" in text(app)


async def test_replay_keys_steer_the_playback() -> None:
    controls = Controls()
    picture = pictures.replayed()
    assert picture.playback is not None
    at = picture.playback.position
    app = SpecmonApp(StillFeed(picture, controls))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("space", "plus", "minus", "right", "left", "shift+right", "shift+left", "full_stop", "comma")
        await pilot.press("home", "end")
        assert controls.calls == [
            ("pause", 0), ("speed", 1), ("speed", -1), ("seek", at + 10), ("seek", at - 10), ("seek", at + 60),
            ("seek", at - 60), ("step", 1), ("step", -1), ("seek", picture.playback.start),
            ("seek", picture.playback.end),
        ]  # fmt: skip
        assert "▶ REPLAY 16:41:43" in text(app)
        assert "10×" in text(app)


async def test_a_click_on_the_replay_bar_goes_there() -> None:
    controls = Controls()
    app = SpecmonApp(StillFeed(pictures.replayed(), controls))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        bar = app.query_one(PlaybackBar)
        row = frame(app)[bar.region.y]
        await pilot.click(PlaybackBar, offset=Offset(row.index("━"), 0))
        assert controls.calls == [("seek", pictures.NOW - 290)]


async def test_a_live_session_has_no_speed_and_no_track() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "step" not in frame(app)[-1]
        assert not any(each.binding.action.startswith("change_speed") for each in app.active_bindings.values())


async def test_every_binding_has_an_id() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    ids = [binding.id for binding in app.BINDINGS if not isinstance(binding, tuple)]
    assert all(ids)
    assert len(ids) == len(set(ids)) == len(app.BINDINGS)


async def test_a_click_on_a_key_does_what_the_key_does() -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.click(KeyBar, offset=Offset(frame(app)[-1].index("? help"), 0))
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


async def test_log_takes_the_lower_part_and_gives_it_back() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "gen throughput" not in text(app)
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert app.focused is app.query_one(LogPane)
        shown = text(app)
        assert "gen throughput (token/s): 62." in shown
        assert "left out: after prefill" in shown
        assert "? TP0 Decode batch" in shown
        assert "BASELINE NOT TRUSTED" in shown
        await pilot.press("escape")
        await pilot.pause()
        assert "gen throughput" not in text(app)


async def test_log_follows_until_somebody_scrolls_up() -> None:
    feed = StillFeed(pictures.diverged())
    app = SpecmonApp(feed, interval_s=0.05)

    def with_line(name: str) -> Snapshot:
        line = LogLine("gpu01:30000", Role.BASELINE, pictures.NOW, name)
        return replace(
            feed.picture, log=LogTail.of([*feed.picture.log, line]), log_revision=feed.picture.log_revision + 1
        )

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+l")
        feed.show(with_line("first new line"))
        await pilot.pause(0.15)
        assert "first new line" in text(app)
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        assert "not following" in text(app)
        feed.show(with_line("second new line"))
        await pilot.pause(0.15)
        assert "second new line" not in text(app)
        await pilot.press("f")
        await pilot.pause()
        assert "second new line" in text(app)


async def test_configuration_view_lists_all_that_differs() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("d")
        await pilot.pause()
        assert "NCCL_NTHREADS" in text(app)
        await pilot.press("pagedown")
        await pilot.pause()
        assert "random_seed" in text(app)
        await pilot.press("d")
        await pilot.pause()
        assert "events" in text(app)


@pytest.mark.parametrize("size", [(40, 12), (60, 30), (80, 24), (120, 40), (200, 60)])
async def test_foreign_text_is_shown_and_never_obeyed(size: tuple[int, int]) -> None:
    picture = pictures.diverged()
    assert picture.baseline is not None
    evil = replace(
        picture,
        title=HOSTILE,
        headline=replace(picture.headline, sentence=HOSTILE, why=HOSTILE),
        baseline=replace(picture.baseline, name=HOSTILE, source=HOSTILE),
        speculative=replace(picture.baseline, name=HOSTILE, level=None, no_data_reason=HOSTILE, role=Role.SPECULATIVE),
        events=(EventLine(pictures.NOW, Severity.ALERT, HOSTILE, HOSTILE),),
        log=LogTail.of([LogLine(HOSTILE, Role.BASELINE, None, HOSTILE, excluded=HOSTILE)]),
        trust=replace(picture.trust, reference=HOSTILE, sentence=HOSTILE),
        mode="demo",
        demo_note=HOSTILE,
    )
    app = SpecmonApp(StillFeed(evil))
    async with app.run_test(size=size) as pilot:
        await pilot.press("ctrl+l")
        await pilot.pause()
        await pilot.press("d")
        await pilot.pause()
        shown = text(app)
        assert "[/x] [bold]loud" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown


async def test_ascii_mode_shows_ascii_only() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()), ascii_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        # The filter works on what is sent to the terminal, so the painted rows are asked for.
        ascii_filter = app.get_line_filters()[-1]
        ground = app.screen.background_colors[1]
        rows = [strip.apply_filter(ascii_filter, ground).text for strip in app.screen._compositor.render_strips()]
        assert all(row.isascii() for row in rows)
        assert any("FAIL BASELINE NOT TRUSTED" in row for row in rows)


async def test_no_color_keeps_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.no_color
        assert "✗ BASELINE NOT TRUSTED" in text(app)


async def test_an_ended_feed_leaves_the_screen_up() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged(), run=lambda: None))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "ended" in frame(app)[0]
        assert "BASELINE NOT TRUSTED" in text(app)


async def test_an_expected_failure_is_told_not_thrown() -> None:
    def refuse() -> None:
        raise SourceRefused("gpu1: host key [/x] unknown. Run `ssh gpu1` once.")

    app = SpecmonApp(StillFeed(pictures.no_data(), run=refuse))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "ended: gpu1: host key [/x] unknown" in frame(app)[0]


async def test_dead_numbers_are_dim_and_carry_their_age() -> None:
    app = SpecmonApp(StillFeed(pictures.stale()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "✗ crashed · ! 74 s old" in text(app)
        y = next(index for index, row in enumerate(frame(app)) if "62.9 tok/s" in row)
        strip = app.screen._compositor.render_strips()[y]
        segment = next(segment for segment in strip if "62.9" in segment.text)
        assert segment.style is not None
        assert segment.style.color is not None
        # Dim is painted as a colour nearer to the ground, so that it shows on every terminal.
        assert segment.style.color.name != app.theme_variables["series-baseline"]


async def test_an_alert_changes_the_border_of_its_own_side_only() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.query_one("#baseline").has_class("-alert")
        assert not app.query_one("#speculative").has_class("-alert")


async def test_a_chart_that_did_not_change_is_not_repainted() -> None:
    feed = StillFeed(pictures.diverged())
    app = SpecmonApp(feed, interval_s=0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        chart = app.query_one("#speculative .speed", Chart)
        painted: list[object] = []
        refresh = chart.refresh

        def spy(*regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Chart:
            painted.append(regions)
            return refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

        chart.refresh = spy  # type: ignore[method-assign]  # to see what it paints
        feed.show(feed.picture)
        await pilot.pause(0.15)
        assert painted == []


async def test_demo_is_labelled() -> None:
    app = SpecmonApp(StillFeed(pictures.demo()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert " DEMO  the baseline was restarted" in text(app).replace("   ", "  ")


async def test_every_action_is_in_the_palette() -> None:
    app = SpecmonApp(StillFeed(pictures.replayed(), Controls()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert {
            "Pause",
            "Log",
            "Configuration",
            "Faster",
            "Slower",
            "Start",
            "End",
            "Copy the verdict",
            "Export",
            "Next theme",
            "Help",
            "Quit",
        } <= names


async def test_one_bell_for_a_change_into_an_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[bool] = []
    feed = StillFeed(pictures.healthy())
    app = SpecmonApp(feed, interval_s=0.05)
    monkeypatch.setattr(app, "bell", lambda: rung.append(True))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for _ in range(500):
            feed.show(pictures.diverged())
            await pilot.pause(0.02)
            if rung:
                break
        for _ in range(5):
            feed.show(pictures.diverged())
            await pilot.pause(0.1)
        assert rung == [True]


async def test_against_the_reference_is_shown_only_while_it_differs() -> None:
    story = pictures.diverged()
    trusted = replace(story, trust=replace(story.trust, state=Trust.MATCHES))
    app = SpecmonApp(StillFeed(trusted))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "apparent" not in text(app)
        assert "against the reference" not in text(app)


async def test_marks_that_stand_close_keep_the_more_important_word() -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    marks = tuple(Mark(pictures.RESTART + 9 * i, kind, "") for i, kind in enumerate((MarkKind.RESTART, MarkKind.DRIFT)))
    app = SpecmonApp(StillFeed(replace(story, baseline=replace(story.baseline, marks=marks))))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        axis = next(row for row in frame(app) if row.startswith("│   0┼"))
        assert axis.count("┴") == 2
        assert "restart" in axis


async def test_on_a_huge_screen_flags_have_their_whole_names_and_titles_end_with_a_word() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        shown = text(app)
        assert "speculative_num_draft_tokens" in shown
        assert "0.85× against the refer…" not in shown


async def test_key_bar_names_the_keys_of_what_is_open() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("d")
        await pilot.pause()
        assert frame(app)[-1].startswith(" esc back  D in full")
        await pilot.click(KeyBar, offset=Offset(frame(app)[-1].index("esc back"), 0))
        await pilot.pause()
        assert "esc back" not in frame(app)[-1]
