"""The Textual app: runs the feed, takes a picture of it a few times a second, hands it down."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.screen import ModalScreen, Screen

from specmon.errors import SpecmonError
from specmon.monitor.announcing import Announcer
from specmon.monitor.feed import Feed
from specmon.monitor.snapshot import EMPTY, Role, Severity, Snapshot
from specmon.ui.ask import Asked, AskScreen
from specmon.ui.choose import Candidate, ChooseScreen
from specmon.ui.dashboard import Dashboard
from specmon.ui.desk import Desk
from specmon.ui.explainscreen import ExplainScreen
from specmon.ui.fleet import FleetScreen
from specmon.ui.handover import Handover, Notice, Outlet
from specmon.ui.help import HelpScreen
from specmon.ui.keys import set_up_keys
from specmon.ui.layout import Focus
from specmon.ui.logscreen import LogScreen
from specmon.ui.look import AsciiFilter, Look
from specmon.ui.pace import Pace
from specmon.ui.palette import commands
from specmon.ui.panels.bars import KeyBar
from specmon.ui.panels.evidence import Differences, Events
from specmon.ui.panels.header import Header
from specmon.ui.panels.logpane import LogPane
from specmon.ui.themes import DEFAULT_VARIABLES
from specmon.ui.theming import Theming
from specmon.ui.timetravel import TIME_BINDINGS, TimeApp

EXIT_INTERRUPTED = 130
_THEMES_EVERY_S = 1.0
_SLICE_S = 0.005  # after so much drawing others have their turn

_REPLAY_ACTIONS = {"change_speed"}


class SpecmonApp(TimeApp):
    """The live comparison of two servers."""

    TITLE = "specmon"
    CSS_PATH = "specmon.tcss"
    # Escape sequences of selection and hover cost frames on slow links and say nothing here.
    ALLOW_SELECT = False
    AUTO_FOCUS = None
    BINDINGS = [
        Binding("space", "toggle_pause", "Pause or go on", id="session.pause"),
        *TIME_BINDINGS,
        Binding("l,slash", "show_whole_log", "Log", key_display="l", id="view.log"),
        Binding("ctrl+l", "show_log", "Log below the verdict", id="view.log_below"),
        Binding("d", "show_differences", "Configuration that differs", id="view.differences"),
        Binding("v", "show_events", "All events", id="view.events"),
        Binding("f", "show_fleet", "All servers", id="view.fleet"),
        Binding("p", "show_phases", "Cycle phases", id="view.phases"),
        Binding("x", "explain", "Explain a figure", id="view.explain"),
        Binding("a", "show_assumptions", "The four assumptions", id="view.assumptions"),
        Binding("w", "show_what_if", "What if: move the break-even", id="view.whatif"),
        Binding("D", "show_conditions", "Configuration: why it matters, whole values", id="view.conditions"),
        Binding("b", "show_sweep", "Sweep: all settings by speed-up", id="view.sweep"),
        Binding("r", "show_references", "References: choose, record", id="view.references"),
        Binding("escape", "show_overview", "Overview", id="view.overview"),
        Binding("t", "next_theme", "Next theme", id="view.theme"),
        Binding("y", "copy_verdict", "Copy the verdict (Markdown)", id="session.copy"),
        Binding("e", "export", "Export the session into a folder", id="session.export"),
        Binding("s", "save_picture", "Save a picture (SVG)", id="view.picture"),
        Binding("question_mark", "show_help", "Help", key_display="?", id="app.help"),
        Binding("q", "quit", "Quit", id="app.quit"),
        Binding("ctrl+c", "interrupt", "Quit", show=False, priority=True, id="app.interrupt"),
    ]

    # Guarded by `_tick`: two pictures are told apart by their version, not field by field.
    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    def __init__(
        self,
        feed: Feed,
        *,
        theme: str | None = None,
        ascii_only: bool = False,
        interval_s: float = 0.25,
        theme_folders: Sequence[Path] | None = None,
        handover: Handover | None = None,
        notice: Notice | None = None,
        desk: Desk | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self._ascii_filter = AsciiFilter() if ascii_only else None
        super().__init__()
        self._feed = feed
        self._news: asyncio.Event | None = getattr(feed, "news", None)  # set by whatever comes
        self._handover = handover
        self._notice = notice
        self.desk = desk
        self._outlet = Outlet(self._write_to_terminal, os.environ)
        self._look = self.look = Look(ascii_only)
        self._interval_s = interval_s
        self._has_undrawn = False  # news wait for their picture
        self._drawing = asyncio.Lock()  # one picture after the other
        self._theming = Theming(self, theme, theme_folders)
        self._held: Snapshot | None = None
        self._shown: tuple[object, ...] = ()
        self._announcer = Announcer()
        self._is_up = asyncio.Event()
        self._fleet: FleetScreen | None = None  # the last one that was shown
        self._wanted_keys = keys or {}
        self.own_keys: Mapping[str, str] = {}  # by the action's id, in Textual's names

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables, for themes that lack them."""
        return dict(DEFAULT_VARIABLES)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Every line goes through the ASCII filter when the terminal needs it."""
        filters = super().get_line_filters()
        return filters if self._ascii_filter is None else [*filters, self._ascii_filter]

    def compose(self) -> ComposeResult:
        """One dashboard."""
        yield Dashboard(self._look).data_bind(SpecmonApp.snapshot)

    def on_mount(self) -> None:
        """Load the themes, start the feed, take the first picture."""
        self.set_class(self._look.ascii_only, "-ascii")
        self._theming.set_up()
        self.set_interval(_THEMES_EVERY_S, self._theming.look)
        self.own_keys = set_up_keys(self, self._wanted_keys)
        self.query_one(KeyBar).own_keys = self.own_keys
        self.run_worker(self._run_feed(), name="feed", group="feed")
        self.set_interval(self._interval_s, self._beat)
        if self._news is not None:
            self.run_worker(self._draw_news(self._news), name="news", group="news")
        self.call_after_refresh(self._tick)
        self._is_up.set()

    # --- the feed ---------------------------------------------------------------------------------

    async def _run_feed(self) -> None:
        reason = ""
        try:
            await self._feed.run()
        except SpecmonError as error:
            reason = str(error)
            self.notify(reason, title="The session ended", severity="error", markup=False)
        # The last picture stays: it is what somebody came to read.
        self._tick()
        header = self.main.query_one(Header)
        header.ended = reason
        header.redraw()

    async def _beat(self) -> None:
        """Draw what the clock alone changes: ages, positions. News have a pace of their own."""
        if not self._has_undrawn:
            await self._draw()

    async def _draw_news(self, news: asyncio.Event) -> None:
        """Draw what comes: at once after a quiet moment, else within a beat."""
        loop, pace = asyncio.get_running_loop(), Pace(self._interval_s)
        while True:  # ends with the screen
            came_at = pace.taken_at
            if not news.is_set():
                await news.wait()
                came_at = loop.time()
            self._has_undrawn = True
            await asyncio.sleep(max(0.0, pace.due(came_at) - loop.time()))
            news.clear()
            pace.take(loop.time())
            await self._draw()
            self._has_undrawn = False

    async def _draw(self) -> None:
        """Draw what is new; where lines come by themselves, panel by panel, so that they are taken in meanwhile."""
        async with self._drawing:
            await self._draw_fresh()

    async def _draw_fresh(self) -> None:
        if self._news is None or self._feed.controls is not None:
            self._tick()
            return
        if (fresh := self._look_at_feed()) is None:
            return
        dashboard, loop = self.main.query_one(Dashboard), asyncio.get_running_loop()
        await asyncio.sleep(0)
        dashboard.is_patient = True
        self.snapshot = fresh
        dashboard.is_patient = False
        with self.batch_update():  # no frame shows half of it
            began = loop.time()
            # Behind the table of all servers the panels wait: nobody sees them.
            while not self._is_covered and dashboard.hand_next():
                if loop.time() - began > _SLICE_S:
                    await asyncio.sleep(0)
                    began = loop.time()
        self.screen.check_idle()

    def _tick(self) -> None:
        """Take a picture, and hand it down at once when it differs from the one on the screen."""
        if (fresh := self._look_at_feed()) is not None:
            self.snapshot = fresh

    def _look_at_feed(self) -> Snapshot | None:
        """Take a picture; it is answered when it differs from the one on the screen."""
        if not self.is_running or self.main.query_one_optional("#dashboard") is None:
            return None
        fresh = self._feed.snapshot()
        self._announce(fresh)
        if self._held is not None:
            header = self.main.query_one(Header)
            header.held_lines = max(0, fresh.log_revision - self._held.log_revision)
            header.redraw()
            return None
        if (log := self._log_screen) is not None:
            log.snapshot = fresh
            self._shown = ()  # the panels behind it rest until it goes
            return None
        key = _key_of(fresh)
        if key != self._shown:
            self._shown = key
            return fresh
        # Between two samples only the clock goes on.
        self.main.query_one(Header).snapshot = fresh
        return None

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Keys that only a replay has come and go with it."""
        if self._is_covered and self._fleet is not None:
            self._fleet.show(snapshot)
        bar = self.main.query_one(KeyBar)
        is_replay, has_fleet = self._feed.controls is not None, len(snapshot.fleet) > 2
        if (bar.is_replay, bar.has_fleet) != (is_replay, has_fleet):
            bar.is_replay, bar.has_fleet = is_replay, has_fleet
            bar.redraw()
            self.refresh_bindings()
        self.hand_to_pages(snapshot)

    # --- questions --------------------------------------------------------------------------------

    async def ask(self, host: str, text: str, is_echoed: bool) -> str | None:
        """Ask the user; None when there is no answer. Whoever stops waiting takes the question away."""
        return await self._answer_to(AskScreen(host, text, is_echoed=is_echoed))

    async def choose(self, title: str, text: str, candidates: Sequence[Candidate]) -> str | None:
        """Let the user choose; the key of what was chosen, None when things are to stay as they are."""
        return await self._answer_to(ChooseScreen(title, text, candidates))

    async def _answer_to(self, screen: ModalScreen[str | None]) -> str | None:
        await self._is_up.wait()  # a question that comes before the screen would be lost
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.post_message(Asked(screen, answer))
        try:
            return await answer
        finally:
            if not answer.done() or answer.cancelled():
                self.call_later(self._withdraw, screen)

    def on_asked(self, message: Asked) -> None:
        """Show the question, unless nobody waits for it any more."""
        answer = message.answer
        if answer.done():
            return

        def take(given: str | None) -> None:
            if not answer.done():
                answer.set_result(given)

        self.push_screen(message.screen, take)

    def _withdraw(self, screen: ModalScreen[str | None]) -> None:
        if screen.is_attached and screen in self.screen_stack:
            screen.dismiss(None) if screen is self.screen else screen.remove()

    # --- actions ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A live session has no replay keys."""
        return self._feed.controls is not None if action in _REPLAY_ACTIONS else True

    def action_toggle_pause(self) -> None:
        """Stop the replay; a live session freezes its picture and goes on receiving."""
        controls = self._feed.controls
        if controls is not None:
            controls.toggle_pause()
            self._tick()
            return
        header = self.main.query_one(Header)
        self._held = self.snapshot if self._held is None else None
        header.held_lines = None if self._held is None else 0
        header.redraw()
        self._tick()

    @property
    def _log_screen(self) -> LogScreen | None:
        return next((each for each in self.screen_stack if isinstance(each, LogScreen)), None)

    def show_at(self, at: float, server: str = "", position: int | None = None) -> None:
        """Open the log at the line of a server (by its name) at a moment of its log's clock, or at a byte of it."""
        if (log := self._log_screen) is not None:
            log.show_at(at, server, position)
            return
        self._open_log((at, server, position))

    def on_events_chosen(self, message: Events.Chosen) -> None:
        """An event leads to its line."""
        self.show_at(message.event.at, message.event.server, message.event.position)

    def on_events_zoomed(self) -> None:
        """A click on the border of the events."""
        self.action_show_events()

    def on_explain_screen_line_asked(self, message: ExplainScreen.LineAsked) -> None:
        """A figure leads to the line that it rests on."""
        self.show_at(message.at, message.server, message.position)

    def action_show_whole_log(self) -> None:
        """The log on a screen of its own."""
        if self._log_screen is None:
            self._open_log(None)

    def _open_log(self, at: tuple[float, str, int | None] | None) -> None:
        log = LogScreen(self._look, at=at, own_keys=self.own_keys)
        log.set_reactive(LogScreen.snapshot, self._held or self._feed.snapshot())
        self.push_screen(log)

    def action_show_log(self) -> None:
        """Give the lower part of the screen to the log, or take it back."""
        self._turn_to(Focus.LOG)
        if self.main.query_one(Dashboard).focus_on is Focus.LOG:
            self.call_after_refresh(self.main.query_one(LogPane).focus)

    def action_show_differences(self) -> None:
        """Give the lower part of the screen to what differs, or take it back."""
        self._turn_to(Focus.DIFFERENCES)
        if self.main.query_one(Dashboard).focus_on is Focus.DIFFERENCES:
            self.call_after_refresh(self.main.query_one(Differences).focus)

    def action_show_events(self) -> None:
        """Give the lower part of the screen to the events, or take it back."""
        self._turn_to(Focus.EVENTS)
        if self.main.query_one(Dashboard).focus_on is Focus.EVENTS:
            self.call_after_refresh(self.main.query_one(Events).focus)

    def action_show_fleet(self) -> None:
        """All servers in one table."""
        if isinstance(self.screen, FleetScreen):
            return
        chosen = self._fleet.chosen if self._fleet is not None else None
        self._fleet = FleetScreen(self._look, self.snapshot, self._put, chosen, gone=self._uncover)
        self.push_screen(self._fleet)

    @property
    def _is_covered(self) -> bool:
        return self._fleet is not None and self._fleet is self.screen

    def _uncover(self) -> None:
        """Hand the panels the pictures that they missed."""
        if not self._is_covered and (dashboard := self.main.query_one_optional(Dashboard)) is not None:
            while dashboard.hand_next():
                pass

    def _put(self, key: str, side: Role) -> None:
        """Let a server stand on a side; a picture that is held is not that pair's."""
        self._feed.put(key, side)
        self.draw_choice()

    def draw_choice(self) -> None:
        """A picture that is held is not of what was chosen."""
        if self._held is not None:
            self.action_toggle_pause()
        self._tick()

    def action_show_overview(self) -> None:
        """Take the cursor off the charts; without one, back to all panels."""
        if self.leave_cursor():
            return
        self.leave_pages()
        self.main.query_one(Dashboard).focus_on = Focus.OVERVIEW
        self.main.set_focus(None)

    def _turn_to(self, focus: Focus) -> None:
        self.leave_pages()
        dashboard = self.main.query_one(Dashboard)
        if dashboard.focus_on is focus:
            self.action_show_overview()
        else:
            dashboard.focus_on = focus

    def action_interrupt(self) -> None:
        """Ctrl+C ends the program as it ends every other one."""
        self.exit(return_code=EXIT_INTERRUPTED)

    def action_save_picture(self) -> None:
        """Write what the screen shows into the current folder."""
        # The palette must be gone before the picture is taken.
        self.set_timer(0.1, self._save_picture)

    def _save_picture(self) -> None:
        try:
            path = self.save_screenshot(path=str(Path.cwd()))
        except OSError as error:
            self.notify(f"{error.strerror or error}", title="No picture", severity="error", markup=False)
            return
        self.notify(path, title="Picture saved", markup=False)

    async def action_copy_verdict(self) -> None:
        """The verdict on the screen, as Markdown, into the clipboard."""
        if self._handover is None:
            return
        await self.copy_out(self._handover.verdict(self.snapshot), "the verdict as Markdown")

    async def copy_out(self, text: str, what: str) -> None:
        """A text into the clipboard; which way it can go the terminal and tmux decide."""
        self._outlet.copy(text)
        is_in_tmux = self._handover is not None and await self._handover.to_clipboard(text)
        where = "to the clipboard and to tmux" if is_in_tmux else "to the clipboard, where the terminal allows it"
        self.notify(f"{what}, {where}", title="Copied", markup=False)

    async def action_export(self) -> None:
        """The session as files."""
        if self._handover is None:
            return
        try:
            folder = await self._handover.export(self.snapshot, self.export_screenshot())
        except SpecmonError as error:
            self.notify(str(error), title="Not exported", severity="error", markup=False)
            return
        self.notify(str(folder), title="Exported", markup=False)

    def _announce(self, snapshot: Snapshot) -> None:
        announcement = self._announcer.see(snapshot.headline, asyncio.get_running_loop().time())
        if announcement is None:
            return
        if announcement.severity is Severity.ALERT:
            self.bell()
        if self._notice is not None:
            self._notice.tell(announcement, snapshot)
            if self._notice.on_desktop:
                self._outlet.notify(f"specmon: {announcement.word}", announcement.text)

    def _write_to_terminal(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)

    def action_show_help(self) -> None:
        """All keys and signs."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self._look, is_replay=self._feed.controls is not None, own_keys=self.own_keys))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Everything that has a key, by name."""
        return commands(self, is_replay=self._feed.controls is not None)

    # --- themes -----------------------------------------------------------------------------------

    def action_next_theme(self) -> None:
        """Take the next of our themes."""
        self._theming.next()


def _key_of(snapshot: Snapshot) -> tuple[object, ...]:
    """What has to differ before the screen is drawn again."""
    playback = snapshot.playback
    sides = (snapshot.baseline, snapshot.speculative)
    return (
        snapshot.version,
        int(snapshot.now) // 2,  # the charts move on also when nothing comes
        snapshot.log_revision,
        playback and (playback.is_paused, playback.speed, round(playback.position)),
        *((view.is_stale, max(1, int(view.age_s or 0))) for view in sides if view is not None),
    )
