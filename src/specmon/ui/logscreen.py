"""The log's own screen: both logs merged by time, searched and filtered without ever holding up the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Input

from specmon.monitor.logpage import Kind, LogBook, LogFilter, LogServer
from specmon.monitor.snapshot import EMPTY, Snapshot
from specmon.shares import percent
from specmon.ui import figures
from specmon.ui.linescreen import LineScreen
from specmon.ui.look import SEVERITY_STYLE, Look
from specmon.ui.panel import Panel
from specmon.ui.panels.bars import KeyBar
from specmon.ui.panels.logview import LogView
from specmon.ui.row import Piece, fit, fit_ends, piece

_STEPS_A_TURN = 4  # steps of a search between two looks at the keyboard
_KEYS = (
    ("/", "search", "screen.search", 0),
    ("n N", "next", "screen.next(1)", 3),
    ("&", "filter", "screen.filter", 1),
    ("v", "server", "screen.next_server", 4),
    ("o", "kind", "screen.next_kind", 5),
    ("f", "follow", "screen.follow", 2),
    ("enter", "line", "screen.open_line", 6),
    ("?", "help", "app.show_help", 7),
    ("esc", "back", "screen.leave", 0),
)


class LogKeys(KeyBar):
    """The keys of the log; each can be clicked."""

    def keys(self) -> Sequence[tuple[str, str, str, int]]:
        """Key, word, action, rank."""
        return _KEYS


class LogHead(Panel):
    """The verdict in one row: it is never out of sight."""

    depends_on = ("headline",)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """Sign, word, sentence."""
        headline = self.snapshot.headline
        style = SEVERITY_STYLE[headline.severity]
        words = [
            piece((f" {self.look.mark(headline.severity)} {headline.word}", f"bold {style}")),
            piece((headline.sentence, "$foreground"), rank=1),
        ]
        return [fit(words, width)]


class LogState(Panel):
    """Which lines are shown, where the cursor is, and what is being looked for."""

    depends_on = ()
    left: Sequence[Piece] = ()
    right: Sequence[Piece] = ()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row."""
        return [fit_ends(self.left, self.right, width)]


