"""The screen of conditions that differ: against the reference, between both servers, over a restart, with reasons."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from specmon.monitor.session import Session
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.ui.diffscreen import DiffPage, DiffScreen, markdown_of
from tests.monitor.lines import decodes, feed, launch, ready

from .desks import SPEC, STEADY, app_of, session_of
from .frames import frame, text

LONG = "x" * 90 + "[/b]\x1b[2J" + "y" * 90
TUNED = Reference(
    name="tuned",
    levels=(ReferenceLevel(running=1, tok_s=88.8, sigma=0.01),),
    fingerprint=Fingerprint(env={"NCCL_PROTO": "LL", "NCCL_DEBUG_FILE": "/a"}),
)


def restarted() -> Session:
    """A baseline that lost a variable with its restart and got a long one of no known effect."""
    session = session_of({"base": STEADY, "spec": SPEC}, against=TUNED)
    session.attach_fingerprint("base", Fingerprint(env={"NCCL_PROTO": "LL"}))
    feed(session, "base", launch(600) + ready(605) + decodes(606, 40, 62.9), offset=len(STEADY))
    session.attach_fingerprint("base", Fingerprint(env={"SGLANG_OWN_THING": LONG}))
    return session


async def opened(pilot: Pilot[None]) -> DiffPage:
    await pilot.press("D")
    for _ in range(3000):
        await pilot.pause(0.01)
        if isinstance(pilot.app.screen, DiffScreen) and pilot.app.screen.query_one(DiffPage).tables is not None:
            await pilot.pause()
            return pilot.app.screen.query_one(DiffPage)
    raise AssertionError("it never came")


async def test_each_pair_of_conditions_is_told_with_what_matters_first_and_why(tmp_path: Path) -> None:
    app = app_of(restarted(), tmp_path)
    async with app.run_test(size=(110, 50)) as pilot:
        page = await opened(pilot)
        assert page.tables is not None
        assert [(table.before, table.rows[0].name) for table in page.tables] == [
            ("reference tuned", "NCCL_PROTO"),
            ("gpu01:30000", "speculative_algorithm"),
            ("gpu01:30000 run 1", "NCCL_PROTO"),
        ]
        shown = text(app)
        assert "the protocol of every all-reduce" in shown
        assert "not known: environment of the right side" in shown
        assert "and 1 that is noise (o shows them)" in shown
        assert " port " not in shown
        await pilot.press("o")
        await pilot.pause()
        assert " port " in text(app)


async def test_long_value_is_cut_until_it_is_unfolded(tmp_path: Path) -> None:
    app = app_of(restarted(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        at = next(at for at, (_, row) in enumerate(page.entries()) if row.name == "SGLANG_OWN_THING")
        await pilot.press(*["down"] * at)
        await pilot.pause()
        assert "yyyy" not in text(app)
        await pilot.press("enter")
        await pilot.pause()
        whole = "".join(row.strip(" ▆█") for row in frame(app))
        assert "y" * 60 in whole
        assert "\x1b" not in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "yyyy" not in text(app)


async def test_tables_follow_a_restart(tmp_path: Path) -> None:
    session = restarted()
    app = app_of(session, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        before = page.tables
        feed(session, "base", launch(1200, tp_size=4) + ready(1205), offset=10**6)
        for _ in range(3000):
            await pilot.pause(0.01)
            if page.tables is not before:
                break
        assert page.tables is not None
        assert [row.name for row in page.tables[2].rows][:1] == ["tp_size"]
        await pilot.press("D")
        assert app.screen is app.main


@pytest.mark.parametrize(("size", "ascii_only"), [((40, 12), True), ((80, 24), False), ((200, 60), False)])
async def test_tables_fit_every_screen_and_the_chosen_row_is_in_view(
    tmp_path: Path, size: tuple[int, int], ascii_only: bool
) -> None:
    app = app_of(restarted(), tmp_path, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        for key in ("a", "end"):
            await pilot.press(key)
            await pilot.pause()
            rows = frame(app)
            assert {len(row) for row in rows} == {size[0]}
            assert rows[-1].strip().startswith("esc back")
        assert any(row.startswith((">", "▸")) for row in rows)


async def test_without_anything_to_compare_the_screen_says_what_it_needs(tmp_path: Path) -> None:
    app = app_of(session_of({"base": STEADY}), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "it needs a reference, two servers or a restart" in text(app)


def test_copy_has_the_whole_values(tmp_path: Path) -> None:
    from specmon.monitor.difftables import diff_tables

    copied = markdown_of(diff_tables(restarted()))
    assert "| `NCCL_PROTO` | `LL` | *not set* | matters |" in copied
    assert "y" * 90 in copied
    assert "\x1b" not in copied
