"""The log's own screen: every key, a search and a filter that hold nothing up, the way there and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from specmon.monitor.logpage import LogFilter
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Playback, Role, Snapshot
from specmon.sources.events import Chunk
from specmon.ui.app import SpecmonApp
from specmon.ui.linescreen import LineScreen
from specmon.ui.logscreen import LogKeys, LogScreen
from specmon.ui.panels.evidence import Events
from specmon.ui.panels.logview import LogView

from ..monitor.lines import START, decodes, launch, plain, prefill, ready
from .conftest import SnapCompare
from .feeds import Controls
from .frames import frame, text

BASE = (
    launch(0, api_key="sk-verysecret123456")
    + ready(1)
    + prefill(3)
    + decodes(4, 300)
    + plain(200, "WARNING: [/x] something \x1b[31modd\x1b[0m happened in the cache")
    + plain(201, "Decode batch, #running-req: 1, #token: 300, cut")
)
SPEC = launch(0, port=30001, speculative_algorithm="EAGLE3") + ready(2) + decodes(4.5, 300, 150.0, accept=2.0)


class SessionFeed:
    """A session that a test feeds; with controls it is a replay."""

    def __init__(self, controls: Controls | None = None) -> None:
        self.session = Session(mode="replay")
        self.session.add("base", "/logs/base.log")
        self.session.add("spec", "/logs/spec.log")
        self.now = START + 300
        self._sizes = {"base": 0, "spec": 0}
        self._controls = controls

    def write(self, key: str, lines: str) -> None:
        """The server has logged something."""
        data = lines.encode()
        self.session.feed(key, Chunk(self.now, self._sizes[key], data))
        self._sizes[key] += len(data)

    @property
    def controls(self) -> Controls | None:
        return self._controls

    async def run(self) -> None:
        await asyncio.Event().wait()

    def put(self, key: str, side: Role) -> None:
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        playback = None
        if self._controls is not None:
            playback = Playback(self.now, START, START + 300, 1.0, True)
        return self.session.snapshot(self.now, playback=playback)


def story(controls: Controls | None = None) -> SessionFeed:
    feed = SessionFeed(controls)
    feed.write("base", BASE)
    feed.write("spec", SPEC)
    return feed


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for a state, however slow the machine is."""
    for _ in range(1500):
        await asyncio.sleep(0.02)  # not `pilot.pause`, which waits for a quiet moment
        if holds():
            return
    raise AssertionError(text(pilot.app) if isinstance(pilot.app, SpecmonApp) else "not reached")


def view(app: SpecmonApp) -> LogView:
    return app.screen.query_one(LogView)


async def open_log(pilot: Pilot[None], key: str = "l") -> None:
    await pilot.pause()
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, LogScreen) and bool(pilot.app.screen.query(LogView)))
    await until(pilot, lambda: pilot.app.screen.query_one(LogView).current is not None)


def row(app: SpecmonApp) -> str:
    """The row under the cursor."""
    return next(each for each in frame(app) if each.startswith("▸"))


@pytest.mark.parametrize("key", ["l", "slash"])
async def test_both_logs_stand_there_by_time_with_a_letter_for_the_side(key: str) -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_log(pilot, key)
        shown = frame(app)
        assert "not following" not in text(app)
        assert "SPECULATIVE WINS" in shown[0]
        await pilot.press("home")
        await until(pilot, lambda: "server_args" in row(app))
        shown = frame(app)
        assert [each[1] for each in shown[1:5]] == ["B", "S", "B", "S"]
        assert "sk-verysecret" not in text(app)
        assert "not following" in text(app)


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
async def test_nothing_wraps_and_what_is_left_out_says_why(size: tuple[int, int]) -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=size) as pilot:
        await open_log(pilot)
        await pilot.press("home", "down", "down", "down", "down", "down", "down")
        await until(pilot, lambda: "not following" in text(app))
        assert all(len(each) <= size[0] for each in frame(app))
        assert "◦" in text(app)
        if size[0] >= 80:
            assert "left out: first after start" in text(app)
        await pilot.press("end")
        await until(pilot, lambda: "not following" not in text(app))
        assert "? Decode batch" in text(app)
        assert "[/x] something" in text(app)