class LogScreen(ModalScreen[None]):
    """All lines that are held. Keys of the session work here, too; those of the panels behind it do not."""

    BINDINGS = [
        Binding("slash", "search", "Search the log", key_display="/", id="log.search"),
        Binding("n", "next(1)", "Next match", id="log.next"),
        Binding("N", "next(-1)", "Match before", id="log.before"),
        Binding("ampersand", "filter", "Only lines that match", key_display="&", id="log.filter"),
        Binding("v", "next_server", "Lines of one server", id="log.server"),
        Binding("o", "next_kind", "Statistics only, or all but these", id="log.kind"),
        Binding("f", "follow", "Follow the newest line", id="log.follow_newest"),
        Binding("escape,l", "leave", "Back", id="log.leave"),
        Binding("space", "app.toggle_pause", "Pause or go on", id="log.pause"),
        Binding("shift+right", "app.seek(60)", "1 min forward", key_display="⇧→", id="log.seek_forward"),
        Binding("shift+left", "app.seek(-60)", "1 min back", key_display="⇧←", id="log.seek_back"),
        Binding("full_stop", "app.step(1)", "Next sample", key_display=".", id="log.step"),
        Binding("comma", "app.step(-1)", "Sample before", key_display=",", id="log.step_back"),
        Binding("t", "app.next_theme", "Next theme", id="log.theme"),
        Binding("s", "app.save_picture", "Save a picture (SVG)", id="log.picture"),
        Binding("question_mark", "app.show_help", "Help", key_display="?", id="log.help"),
        Binding("q", "app.quit", "Quit", id="log.quit"),
    ]
    AUTO_FOCUS = "LogView"

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    def __init__(
        self,
        look: Look,
        *,
        at: tuple[float, str, int | None] | None = None,
        own_keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._own_keys = own_keys
        self._look = look
        self._at = at  # where it begins: moment, server, place in its log
        self._book: LogBook | None = None
        self._filter = LogFilter()
        self._needle = ""
        self._told: tuple[str, str] = ("", "")  # the outcome of the last search or filter, and its style
        self._asks = ""  # "search" or "filter" while somebody types
        self._search: asyncio.Task[None] | None = None
        self._sifting: asyncio.Task[None] | None = None
        self._moment: tuple[float, str] | None = None  # of the line under the cursor

    def compose(self) -> ComposeResult:
        """Verdict, lines, state, keys."""
        yield LogHead(self._look, id="log-head").data_bind(LogScreen.snapshot)
        yield LogView(id="lines")
        yield LogState(self._look, id="log-state")
        answer = Input(id="log-input", compact=True)
        answer.cursor_blink = False  # a blinking cursor paints the screen twice a second
        answer.display = False
        yield answer
        keys = LogKeys(self._look, id="log-keys")
        keys.own_keys = self._own_keys
        yield keys

    def on_mount(self) -> None:
        """The first picture is there already."""
        self.call_after_refresh(self._take)

    def on_unmount(self) -> None:
        """Nobody waits for an answer any more."""
        self._stop()

    # -- the session ---------------------------------------------------------------------------------

    def watch_snapshot(self) -> None:
        """Lines have come; after a seek it is another log."""
        if self.is_mounted:
            self._take()

    @property
    def _view(self) -> LogView:
        return self.query_one(LogView)

    def _take(self) -> None:
        book = None if self.snapshot.logbook is None else self.snapshot.logbook()
        if book is not self._book:
            self._open(book)
            return
        if book is not None and book.sync():
            self._view.fetch()
            self._sift()

    def _open(self, book: LogBook | None) -> None:
        view, was_following = self._view, self._view.follows
        self._stop()
        is_first, self._book = self._book is None, book
        if book is not None:
            book.sync()
            if not is_first and self._filter.server not in (None, *(each.key for each in book.servers)):
                self._filter = LogFilter(self._filter.pattern, None, self._filter.kind)
            book.choose(self._filter)
        view.open_book(book)
        if self._at is not None and book is not None:
            at, self._at = self._at, None
            self.show_at(*at)
        elif not is_first and not was_following and self._moment is not None:
            self.show_at(*self._moment)
        self._sift()
        self._draw_state()

    def show_at(self, at: float, server: str = "", position: int | None = None) -> None:
        """Put the cursor on the line of a server at a moment of its log's clock, or at a place of its log."""
        if self._book is None:
            self._at = (at, server, position)
            return
        index = self._book.index_at(at, server, position)
        if index is not None:
            self._view.go_to(index, centred=True)

    # -- keys ----------------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Give up what is going on, else go back to where one was."""
        if self._asks:
            self._close_input()
        elif self._search is not None:
            self._stop_search()
            self._tell("search given up")
        else:
            self.dismiss()

    def action_follow(self) -> None:
        """Follow the newest line, or stay here."""
        if self._view.follows:
            self._view.go_to(self._view.cursor)
        else:
            self._view.follow()

    def action_open_line(self) -> None:
        """Show the line under the cursor in full."""
        self._view.action_open()

    def action_search(self) -> None:
        """Ask what to look for."""
        self._ask("search", self._needle, "search: a regular expression; capitals only matter if there is one")

    def action_filter(self) -> None:
        """Ask which lines to show."""
        self._ask("filter", self._filter.pattern, "show only lines that match; empty shows all")

    def action_next(self, step: int) -> None:
        """Go to the next match, or the one before."""
        if self._needle:
            self._hunt(self._view.cursor + step, step)
        else:
            self._tell("nothing to look for yet: / asks")

    def action_next_server(self) -> None:
        """All servers, then each by itself."""
        keys = [None, *(each.key for each in self._servers())]
        index = keys.index(self._filter.server) if self._filter.server in keys else 0
        self._choose(LogFilter(self._filter.pattern, keys[(index + 1) % len(keys)], self._filter.kind))

    def action_next_kind(self) -> None:
        """All lines, statistics only, all but statistics."""
        kinds = list(Kind)
        kind = kinds[(kinds.index(self._filter.kind) + 1) % len(kinds)]
        self._choose(LogFilter(self._filter.pattern, self._filter.server, kind))

    def on_log_view_opened(self, message: LogView.Opened) -> None:
        """One line in full."""
        view = None if self._book is None else self._book.view(message.number)
        if view is not None:
            self.app.push_screen(LineScreen(view))

    def on_log_view_moved(self) -> None:
        """The state's row tells where the cursor is."""
        current = self._view.current
        if current is not None and current.line.at is not None:
            self._moment = (current.line.at, current.line.server)
        self._draw_state()

    def _servers(self) -> Sequence[LogServer]:
        return () if self._book is None else self._book.servers

    # -- what is typed -------------------------------------------------------------------------------

    def _ask(self, what: str, text: str, placeholder: str) -> None:
        self._asks = what
        answer = self.query_one(Input)
        answer.placeholder = placeholder
        answer.value = text
        answer.display = True
        answer.focus()
        self._draw_state()

    def _close_input(self) -> None:
        self._asks = ""
        self.query_one(Input).display = False
        self._view.focus()
        self._draw_state()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """What was typed is looked for, or chosen by; a faulty pattern stays to be mended."""
        event.stop()
        if self._book is None:
            self._close_input()
        elif self._asks == "filter":
            if fault := self._book.choose(LogFilter(event.value, self._filter.server, self._filter.kind)):
                self._tell(fault, is_fault=True)
                return
            self._close_input()
            self._choose(LogFilter(event.value, self._filter.server, self._filter.kind))
        else:
            hunt = self._book.hunt(event.value, 0, 1)
            if isinstance(hunt, str):
                self._tell(hunt, is_fault=True)
                return
            self._needle = event.value
            self._close_input()
            self._view.highlight(self._needle)
            self._tell("")
            if self._needle:
                # Who reads the newest lines wants the newest match.
                self._hunt(self._view.cursor, -1 if self._view.follows else 1)

    # -- searching -----------------------------------------------------------------------------------

    def _hunt(self, start: int, step: int) -> None:
        self._stop_search()
        if self._book is not None and self._book.count:
            self._search = asyncio.create_task(self._run_hunt(self._book, start % self._book.count, step))

    async def _run_hunt(self, book: LogBook, start: int, step: int) -> None:
        hunt = book.hunt(self._needle, start, step)
        if isinstance(hunt, str):
            self._tell(hunt, is_fault=True)
            return
        turns = 0
        while not hunt.step():
            turns += 1
            if turns % _STEPS_A_TURN == 0:
                self._tell(f"searching, {percent(hunt.share)}: esc gives up")
                await asyncio.sleep(0)
        self._search = None
        if hunt.found is None:
            self._tell("no line matches", is_fault=True)
            return
        self._view.go_to(hunt.found)
        end = "the oldest line" if step > 0 else "the newest line"
        self._tell(f"went on from {end}" if hunt.has_wrapped else "")

    def _stop_search(self) -> None:
        if self._search is not None:
            self._search.cancel()
            self._search = None

    def _stop(self) -> None:
        self._stop_search()
        if self._sifting is not None:
            self._sifting.cancel()
            self._sifting = None

    def _choose(self, wanted: LogFilter) -> None:
        self._filter = wanted
        if self._book is not None:
            self._stop()
            self._book.choose(wanted)
            self._tell("")
            self._view.fetch()
            self._sift()

    def _sift(self) -> None:
        """Let the filter look at what it has not seen, beside everything else."""
        if self._book is not None and self._filter.pattern and self._sifting is None:
            self._sifting = asyncio.create_task(self._run_sift(self._book))

    async def _run_sift(self, book: LogBook) -> None:
        turns = 0
        while (share := book.work()) is not None:
            turns += 1
            if turns % _STEPS_A_TURN == 0:
                self._view.fetch()
                self._tell(f"filtering, {percent(share)}")
                await asyncio.sleep(0)
        self._sifting = None
        if turns:
            self._view.fetch()
        if self._told[0].startswith("filtering"):
            self._tell("")

    # -- the state's row -----------------------------------------------------------------------------

    def _tell(self, text: str, *, is_fault: bool = False) -> None:
        self._told = (text, "bold $caution" if is_fault else "$foreground")
        self._draw_state()

    def _beginning(self) -> str:
        """What lies before the oldest line; "" when it is the first one of each log."""
        earlier = [each for each in self._servers() if each.before_bytes]
        if not earlier:
            return ""
        if any(each.is_awaited for each in earlier):
            return "earlier lines are being read"
        sizes = ", ".join(f"{each.name} {figures.count(max(1, each.before_bytes / 1e6))} MB" for each in earlier)
        return f"before this: {sizes}; `specmon tail --from-start` prints all"

    def _draw_state(self) -> None:
        if not self.is_mounted:
            return
        state, book, view = self.query_one(LogState), self._book, self._view
        left: list[Piece] = []
        if self._asks:
            left.append(piece((f" {self._asks}:", "bold $brand")))
        if self._told[0]:
            left.append(piece((f" {self._told[0]}", self._told[1])))
        if self._needle:
            left.append(piece((" /", "$quiet"), (self._needle, "$foreground"), rank=2))
        if self._filter.pattern:
            left.append(piece((" only ", "$quiet"), (self._filter.pattern, "bold $brand"), rank=1))
        if self._filter.server is not None:
            name = next((each.name for each in self._servers() if each.key == self._filter.server), "")
            left.append(piece((" only ", "$quiet"), (name, "bold $brand"), rank=1))
        if self._filter.kind is not Kind.ALL:
            left.append(piece((f" {self._filter.kind.value}", "bold $brand"), rank=1))
        if not left and view.cursor == 0 and (beginning := self._beginning()):
            left.append(piece((f" {beginning}", "$foreground")))
        if not left:
            left.append(piece((" B baseline  S speculative", "$quiet"), rank=5))
        right: list[Piece] = []
        if book is not None:
            of_all = "" if self._filter.is_open else f" of {figures.count(book.total)}"
            row = min(view.cursor + 1, book.count)
            right.append(piece((f"line {figures.count(row)} / {figures.count(book.count)}{of_all}", "$quiet"), rank=3))
        if view.sideways:
            right.append(piece((f"from cell {view.sideways}", "$quiet"), rank=4))
        right.append(piece(("following " if view.follows else "not following ", "$quiet"), rank=2))
        state.left, state.right = left, right
        state.redraw()
