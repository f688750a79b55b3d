"""The screen of stored references: choose one for the running session, or record the running baseline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual import events
from textual.binding import Binding
from textual.content import Content

from specmon.errors import SpecmonError
from specmon.monitor.shelfview import Recorded, ReferenceRow, Shelf
from specmon.monitor.snapshot import Snapshot
from specmon.ui import figures
from specmon.ui.ask import AskScreen
from specmon.ui.choose import Candidate, ChooseScreen
from specmon.ui.desk import Desk
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.look import Look
from specmon.ui.row import fit, flow, piece, visible
from specmon.ui.shelftable import NONE_NAME, shelf_rows

_READ_AGAIN_S = 5.0
_MOST_STATUS = 4  # rows
_YES = "yes"


class ReferencesPage(Page):
    """The list above, all about the row under the cursor below; it fills the room and scrolls by itself."""

    depends_on = ()
    shelf = Shelf()
    is_read = False
    cursor = 0  # 0 is to have no reference
    status = ""
    is_fault = False
    _top = 0
    _first_detail = 0
    _listed: Sequence[int] = ()  # places by row of the list, from the last drawing

    @property
    def row(self) -> ReferenceRow | None:
        """The reference under the cursor; None for none."""
        return self.shelf.rows[self.cursor - 1] if 0 < self.cursor <= len(self.shelf.rows) else None

    def put(self, shelf: Shelf, beside: str | None = None) -> None:
        """Another answer; the cursor stays on its reference, or goes to the file `beside`."""
        key = beside if beside is not None else self.row.key if self.row is not None else None
        is_first = not self.is_read
        self.shelf, self.is_read = shelf, True
        keys = [row.key for row in shelf.rows]
        if key is not None:
            self.cursor = keys.index(key) + 1 if key in keys else 0
        elif is_first:
            self.cursor = next((at for at, row in enumerate(shelf.rows, start=1) if row.is_chosen), 0)
        self.redraw()

    def tell(self, text: str, *, is_fault: bool = False) -> None:
        """What came of an action; it stays until the next one."""
        self.status, self.is_fault = text, is_fault
        self.redraw()

    def move(self, rows: int) -> None:
        """The cursor up or down."""
        self.cursor = max(0, min(len(self.shelf.rows), self.cursor + rows))
        self._first_detail = 0
        self.redraw()

    def scroll_details(self, rows: int) -> None:
        """What stands below the list, where it is long."""
        self._first_detail = max(0, self._first_detail + rows)
        self.redraw()

    def place_at(self, y: int) -> int | None:
        """Which entry stands in a row of the page; None for no entry."""
        return self._listed[y - 2] if 0 <= y - 2 < len(self._listed) else None

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """Exactly the room there is."""
        if not self.is_read:
            return [Content.assemble((" reading the references …", "$quiet"))]
        status = self._status(width)
        details = self._details(width - 2)
        count = len(self.shelf.rows) + 1
        # The list has what it needs up to half of the room, and more where the rest is not needed.
        free = height - 2 - len(status)
        listed = max(1, min(count, max(free // 2, free - len(details) - 1)))
        self._top = min(max(self._top, self.cursor - listed + 1, 0), self.cursor, max(0, count - listed))
        self._listed = range(self._top, min(count, self._top + listed))
        rows = [self._heading(width), *shelf_rows(self.shelf, self._listed, self.cursor, width)]
        room = height - len(rows) - len(status) - 1
        if room > 0 and details:
            self._first_detail = min(self._first_detail, max(0, len(details) - room))
            shown = details[self._first_detail : self._first_detail + room]
            hidden = len(details) - self._first_detail - len(shown)
            if hidden > 0:
                shown[-1] = Content.assemble((f" and {hidden + 1} more rows (page down)", "$quiet"))
            rows += [Content(""), *shown]
        rows += [Content("")] * (height - len(rows) - len(status))
        return [*rows, *status]

    def _heading(self, width: int) -> Content:
        shelf = self.shelf
        if not shelf.baseline:
            return fit([piece((" no baseline in this session yet", "$quiet"))], width)
        speed = "no clean sample yet"
        if shelf.tok_s is not None:
            speed = f"{figures.tok_s(shelf.tok_s)} tok/s at {shelf.running} running"
        name = piece((f" baseline {shelf.baseline}", "$series-baseline"), rank=1)
        return fit([piece((f" now {speed}", "bold $foreground")), name], width)

    def _details(self, width: int) -> list[Content]:
        row = self.row
        if row is None:
            places = ", ".join(self.shelf.places)
            if self.shelf.rows:
                text = "No deviation is told, and no line of a reference is drawn."
            else:
                text = f"There is no reference in {places}. n writes the running baseline down as one."
            return _flowed(text, width, "$quiet")
        if row.fault:
            return _flowed(row.fault, width, "$caution")
        found: list[Content] = []
        if row.misfit:
            found += _flowed(f"{row.misfit}.", width, "$caution")
        for text in row.details:
            found += _flowed(text, width, "$caution" if text.startswith("matters: ") else "$foreground")
        return found

    def _status(self, width: int) -> list[Content]:
        if not self.status:
            return []
        sign, style = ("✗", "bold $alert") if self.is_fault else ("✓", "bold $good")
        lines = flow(visible(self.status), width - 4, _MOST_STATUS)
        return [
            Content.assemble((f" {sign} " if not at else "   ", style), (line, "$foreground"))
            for at, line in enumerate(lines)
        ]


def _flowed(text: str, width: int, style: str) -> list[Content]:
    return [
        Content.assemble((f"{' ' if not at else '   '}{line}", style))
        for at, line in enumerate(flow(visible(text), max(8, width - 3), 20))
    ]


class ReferencesScreen(LiveScreen):
    """References, one of them in use."""

    TITLE_TEXT = "references"
    KEYS = (
        ("↑↓", "move", "move(1)"),
        ("enter", "use it", "use"),
        ("n", "record new", "record"),
        ("a", "add a session", "add_session"),
        ("D", "diff", "app.show_conditions"),
    )
    BINDINGS = [
        # Before the room takes them for scrolling.
        Binding("up", "move(-1)", "Reference above", priority=True, id="references.up"),
        Binding("down", "move(1)", "Reference below", priority=True, id="references.down"),
        Binding("home", "move(-9999)", "First", priority=True, id="references.first"),
        Binding("end", "move(9999)", "Last", priority=True, id="references.last"),
        Binding("pageup", "scroll_details(-5)", "What is told of it: up", priority=True, id="references.page_up"),
        Binding("pagedown", "scroll_details(5)", "What is told of it: down", priority=True, id="references.page_down"),
        Binding("enter", "use", "Hold the session against it", priority=True, id="references.use"),
        Binding("n", "record", "Record the baseline as a new reference", id="references.record"),
        Binding("a", "add_session", "Add the baseline to it as a session", id="references.add"),
    ]

    def __init__(self, look: Look, snapshot: Snapshot, desk: Desk, chosen: Callable[[], object]) -> None:
        """`chosen` is called when the session is held against another reference."""
        super().__init__(look, snapshot)
        self._desk = desk
        self._tell_chosen = chosen

    def make_page(self) -> Page:
        """The list and what is told of one row."""
        return ReferencesPage(self.look)

    @property
    def page(self) -> ReferencesPage:
        """The page."""
        return self.query_one(ReferencesPage)

    def on_mount(self) -> None:
        """Read the references now, and again from time to time: others may write some."""
        super().on_mount()
        self._read()
        self.set_interval(_READ_AGAIN_S, self._read)

    def _read(self) -> None:
        self.run_worker(self._show(), group="references", exclusive=True)

    async def _show(self, beside: str | None = None) -> None:
        try:
            shelf = await self._desk.references()
        except SpecmonError as error:
            self.page.tell(str(error), is_fault=True)
            return
        if self.is_attached:
            self.page.put(shelf, beside)

    # -- actions ---------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Another row."""
        self.page.move(rows)

    def action_scroll_details(self, rows: int) -> None:
        """What is told of the row, where it is long."""
        self.page.scroll_details(rows)

    def action_use(self) -> None:
        """Hold the session against the reference under the cursor."""
        if not self.page.is_read:
            return
        row = self.page.row
        try:
            self._desk.choose(None if row is None else row.key)
        except SpecmonError as error:
            self.page.tell(str(error), is_fault=True)
            return
        name = NONE_NAME if row is None else row.name
        self.page.tell("no reference is in use" if row is None else f"the session is held against {name}")
        self._tell_chosen()
        self._read()

    def action_record(self) -> None:
        """Ask for a name and write the running baseline down."""
        shelf = self.page.shelf
        text = f"The baseline {shelf.baseline} is written into {shelf.record_into}/NAME.toml. Its NAME:"

        def take(name: str | None) -> None:
            if name is not None and name.strip():
                self._write(self._desk.record(name.strip()))

        self.app.push_screen(AskScreen("record a reference", text, is_echoed=True), take)

    def action_add_session(self) -> None:
        """Ask once more, then add the running baseline to the reference under the cursor."""
        row = self.page.row
        if row is None:
            self.page.tell("choose the reference that gets one more session, or record a new one", is_fault=True)
            return
        key = row.key
        text = "Its speed becomes the median of all its sessions, and what they differ by its spread."
        choices = (Candidate("no", "leave it as it is"), Candidate(_YES, f"add {self.page.shelf.baseline}"))

        def take(answer: str | None) -> None:
            if answer == _YES:
                self._write(self._desk.add_session(key))

        self.app.push_screen(ChooseScreen(f"one more session of {row.name}", text, choices), take)

    def _write(self, writing: Awaitable[Recorded]) -> None:
        self.page.tell("writing …")
        self.run_worker(self._written(writing), group="recording")

    async def _written(self, writing: Awaitable[Recorded]) -> None:
        try:
            recorded = await writing
        except SpecmonError as error:
            self.page.tell(str(error), is_fault=True)
            return
        self.page.tell(f"recorded: {recorded.text}")
        await self._show(recorded.key)

    # -- mouse -----------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; on the row under the cursor it is Enter."""
        page = self.page
        if event.widget is not page or (place := page.place_at(event.y)) is None:
            return
        if place == page.cursor:
            self.action_use()
        else:
            page.move(place - page.cursor)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.page.move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.page.move(1)
