"""A whole screen on top of the dashboard that goes on with the session: one page of rows, scrolled where it is long."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen

from specmon.monitor.snapshot import Snapshot
from specmon.ui.look import SEVERITY_STYLE, Look
from specmon.ui.panel import Panel
from specmon.ui.row import fit, fit_ends, fits, piece

Key = tuple[str, str, str]  # what is printed, its word, the action


class Page(Panel):
    """Rows of any number; it is as high as they are, and at least as high as the room there is."""

    least_height = 0  # rows of the room, which a chart may fill

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Every row of the page, made for a room of `height` rows."""
        raise NotImplementedError

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """The rows; the page grows with them."""
        found = self.all_rows(width, self.least_height or height)
        needed = max(len(found), self.least_height)
        if needed != height:
            self.styles.height = needed
        return found


class TopRow(Panel):
    """What the page is about, and the session's verdict."""

    depends_on = ("headline",)

    def __init__(self, look: Look, title: str) -> None:
        super().__init__(look, id="page-title")
        self._title_text = title

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row."""
        headline = self.snapshot.headline
        style = SEVERITY_STYLE[headline.severity]
        word = piece((f"{self.look.mark(headline.severity)} {headline.word}", style), rank=1)
        sentence = piece((headline.sentence, "$quiet"), rank=2)
        return [fit_ends([piece((f" {self._title_text}", "bold $brand"))], [word, sentence], width - 1)]


class PageKeys(Panel):
    """The keys of the page; each can be clicked."""

    depends_on = ()

    def __init__(self, look: Look, keys: Sequence[Key]) -> None:
        super().__init__(look, id="page-keys")
        self._keys = keys
        self._places: list[tuple[int, int, str]] = []

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row: the last keys of the list go first when it is short, but never the first."""
        keys = list(self._keys)

        def pieces() -> list[tuple[str, str]]:
            return [(key, f" {word}") for key, word, _ in keys]

        while len(keys) > 1 and not fits([piece((k, ""), (w, "")) for k, w in pieces()], width - 2):
            keys.pop()
        made = [piece((key, "bold $brand"), (word, "$quiet")) for key, word in pieces()]
        x = 1
        self._places = []
        for each, (_, _, action) in zip(made, keys, strict=True):
            self._places.append((x, x + each.width, action))
            x += each.width + 2
        return [Content.assemble(" ", fit(made, width - 2))]

    async def on_click(self, event: events.Click) -> None:
        """Do what the key under the pointer does."""
        for start, end, action in self._places:
            if start <= event.x < end:
                await self.screen.run_action(action)


class LiveScreen(Screen[None]):
    """A title, a page and its keys. The session goes on under it."""

    TITLE_TEXT = ""
    KEYS: Sequence[Key] = ()
    BINDINGS = [Binding("escape", "close_page", "Back", id="page.close")]

    def __init__(self, look: Look, snapshot: Snapshot) -> None:
        super().__init__()
        self.look = look
        self._snapshot = snapshot

    def make_page(self) -> Page:
        """The page."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Three parts, one under the other."""
        yield TopRow(self.look, self.TITLE_TEXT)
        with VerticalScroll(id="page-room", can_focus=True):
            yield self.make_page()
        yield PageKeys(self.look, (("esc", "back", "close_page"), *self.KEYS, ("q", "quit", "app.quit")))

    def on_mount(self) -> None:
        """Arrow keys scroll the page."""
        self.take(self._snapshot)
        self.query_one("#page-room").focus()

    def on_resize(self) -> None:
        """The page is made for the room that it has."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        page, room = self.query_one(Page), self.query_one("#page-room")
        if page.least_height != room.size.height:
            page.least_height = room.size.height
            page.styles.height = max(1, room.size.height)
            page.redraw()

    def take(self, snapshot: Snapshot) -> None:
        """The session has gone on."""
        self._snapshot = snapshot
        for panel in self.query(Panel):
            panel.snapshot = snapshot

    def action_close_page(self) -> None:
        """Back to the dashboard."""
        self.dismiss(None)