async def test_it_follows_until_the_cursor_leaves_the_end_and_again_with_f() -> None:
    feed = story()
    app = SpecmonApp(feed, interval_s=0.2)
    async with app.run_test(size=(100, 20)) as pilot:
        await open_log(pilot)
        feed.write("base", plain(300, "the newest line"))
        await until(pilot, lambda: "the newest line" in row(app))
        await pilot.press("pageup", "up")
        await until(pilot, lambda: "not following" in text(app))
        held = view(app).current
        feed.write("base", plain(301, "a newer line"))
        count = view(app).cursor
        await until(pilot, lambda: "608" in text(app) or "609" in text(app) or view(app)._count > count + 10)
        assert view(app).current == held
        assert "a newer line" not in text(app)
        await pilot.press("f")
        await until(pilot, lambda: "a newer line" in row(app))
        await pilot.press("f")
        await until(pilot, lambda: "not following" in text(app))
        await pilot.press("end")
        await until(pilot, lambda: view(app).follows)


async def test_wheel_arrows_and_a_click_move_and_the_text_moves_sideways() -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=(80, 24)) as pilot:
        await open_log(pilot)
        await pilot.press("home")
        await until(pilot, lambda: view(app).cursor == 0)
        await pilot.press("down", "down", "up")
        assert view(app).cursor == 1
        await pilot.press("pagedown")
        assert view(app).cursor == 1 + view(app).size.height - 1
        await pilot.press("pageup", "k", "j")
        await pilot.click(LogView, offset=Offset(30, 5))
        await until(pilot, lambda: row(app) == frame(app)[6])
        start = row(app)[40:50]
        await pilot.press("right")
        await until(pilot, lambda: "from cell 8" in text(app))
        assert row(app)[32:42] == start
        await pilot.press("left")
        await until(pilot, lambda: "from cell" not in text(app))
        before = view(app).cursor
        view(app).action_move(3)
        await pilot.pause()
        assert view(app).cursor == before + 3


async def test_search_goes_from_match_to_match_and_tells_when_it_went_around() -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=(120, 30)) as pilot:
        await open_log(pilot)
        await pilot.press("slash", *"fired", "enter")
        await until(pilot, lambda: "The server is fired up" in row(app))
        last = view(app).cursor
        await pilot.press("N")
        await until(pilot, lambda: view(app).cursor < last)
        await pilot.press("n")
        await until(pilot, lambda: view(app).cursor == last)
        await pilot.press("n")
        await until(pilot, lambda: "went on from the oldest line" in text(app))
        assert view(app).cursor < last
        match = next(
            segment for segment in view(app).render_line(view(app).cursor - view(app)._top) if segment.text == "fired"
        )
        assert match.style is not None
        assert match.style.underline  # not by colour alone


async def test_faulty_pattern_and_one_that_nothing_matches_are_told() -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=(120, 30)) as pilot:
        await open_log(pilot)
        await pilot.press("n")
        await until(pilot, lambda: "nothing to look for yet" in text(app))
        await pilot.press("slash", "left_parenthesis", "enter")
        await until(pilot, lambda: "not a pattern: missing )" in text(app))
        assert app.focused is app.screen.query_one(Input)  # to be mended
        app.screen.query_one(Input).value = "no such words"
        await pilot.press("enter")
        await until(pilot, lambda: "no line matches" in text(app))
        await pilot.press("slash")
        app.screen.query_one(Input).value = "verysecret"  # what is hidden cannot be found out either
        await pilot.press("enter")
        await until(pilot, lambda: "/verysecret" in text(app) and "no line matches" in text(app))
        await pilot.press("slash", "escape")
        await until(pilot, lambda: not app.screen.query_one(Input).display)
        assert isinstance(app.screen, LogScreen)


