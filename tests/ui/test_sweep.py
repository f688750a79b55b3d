"""The sweep on the screen: settings by speed-up with their ties, and every number of running requests of the pair."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specmon.monitor.session import Session
from specmon.ui.sweepscreen import SweepPage, SweepScreen
from tests.monitor.lines import decode, decodes, feed, launch

from .conftest import SnapCompare
from .desks import STEADY, app_of, session_of
from .frames import frame, text


def setting(steps: int, tok_s: float, *, jitter: float = 0.0) -> str:
    """A run with so many draft steps."""
    begin = launch(
        0,
        port=30001,
        speculative_algorithm="EAGLE3",
        speculative_num_steps=steps,
        speculative_num_draft_tokens=steps + 1,
        speculative_eagle_topk=1,
    )
    if not jitter:
        return begin + decodes(6, 40, tok_s, accept=2.1)
    wave = [1 + jitter * (step % 5 - 2) for step in range(40)]
    return begin + "".join(decode(6 + step * 1.5, tok_s * each, accept=2.1) for step, each in enumerate(wave))


def sweep() -> Session:
    return session_of(
        {
            "base": STEADY + decodes(200, 30, 400.0, running=8),
            "slow": setting(5, 50.0),
            "two": setting(2, 80.0, jitter=0.05),
            "three": setting(3, 81.0, jitter=0.05),
        }
    )


async def opened(pilot: Pilot[None]) -> SweepPage:
    await pilot.press("b")
    for _ in range(3000):
        await pilot.pause(0.01)
        if isinstance(pilot.app.screen, SweepScreen) and pilot.app.screen.query_one(SweepPage).found is not None:
            await pilot.pause()
            return pilot.app.screen.query_one(SweepPage)
    raise AssertionError("it never came")


async def test_settings_are_ranked_and_ties_name_their_partner(tmp_path: Path) -> None:
    app = app_of(sweep(), tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        rows = frame(app)
        assert "3 settings against" in rows[1]
        table = [row.split() for row in rows[3:6]]
        assert [(row[0], row[-2], row[-1]) for row in table] == [
            ("1", "faster", "2"),
            ("2", "faster", "1"),
            ("3", "slower", "–"),
        ]
        assert page.found is not None
        assert [line.cells[1] for line in page.found.sweep.lines] == ["3", "2", "5"]
        at = next(at for at, row in enumerate(rows) if "by running requests" in row)
        assert rows[at + 2].split()[0] == "1"
        assert "0.79×" in rows[at + 2]  # the pair that stands side by side is the first of each role


async def test_ranking_follows_the_samples_that_come(tmp_path: Path) -> None:
    session = sweep()
    app = app_of(session, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        feed(session, "late", setting(1, 120.0))
        for _ in range(3000):
            await pilot.pause(0.01)
            if page.found is not None and len(page.found.sweep.lines) == 4:
                break
        assert page.found is not None
        assert page.found.sweep.lines[0].cells[1] == "1"
        await pilot.press("b")
        assert app.screen is app.main


async def test_table_is_copied_as_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    app, written = app_of(sweep(), tmp_path), list[str]()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        monkeypatch.setattr(app._outlet, "_write", written.append)
        await pilot.press("y")
        await pilot.pause()
        copied = base64.b64decode(written[0].split(";")[-1].rstrip("\a")).decode()
        assert "| run | steps | draft |" in copied
        assert "ties with" in copied


@pytest.mark.parametrize(("size", "ascii_only"), [((40, 12), True), ((80, 24), False), ((200, 60), False)])
async def test_tables_fit_every_screen(tmp_path: Path, size: tuple[int, int], ascii_only: bool) -> None:
    app = app_of(sweep(), tmp_path, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        rows = frame(app)
        assert {len(row) for row in rows} == {size[0]}
        assert rows[-1].strip().startswith("esc back")
        assert "speed-up" in text(app)


async def test_session_without_a_pair_says_what_is_missing(tmp_path: Path) -> None:
    app = app_of(session_of({"spec": setting(2, 80.0)}), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "No ranking" in text(app)
        assert "no number that both servers ran at" in text(app)


def test_sweep_as_a_picture(picture_matches: SnapCompare, tmp_path: Path) -> None:
    async def ranked(pilot: Pilot[None]) -> None:
        await opened(pilot)

    assert picture_matches(app_of(sweep(), tmp_path), terminal_size=(120, 40), run_before=ranked)
