"""What the panels say: levels, references, ages, long values, other servers, and words that need a second row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specmon.monitor.logtail import LogTail
from specmon.monitor.snapshot import (
    Difference,
    EventLine,
    Headline,
    LevelVerdict,
    LogLine,
    Role,
    RunState,
    ServerView,
    Severity,
    Snapshot,
    Trust,
    TrustView,
    Verdict,
)
from specmon.ui.app import EXIT_INTERRUPTED, SpecmonApp
from specmon.ui.look import Look, plain
from specmon.ui.panels.evidence import difference_rows

from . import pictures
from .feeds import StillFeed
from .frames import frame, text

LEVELS = (
    LevelVerdict(1, Verdict.FASTER, 1.21, 1.19, 212, 197),
    LevelVerdict(2, Verdict.EQUAL, 1.0, 0.99, 40, 40),
    LevelVerdict(4, Verdict.SLOWER, 0.84, 0.8, 33, 30),
    LevelVerdict(8, Verdict.CANNOT_TELL, None, None, 2, 40),
    LevelVerdict(16, None),
)


async def _shown(picture: Snapshot, size: tuple[int, int], *, ascii_only: bool = False) -> str:
    app = SpecmonApp(StillFeed(picture), ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        return text(app)


def _with_levels(levels: tuple[LevelVerdict, ...]) -> Snapshot:
    story = pictures.diverged()
    assert story.comparison is not None
    return replace(story, comparison=replace(story.comparison, levels=levels))


async def test_every_level_has_its_row_with_sign_word_and_both_speedups() -> None:
    shown = await _shown(_with_levels(LEVELS), (200, 60))
    rows = [row for row in shown.split("\n") if "×" in row or "·" in row or "?" in row]
    for words in (
        ("1 ✓ wins", "1.21×", "1.19×"), ("2 ~ equal", "1.00×", "0.99×"), ("4 ✗ loses", "0.84×", "0.80×"),
        ("8 ? cannot tell", "–"), ("16 · no data", "–"),
    ):  # fmt: skip
        assert any(all(word in row for word in words) for row in rows), words
    assert "no level yet" in await _shown(_with_levels(()), (200, 60))


async def test_more_levels_than_rows_are_counted() -> None:
    many = tuple(LevelVerdict(running, Verdict.FASTER, 1.1, 1.1, 9, 9) for running in range(1, 41))
    assert "more, up to 40 running" in await _shown(_with_levels(many), (200, 60))


async def test_a_smaller_screen_tells_the_levels_in_one_row() -> None:
    shown = await _shown(_with_levels(LEVELS), (120, 40))
    assert "by level   1 running ✓ 1.21× · 2 running ~ 1.00×" in shown
    assert "by level" not in await _shown(_with_levels(LEVELS[:1]), (120, 40))


async def test_without_a_reference_the_panel_tells_how_to_write_one_down() -> None:
    shown = await _shown(replace(pictures.healthy(), trust=TrustView(Trust.NO_REFERENCE)), (200, 60))
    assert "--reference-tok-s X@B" in shown
    assert "./references" in shown
    assert "reference record" not in shown


async def test_reference_that_a_diverged_baseline_fits_is_named() -> None:
    story = pictures.diverged()
    trust = replace(story.trust, better_match="untuned", better_match_tok_s=62.9)
    shown = await _shown(replace(story, trust=trust), (200, 60))
    assert "fits      untuned, 62.9 tok/s" in shown
    assert "fits  " not in await _shown(story, (200, 60))


async def test_a_baseline_that_drifts_is_neither_trusted_nor_an_alarm() -> None:
    healthy = pictures.healthy()
    sentence = "86.1 tok/s, reference nccl-tuned 88.8 (−3.0 %): inside ±5 %, but off"
    drifting = replace(
        healthy.trust, state=Trust.DRIFTING, measured_tok_s=86.1, deviation=-0.03, since=pictures.RESTART,
        sentence=sentence,
    )  # fmt: skip
    shown = await _shown(replace(healthy, trust=drifting), (200, 60))
    assert "! drifting" in shown
    assert "inside ±5 %, but off" in shown
    assert "DIVERGED" not in shown


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
async def test_an_age_that_nobody_knows_is_said_in_words(size: tuple[int, int]) -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    shown = await _shown(replace(story, baseline=replace(story.baseline, age_s=None, is_stale=True)), size)
    assert "age unknown" not in shown
    if size[0] >= 80:
        assert "serving · no new line yet" in shown or "serving · read from the log, no new line yet" in shown


async def test_an_ended_server_has_no_word_of_lines_to_come() -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    ended = replace(story.baseline, age_s=None, is_stale=True, state=RunState.EXITED)
    assert "no new line" not in await _shown(replace(story, baseline=ended), (120, 40))


WHY = (
    "not the only difference: NCCL_ALGO, NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS and 3 more · accept 2.13, break-even 2.65 · "
)
WHY += "baseline trusted: 88.8 tok/s, reference 88.8 (0.0 %)"
NOTE = (
    "The baseline was restarted without its variables. It lost a third of its speed, and speculation looks like a gain."
)


@pytest.mark.parametrize("size", [(80, 30), (100, 30), (120, 40), (200, 60)])
async def test_long_words_have_a_second_row_on_a_tall_screen(size: tuple[int, int]) -> None:
    story = replace(
        pictures.demo(),
        headline=Headline(Severity.ALERT, "SPECULATIVE LOSES", "0.80× at 1 running", WHY[: size[0] + 40]),
        demo_note=NOTE[: size[0] + 10],
    )
    shown = (await _shown(story, size)).replace("\n", " ")
    flat = " ".join(shown.split())
    assert WHY[: size[0] + 40].rsplit(" ", 1)[1] in flat
    assert NOTE[: size[0] + 10].split()[-1] in flat
    assert "…" not in " ".join(shown.split("BASELINE ")[0].split())


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("62.9 tok/s, reference 88.8 (−29 %), looks like `untuned` 62.9", "62.9 tok/s, reference 88.8 (−29 %) "),
        ("one clause that is far too long for eighty columns beside its word", "one clause that is far too long"),
    ],
)
async def test_a_short_screen_tells_whole_clauses_of_the_verdict(sentence: str, shown: str) -> None:
    head = Headline(Severity.ALERT, "BASELINE NOT TRUSTED", sentence, "likely cause: NCCL_PROTO unset now")
    rows = (await _shown(replace(pictures.diverged(), headline=head), (80, 24))).splitlines()
    assert f"BASELINE NOT TRUSTED  {shown}" in rows[1]
    assert "untun" not in rows[1]


async def test_rows_for_words_do_not_come_and_go() -> None:
    feed = StillFeed(replace(pictures.healthy(), headline=Headline(Severity.OK, "SPECULATIVE WINS", "1.06×", WHY)))
    app = SpecmonApp(feed, interval_s=0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        place = app.query_one("#baseline").region
        feed.show(replace(feed.picture, headline=replace(feed.picture.headline, why="short")))
        await pilot.pause(0.15)
        assert "short" in text(app)
        assert app.query_one("#baseline").region == place


async def test_an_event_may_take_two_rows() -> None:
    told = "restarted: 6 variables differ from the reference and a_long_flag"
    story = replace(pictures.diverged(), events=(EventLine(pictures.NOW, Severity.WARNING, "gpu01:30000", told),))
    assert "a_long_flag" in await _shown(story, (120, 50))


async def test_an_event_that_is_cut_says_so() -> None:
    story = pictures.diverged()
    assert "restarted: 6 variables differ…" in await _shown(story, (120, 40))


def test_long_values_are_shown_from_where_they_differ() -> None:
    alike = "CudaGraphConfig(backend=None, sizes=[1, 2, 3, 4], padding="
    found = [Difference("flag", "cuda_graph", f"{alike}8192)", f"{alike}4096)", "matters")]
    for width in (44, 60, 80):
        row = difference_rows(found, width, Look())[0].plain
        assert "8192" in row
        assert "4096" in row
        assert len(row) <= width


async def test_servers_that_are_not_compared_are_listed() -> None:
    third = ServerView(
        "x", "gpu03:30000", "gpu03:/x.log", Role.UNKNOWN, state=RunState.STARTING, no_data_reason="no decode line yet"
    )
    story = replace(pictures.diverged(), others=(third, *(replace(third, name=f"gpu{i}") for i in range(10, 14))))
    for size in ((60, 30), (120, 40), (200, 60)):
        shown = await _shown(story, size)
        assert "gpu03:30000 · starting" in shown
        assert "and 3 more that are not compared" in shown
    assert "gpu03" not in await _shown(story, (80, 24))


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("has_figures", [True, False])
async def test_requests_that_go_on_have_a_live_speed(size: tuple[int, int], has_figures: bool) -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    live = replace(story.baseline, live_tok_s=18.25, live_requests=1, no_data_reason="no decode line yet")
    shown = await _shown(replace(story, baseline=live if has_figures else replace(live, level=None)), size)
    assert "live 18.2" in shown


async def test_a_server_that_is_not_compared_has_its_live_speed_too() -> None:
    third = ServerView(
        "x", "gpu03:8080", "gpu03:/x.log", Role.UNKNOWN, state=RunState.SERVING, live_tok_s=37.0, live_requests=2
    )
    assert "live 37.0 tok/s of 2 requests" in await _shown(replace(pictures.diverged(), others=(third,)), (120, 40))


@pytest.mark.parametrize("name", sorted(pictures.PICTURES))
async def test_every_sign_has_its_ascii_counterpart(name: str) -> None:
    app = SpecmonApp(
        StillFeed(_with_levels(LEVELS) if name == "diverged" else pictures.PICTURES[name]()), ascii_only=True
    )
    async with app.run_test(size=(40, 12)) as pilot:
        for size in ((40, 12), (80, 24), (120, 40), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in frame(app):
                assert all(a != "?" or b == "?" for a, b in zip(plain(row), row, strict=True)), row


async def test_the_smallest_ascii_screen_tells_both_speeds() -> None:
    shown = plain(await _shown(pictures.diverged(), (40, 12), ascii_only=True))
    assert "base   62.9" in shown
    assert "spec   75.9" in shown


async def test_a_picture_is_saved_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        titles = {command.title: command for command in app.get_system_commands(app.screen)}
        titles["Save a picture (SVG)"].callback()
        await pilot.pause(0.3)
        (saved,) = list(tmp_path.iterdir())  # noqa: ASYNC240  # a test may wait for its own folder
        assert "SPECULATIVE" in saved.read_text(encoding="utf-8")
        assert any(str(saved) in note.message for note in app._notifications)


async def test_a_folder_that_takes_no_picture_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))

    def refuse(*_: object, **__: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(app, "save_screenshot", refuse)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("s")
        await pilot.pause(0.3)
        assert any("Read-only" in note.message for note in app._notifications)


@pytest.mark.parametrize("keys", [[], ["ctrl+p"], ["ctrl+p", "q"], ["question_mark"], ["l"], ["d"]])
async def test_ctrl_c_quits_from_everywhere(keys: list[str]) -> None:
    app = SpecmonApp(StillFeed(pictures.healthy()))

    async def press(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert app.return_code is None
        await pilot.press("ctrl+c")

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot)
    assert app.return_code == EXIT_INTERRUPTED


@pytest.mark.parametrize(
    "front",
    [
        "(APIServer pid=10267) INFO 11-30 15:41:36 [loggers.py:127] ",
        "INFO 08-02 04:33:51 metrics.py:295] ",
        'vllm-1  | {"asctime": "2026-11-30 15:41:36,798", "levelname": "INFO", "message": "',
    ],
)
async def test_the_log_shows_speed_and_load_of_a_vllm_line_on_a_small_screen(front: str) -> None:
    line = (
        f"{front}Engine 000: Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 95.5 tokens/s, "
        "Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit rate: 0.0%"
    )
    other = "(APIServer pid=10267) WARNING 11-30 15:41:36 [loggers.py:127] short of memory"
    shown = replace(
        pictures.diverged(),
        log=LogTail.of(
            [
                LogLine("gpu01:30000", Role.BASELINE, 1000.0, line, is_stats=True),
                LogLine("gpu01:30000", Role.BASELINE, 1000.0, other),
            ]
        ),
    )
    app = SpecmonApp(StillFeed(shown))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert "gen 95.5 tok/s, Running: 3" in text(app)
        assert "WARNING" in text(app)