async def test_filter_shows_matching_lines_only_also_those_that_come_later() -> None:
    feed = story()
    app = SpecmonApp(feed, interval_s=0.2)
    async with app.run_test(size=(120, 30)) as pilot:
        await open_log(pilot)
        await pilot.press("ampersand", *"fired|odd", "enter")
        await until(pilot, lambda: "line 3 / 3 of" in text(app))
        feed.write("spec", plain(400, "very odd again"))
        await until(pilot, lambda: "very odd again" in text(app))
        assert "gen throughput" not in text(app)
        await pilot.press("v")
        await until(pilot, lambda: "line 2 / 2 of" in text(app))
        assert [each[1] for each in frame(app)[1:3]] == ["B", "B"]
        await pilot.press("v", "v", "ampersand")
        app.screen.query_one(Input).value = ""
        await pilot.press("enter", "o")
        await until(pilot, lambda: "statistics only" in text(app))
        assert "fired" not in text(app)
        await pilot.press("o")
        await until(pilot, lambda: "without statistics" in text(app))
        assert "fired" in text(app)
        assert "gen throughput" not in text(app)
        await pilot.press("o")
        await until(pilot, lambda: "B baseline" in text(app))


async def test_search_through_many_lines_lets_keys_and_lines_through() -> None:
    feed = story()
    feed.write("base", "".join(plain(500, f"line number {number}") for number in range(20_000)))
    app = SpecmonApp(feed, interval_s=0.2)
    async with app.run_test(size=(120, 30)) as pilot:
        await open_log(pilot)
        screen = app.screen
        assert isinstance(screen, LogScreen)
        await pilot.press("slash", *"nowhere")
        screen.on_input_submitted(Input.Submitted(screen.query_one(Input), "nowhere"))
        turns = 0
        while "searching" in screen._told[0] or not turns:
            await asyncio.sleep(0)  # every other task of the program has its turn here
            turns += 1
        assert turns > 3
        await until(pilot, lambda: "no line matches" in text(app))
        screen.action_next(1)
        await asyncio.sleep(0)
        screen.action_leave()
        await until(pilot, lambda: "search given up" in text(app))
        assert app.screen is screen


async def test_one_line_in_full_tells_what_was_read_and_whether_it_counts() -> None:
    feed = story()
    app = SpecmonApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_log(pilot)
        await pilot.press("ampersand", *"Decode", "enter", "home")
        await until(pilot, lambda: view(app).cursor == 0)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        shown = " ".join(text(app).split())
        for words in ("sglang", "decode", "tok_s", "100", "left out by the rule first_after_start", "esc closes"):
            assert words in shown
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LogScreen))
        await pilot.press("ampersand")
        app.screen.query_one(Input).value = "odd|cut"
        await pilot.press("enter", "end")
        await until(pilot, lambda: "cut" in row(app))
        await pilot.press("enter")
        await until(pilot, lambda: "not understood: it looks like statistics" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LogScreen))
        await pilot.press("up", "enter")
        await until(pilot, lambda: "\\x1b[31modd\\x1b[0m" in text(app))
        assert "\x1b" not in text(app)


async def test_event_leads_to_its_line_and_escape_back() -> None:
    feed = story()
    app = SpecmonApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "ready" in text(app))
        app.query_one(Events).focus()
        await until(pilot, lambda: "enter shows its line" in text(app))
        await pilot.press("down", "up", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, LogScreen) and view(app).current is not None)
        await until(pilot, lambda: "The server is fired up" in row(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, LogScreen))
        events = app.query_one(Events)
        place = next(y for y, each in enumerate(frame(app)) if "ready" in each)
        await pilot.click(Events, offset=Offset(5, place - events.region.y))
        await until(pilot, lambda: isinstance(app.screen, LogScreen) and "The server is fired up" in row(app))


