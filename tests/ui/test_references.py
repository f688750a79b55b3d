"""The screen of references: what is stored, another choice for the running session, recording the running baseline."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from specmon.commands.desk import SessionDesk
from specmon.errors import SpecmonError
from specmon.references.model import Reference, ReferenceLevel
from specmon.references.store import load
from specmon.references.writing import text_of
from specmon.ui.app import SpecmonApp
from specmon.ui.referencescreen import ReferencesPage, ReferencesScreen
from tests.monitor.lines import decodes, feed, launch, ready

from .desks import SPEC, STEADY, SessionFeed, app_of, session_of
from .frames import frame, text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """./references with two references and a file that is none."""
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "references"
    made.mkdir()
    for name, tok_s, model in (("tuned", 88.8, "/models/kimi"), ("untuned", 62.9, "/models/kimi")):
        level = ReferenceLevel(running=1, tok_s=tok_s, sigma=0.01)
        (made / f"{name}.toml").write_text(text_of(Reference(name=name, model=model, levels=(level,))))
    (made / "half.toml").write_text("schema = ")
    return Path("references")


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait for a state, however slow the machine is."""
    for _ in range(3000):
        await pilot.pause(0.01)
        if is_so():
            return
    raise AssertionError("it never came")


async def opened(pilot: Pilot[None]) -> ReferencesPage:
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReferencesScreen))
    page = pilot.app.screen.query_one(ReferencesPage)
    await until(pilot, lambda: page.is_read)
    return page


async def typed(pilot: Pilot[None], name: str) -> None:
    await pilot.press("n")
    await until(pilot, lambda: bool(pilot.app.screen.query(Input)))
    await pilot.press(*name, "enter")


