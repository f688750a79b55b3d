"""The screen that explains a figure: a list of all of them, and everything that is known of the chosen one."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message

from specmon.monitor.explaining import Explanation, explanations_of, figure_of
from specmon.monitor.logpage import LineView
from specmon.monitor.snapshot import Snapshot
from specmon.ui.explainpage import ExplainPage
from specmon.ui.livescreen import LiveScreen, Page, PageKeys, TopRow
from specmon.ui.look import Look
from specmon.ui.panels.figurelist import FigureList

_BESIDE = 100  # cells from which the list stands beside the text
_LIST_WIDTH = 40


class ExplainScreen(LiveScreen):
    """Figures by key and by click; the session goes on under it."""

    TITLE_TEXT = "explain"
    BINDINGS = [
        Binding("right", "step(1)", "Next figure", id="explain.next"),
        Binding("left", "step(-1)", "Figure before", id="explain.before"),
        Binding("enter", "open_line", "Its line in the log", id="explain.line"),
        Binding("tab", "toggle_list", "List of all figures", id="explain.list"),
        Binding("x", "close_page", "Back", show=False, id="explain.close"),
    ]
    KEYS = (
        ("←→", "figure", "screen.step(1)"),
        ("enter", "its line in the log", "screen.open_line"),
        ("tab", "list", "screen.toggle_list"),
    )

    class LineAsked(Message):
        """Somebody wants to see a line of the log among its neighbours."""

        def __init__(self, at: float, server: str, position: int | None) -> None:
            super().__init__()
            self.at = at
            self.server = server
            self.position = position

    def __init__(self, look: Look, snapshot: Snapshot, figure: str = "", word: str = "") -> None:
        """`figure` is shown first; rather one that the number in `word` is."""
        super().__init__(look, snapshot)
        self._told: tuple[Explanation, ...] = ()
        self._wanted = figure
        self._word = word
        self._is_list_wanted = False
        self._line: tuple[object, LineView | None] = (None, None)  # the newest look into the log, and what it was for

    @property
    def figure(self) -> Explanation | None:
        """The figure that is explained."""
        found = next((each for each in self._told if each.id == self._wanted), None)
        return found or next(iter(self._told), None)

    def make_page(self) -> Page:
        """The page of one figure."""
        return ExplainPage(self.look)

    def compose(self) -> ComposeResult:
        """The list beside the page, in one frame."""
        yield TopRow(self.look, self.TITLE_TEXT)
        with Horizontal(id="explain-room"):
            yield FigureList(self.look, id="figure-list")
            with VerticalScroll(id="page-room", can_focus=True):
                yield self.make_page()
        yield PageKeys(self.look, (("esc", "back", "screen.close_page"), *self.KEYS, ("q", "quit", "app.quit")))

    def take(self, snapshot: Snapshot) -> None:
        """The session has gone on: the same figure, with the figures of now."""
        self._snapshot = snapshot
        self._told = explanations_of(snapshot)
        if self._word:
            self._wanted = figure_of(self._word, self._told) or self._wanted
            self._word = ""
        self._show()
        super().take(snapshot)

    def choose(self, figure: str, word: str = "") -> None:
        """Explain another figure."""
        self._wanted = (figure_of(word, self._told) if word else None) or figure
        self._show()
        for panel in (*self.query(FigureList), *self.query(ExplainPage)):
            panel.redraw()
        for room in self.query("#page-room"):
            room.scroll_to(0, 0, animate=False)

    def _show(self) -> None:
        if not self.query(ExplainPage):
            return  # a picture may come before the screen is up; it takes the newest then
        page, figures = self.query_one(ExplainPage), self.query_one(FigureList)
        page.figure = chosen = self.figure
        page.line = self._line_of(chosen)
        figures.told, figures.chosen = self._told, chosen.id if chosen is not None else ""

    def _line_of(self, figure: Explanation | None) -> LineView | None:
        """The text of the line; looked for again only when it is another one."""
        source = figure.source if figure is not None else None
        if source is None or source.position is None or self._snapshot.logbook is None:
            return None
        key = (source.key, source.position)
        if self._line[0] != key:
            self._line = (key, self._snapshot.logbook().line_at(*key))
        return self._line[1]

    # -- room --------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """A narrow terminal has room for the list or for the text."""
        self._place()
        super()._fill()

    def _place(self) -> None:
        if not self.query(ExplainPage):
            return
        is_beside = self.app.size.width >= _BESIDE
        figures, room = self.query_one(FigureList), self.query_one("#page-room")
        figures.display = is_beside or self._is_list_wanted
        room.display = is_beside or not self._is_list_wanted
        figures.styles.width = _LIST_WIDTH if is_beside else "100%"
        (figures if figures.display else room).focus()

    # -- keys --------------------------------------------------------------------------------------

    def action_step(self, figures: int) -> None:
        """Go to the next figure, or the one before; round at the ends."""
        ids = [each.id for each in self._told]
        chosen = self.figure
        if chosen is not None:
            self.choose(ids[(ids.index(chosen.id) + figures) % len(ids)])

    def action_toggle_list(self) -> None:
        """Show the list in place of the text, or the text again; where both have room, change the focus."""
        if self.app.size.width >= _BESIDE:
            figures, room = self.query_one(FigureList), self.query_one("#page-room")
            (room if figures.has_focus else figures).focus()
            return
        self._is_list_wanted = not self._is_list_wanted
        self._place()

    def action_open_line(self) -> None:
        """Go to the line in the log; from the list that hides it, to the text first."""
        if self._is_list_wanted and self.app.size.width < _BESIDE:
            self.action_toggle_list()
            return
        source = self.figure.source if self.figure is not None else None
        if source is None or source.at is None:
            self.app.notify("this figure rests on no single line", markup=False, timeout=3)
            return
        self.post_message(self.LineAsked(source.at, source.server, source.position))

    @on(FigureList.Chosen)
    def _chosen(self, message: FigureList.Chosen) -> None:
        self.choose(message.figure)