async def test_moment_of_a_server_can_be_shown_by_whoever_knows_it() -> None:
    feed = story()
    app = SpecmonApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        name = feed.session.names()["spec"]
        app.show_at(START + 60, name)
        await until(pilot, lambda: isinstance(app.screen, LogScreen) and view(app).current is not None)
        current = view(app).current
        assert current is not None
        assert (current.line.role, current.line.at) == (Role.SPECULATIVE, START + 60)
        app.show_at(START + 200, feed.session.names()["base"])
        await until(pilot, lambda: "odd" in row(app))


async def test_after_a_seek_back_the_log_is_that_of_the_moment_at_the_same_place() -> None:
    feed = story(Controls())
    app = SpecmonApp(feed, interval_s=0.2)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_log(pilot)
        await pilot.press("slash", *"odd", "enter")
        await until(pilot, lambda: "odd" in row(app))
        total = view(app)._count
        again = story(Controls())
        again.write("base", plain(500, "this is another session"))
        feed.session = again.session
        await until(pilot, lambda: view(app)._count == total + 1)
        await until(pilot, lambda: "odd" in row(app))
        assert not view(app).follows


async def test_session_keys_work_in_the_log_and_those_of_the_panels_do_not() -> None:
    controls = Controls()
    app = SpecmonApp(story(controls))
    async with app.run_test(size=(120, 40)) as pilot:
        await open_log(pilot)
        await pilot.press("space", "full_stop", "comma", "shift+left", "d", "p")
        assert [name for name, _ in controls.calls] == ["pause", "step", "step", "seek"]
        assert isinstance(app.screen, LogScreen)
        await pilot.press("l")
        await until(pilot, lambda: not isinstance(app.screen, LogScreen))


async def test_a_click_on_a_key_does_what_the_key_does() -> None:
    app = SpecmonApp(story())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_log(pilot)
        await pilot.click(LogKeys, offset=Offset(frame(app)[-1].index("filter"), 0))
        await until(pilot, lambda: "filter:" in text(app))
        await pilot.press("escape")
        await pilot.click(LogKeys, offset=Offset(frame(app)[-1].index("back"), 0))
        await until(pilot, lambda: not isinstance(app.screen, LogScreen))


async def test_ascii_mode_shows_ascii_only_and_no_color_keeps_every_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = SpecmonApp(story(), ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_log(pilot)
        ascii_filter = app.get_line_filters()[-1]
        ground = app.screen.background_colors[1]
        rows = [strip.apply_filter(ascii_filter, ground).text for strip in app.screen._compositor.render_strips()]
        assert all(each.isascii() for each in rows)
        assert any(each.startswith(">B") for each in rows)
        assert any("? Decode" in each for each in rows)


async def test_without_a_log_the_screen_says_so() -> None:
    feed = SessionFeed()
    app = SpecmonApp(feed, interval_s=0.2)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LogScreen) and "no lines" in text(app))
        await pilot.press("enter", "n", "up", "down", "pageup", "end", "home", "f", "v", "v", "v", "o", "o", "o")
        feed.write("base", launch(0))
        await until(pilot, lambda: "server_args" in text(app))


def test_line_whose_text_is_gone_is_told_and_still_has_its_place() -> None:
    feed = story()
    store = feed.session.log.store
    store._spill.close()
    store._spill._recent.clear()
    store._spill._written = store._spill.end
    book = feed.session.open_log()
    book.sync()
    assert book.count == store.end
    (first,) = book.rows(5, 1)
    assert (first.is_held, first.line.text) == (False, "(no longer held)")
    line = book.view(first.number)
    assert line is not None
    assert (line.size_bytes, line.raw) == (None, "")
    assert book.choose(LogFilter(pattern="Decode")) == ""
    while book.work() is not None:
        pass
    assert book.count == 0


def test_log_screen(picture_matches: SnapCompare) -> None:
    async def open_it(pilot: Pilot[None]) -> None:
        await open_log(pilot)
        await pilot.press("slash", *"odd", "enter")
        await until(pilot, lambda: isinstance(pilot.app, SpecmonApp) and "odd" in row(pilot.app))

    assert picture_matches(SpecmonApp(story()), terminal_size=(120, 40), run_before=open_it)