async def test_list_tells_which_reference_fits_the_baseline_that_runs(folder: Path) -> None:
    app = app_of(session_of(), folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        rows = frame(app)
        assert "now 62.9 tok/s at 1 running" in rows[1]
        assert [row.split()[:1] for row in rows[3:7]] == [["▸"], ["tuned"], ["untuned"], ["half"]]
        assert "−29.2 %" in rows[4]
        assert " 0.0 %" in rows[5]
        assert "cannot be read" in rows[6]
        await pilot.press("end")
        assert "it is not valid TOML" in text(app)
        assert page.row is not None


async def test_choice_is_what_the_session_is_held_against_at_once(folder: Path) -> None:
    session = session_of()
    app = app_of(session, folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: page.shelf.rows[0].is_chosen)
        assert session.reference is not None
        assert session.reference.name == "tuned"
        assert "BASELINE NOT TRUSTED" in frame(app)[0]
        await pilot.press("up", "enter")  # none
        await until(pilot, lambda: not any(row.is_chosen for row in page.shelf.rows))
        assert session.reference is None
        assert "SPECULATIVE WINS" in frame(app)[0]
        await pilot.click(ReferencesPage, offset=(6, 4))  # the row of `untuned`: the cursor, then the choice
        assert session.reference is None
        await pilot.click(ReferencesPage, offset=(6, 4))
        await until(pilot, lambda: page.shelf.rows[1].is_chosen)
        await pilot.press("r")
        assert app.screen is app.main
        assert "untuned" in text(app)


async def test_reference_of_the_command_line_stays_in_the_list(folder: Path) -> None:
    by_hand = Reference(name="by hand", levels=(ReferenceLevel(running=1, tok_s=70.0),))
    session = session_of(against=by_hand)
    app = app_of(session, folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        assert page.row is not None
        assert (page.row.name, page.row.is_chosen) == ("by hand", True)
        await pilot.press("end", "up", "enter")
        await until(pilot, lambda: session.reference is not by_hand)
        await pilot.press("home", "down", "enter")
        await until(pilot, lambda: session.reference is by_hand)


async def test_running_baseline_is_recorded_under_a_typed_name(folder: Path) -> None:
    app = app_of(session_of(), folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        await typed(pilot, "now-1")
        await until(pilot, lambda: page.status.startswith("recorded: "))
        await until(pilot, lambda: page.row is not None and page.row.name == "now-1")
        written = load(folder / "now-1.toml")
        (level,) = written.levels
        assert (level.running, level.tok_s, level.n) == (1, 62.9, 39)
        assert (written.host, written.model, len(written.sessions)) == ("gpu01", "/models/kimi", 1)
        assert written.fingerprint.flags is not None
        assert (folder / "now-1.toml").stat().st_mode & 0o077 == 0
        await pilot.press("a")
        await pilot.press("2")  # one run looked at twice is no second session
        await until(pilot, lambda: page.is_fault)
        assert "holds a session of this run already" in page.status
        assert len(load(folder / "now-1.toml").sessions) == 1


async def test_another_start_of_the_server_is_one_more_session(folder: Path) -> None:
    session = session_of({"base": STEADY})
    app = app_of(session, folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        await typed(pilot, "both")
        await until(pilot, lambda: page.row is not None and page.row.name == "both")
        feed(session, "base", launch(600) + ready(605) + decodes(606, 40, 64.0), offset=len(STEADY))
        await pilot.press("enter")  # it is in use: what it says then is what counts
        await until(pilot, lambda: session.reference is not None)
        await pilot.press("a", "2")
        await until(pilot, lambda: "2 sessions" in page.status)
        assert len(load(folder / "both.toml").sessions) == 2
        assert session.reference is not None
        assert len(session.reference.sessions) == 2


@pytest.mark.parametrize(
    ("logs", "name", "part"),
    [
        ({"base": launch(0) + decodes(6, 8)}, "few", "7 clean samples of 8, 3 more are needed"),
        ({"base": launch(0) + decodes(1, 30) + decodes(20, 30, 50.0)}, "moved", "its speed moved while"),
        ({"spec": SPEC}, "spec", "there is no baseline in this session yet"),
        ({"base": STEADY}, "../evil", "a name has letters, digits"),
        ({"base": STEADY}, "tuned", "there is a reference tuned already"),
    ],
)
async def test_what_is_not_worth_recording_is_refused_in_a_sentence(
    folder: Path, logs: dict[str, str], name: str, part: str
) -> None:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*.toml")}
    desk = SessionDesk(SessionFeed(session_of(logs)), (folder,))
    with pytest.raises(SpecmonError, match=part):
        await desk.record(name)
    assert {path: path.read_bytes() for path in folder.parent.rglob("*.toml")} == before


async def test_refusal_stays_on_the_screen(folder: Path) -> None:
    app = app_of(session_of(), folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        await typed(pilot, "tuned")
        await until(pilot, lambda: page.is_fault)
        await until(pilot, lambda: "there is a reference tuned already" in text(app))


async def test_screen_goes_on_while_a_file_waits_to_be_written(folder: Path) -> None:
    """Another program holds the folder."""
    app = app_of(session_of(), folder)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            await typed(pilot, "late")
            await until(pilot, lambda: page.status == "writing …")
            before = page.cursor
            await pilot.press("down")
            assert page.cursor == before + 1
            assert not (folder / "late.toml").exists()
        finally:
            os.close(handle)
        await until(pilot, lambda: page.status.startswith("recorded: "))
        assert (folder / "late.toml").exists()


@pytest.mark.parametrize(("size", "ascii_only"), [((40, 12), True), ((80, 24), False), ((200, 60), False)])
async def test_list_fits_every_screen(folder: Path, size: tuple[int, int], ascii_only: bool) -> None:
    for number in range(30):
        level = ReferenceLevel(running=1, tok_s=60.0 + number)
        named = Reference(name=f"a-long-name-[b]{number:02}[/x]", note="[/b] \x1b[2J " * 30, levels=(level,))
        (folder / f"many-{number:02}.toml").write_text(text_of(named))
    app = app_of(session_of(), folder, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot)
        for _ in range(2):
            rows = frame(app)
            assert {len(row) for row in rows} == {size[0]}
            assert len(rows) == size[1]
            assert "\x1b" not in "".join(rows)
            assert rows[-1].strip().startswith("esc back")
            assert sum(row.startswith((">", "▸")) for row in rows) == 1
            await pilot.press("end")
        assert page.cursor == len(page.shelf.rows)


async def test_without_a_desk_there_are_no_references_to_choose() -> None:
    from . import pictures
    from .feeds import StillFeed

    app = SpecmonApp(StillFeed(pictures.diverged()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("r")
        assert app.screen is app.main
