"""The lines of the log's own screen: only the visible rows are fetched and drawn, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from specmon.monitor.logpage import LogBook, LogRow
from specmon.monitor.snapshot import Role
from specmon.ui import figures
from specmon.ui.panels.logpane import LOUD, STAMP, reason_of
from specmon.ui.row import cut, visible

_PARTS = (
    "name-baseline", "name-speculative", "name-unknown", "plain", "stats", "loud", "unparsed", "reason", "time", "bar",
    "gone", "match", "cursor",
)  # fmt: skip
_SIDES = {Role.BASELINE: "B", Role.SPECULATIVE: "S"}
_NAME_WIDTH = 20
_STEP = 8  # cells of one step sideways
_FURTHEST = 16_000


class LogView(Widget, can_focus=True):
    """Rows of a `LogBook` with a cursor; it follows the newest one until one moves away from it."""

    COMPONENT_CLASSES = {f"log--{part}" for part in _PARTS}
    BINDINGS = [
        Binding("up,k", "move(-1)", "Line up", show=False, id="lines.up"),
        Binding("down,j", "move(1)", "Line down", show=False, id="lines.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="lines.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="lines.page_down"),
        Binding("home,g", "oldest", "Oldest line", show=False, id="lines.oldest"),
        Binding("end,G", "newest", "Newest line, follow", show=False, id="lines.newest"),
        Binding("left", "sideways(-1)", "Left", show=False, id="lines.left"),
        Binding("right", "sideways(1)", "Right", show=False, id="lines.right"),
        Binding("enter", "open", "One line in full", show=False, id="lines.open"),
    ]

    class Opened(Message):
        """Somebody wants to see a line in full."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Moved(Message):
        """The cursor or the following changed; what is told of them must be drawn again."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._book: LogBook | None = None
        self._count = 0
        self._top = 0
        self._cursor = 0
        self._number: int | None = None  # the line under the cursor
        self._rows: Sequence[LogRow] = ()  # the visible ones, from `_top` on
        self._sideways = 0
        self._name_width = 0
        self._follows = True
        self._needle = ""
        self._styles: dict[str, Style] = {}

    # -- what it shows -------------------------------------------------------------------------------

    @property
    def follows(self) -> bool:
        """Whether the newest line is kept in view."""
        return self._follows

    @property
    def cursor(self) -> int:
        """Index of the row under the cursor."""
        return self._cursor

    @property
    def current(self) -> LogRow | None:
        """The row under the cursor."""
        index = self._cursor - self._top
        return self._rows[index] if 0 <= index < len(self._rows) else None

    @property
    def sideways(self) -> int:
        """Cells that are scrolled away at the left."""
        return self._sideways

    def open_book(self, book: LogBook | None) -> None:
        """Show another log, from its end on."""
        self._book, self._follows, self._number = book, True, None
        self.fetch()

    def highlight(self, pattern: str) -> None:
        """Mark where a pattern matches."""
        self._needle = pattern
        self.refresh()

    def fetch(self) -> None:
        """Look at the log again; the line under the cursor stays where it is on the screen."""
        book = self._book
        self._count = 0 if book is None else book.count
        if not self._count:
            self._top = self._cursor = 0
        elif self._follows:
            self._cursor = self._count - 1
        elif self._number is not None and book is not None:
            index = book.index_of(self._number)
            if index is not None:
                self._top += index - self._cursor
                self._cursor = index
        self._settle()

    def go_to(self, index: int, *, centred: bool = False) -> None:
        """Put the cursor on a row."""
        self._cursor = max(0, min(index, self._count - 1))
        self._follows = False
        if centred:
            self._top = self._cursor - self.size.height // 2
        self._settle()

    def follow(self) -> None:
        """Go to the newest line and stay there."""
        self._follows = True
        self._cursor = max(self._count - 1, 0)
        self._settle()

    def _settle(self) -> None:
        height = max(self.size.height, 1)
        self._top = min(self._top, self._cursor)
        self._top = max(self._top, self._cursor - height + 1)
        self._top = max(0, min(self._top, self._count - height))
        self._rows = () if self._book is None else self._book.rows(self._top, height)
        current = self.current
        self._number = None if current is None else current.number
        if self._book is not None:
            widest = max((cell_len(visible(each.name)) for each in self._book.servers), default=0)
            self._name_width = min(widest, _NAME_WIDTH if self.size.width >= 72 else 0)
        self.refresh()
        self.post_message(self.Moved())

    # -- keys and mouse ------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self._move_to(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move by pages; one row stays in view."""
        step = pages * max(1, self.size.height - 1)
        self._top += step
        self._move_to(self._cursor + step)

    def action_oldest(self) -> None:
        """Go to the oldest line that is known."""
        self._move_to(0)

    def action_newest(self) -> None:
        """Go to the newest line and stay there."""
        self.follow()

    def action_sideways(self, steps: int) -> None:
        """Move the text."""
        self._sideways = max(0, min(_FURTHEST, self._sideways + steps * _STEP))
        self.refresh()
        self.post_message(self.Moved())

    def action_open(self) -> None:
        """Show the line under the cursor in full."""
        if self._number is not None:
            self.post_message(self.Opened(self._number))

    def _move_to(self, index: int) -> None:
        if index >= self._count - 1:
            self.follow()
        else:
            self.go_to(index)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls by three rows, sideways with shift."""
        event.stop()
        self.action_sideways(-1) if event.shift else self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls by three rows, sideways with shift."""
        event.stop()
        self.action_sideways(1) if event.shift else self.action_move(3)

    def on_click(self, event: events.Click) -> None:
        """A click takes the line, a second one opens it."""
        index = self._top + event.y
        if index >= self._count:
            return
        if event.chain > 1:
            self.action_open()
        else:
            self.go_to(index)

    def on_resize(self) -> None:
        """Other rows are visible."""
        self._settle()

    def notify_style_update(self) -> None:
        """A new theme."""
        self._styles.clear()
        super().notify_style_update()

    # -- drawing -------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One visible row, with its part of the scroll bar in the last cell."""
        width = self.size.width
        if y >= len(self._rows):
            text = " no lines" if y == 0 and not self._count else ""
            return Strip([Segment(text, self._style("stats"))]).adjust_cell_length(width, self.rich_style)
        is_current = self._top + y == self._cursor
        strip = self._draw(self._rows[y], max(width - 1, 0), is_current=is_current)
        return Strip.join([strip, Strip([Segment(self._bar(y), self._style("bar"))], 1)])

    def _bar(self, y: int) -> str:
        height, total = self.size.height, self._count
        if total <= height:
            return " "
        thumb = max(1, height * height // total)
        start = round(self._top / (total - height) * (height - thumb))
        return "▐" if start <= y < start + thumb else " "

    def _draw(self, row: LogRow, width: int, *, is_current: bool) -> Strip:
        line = row.line
        role = line.role if line.role in _SIDES else Role.UNKNOWN
        sign = "?" if line.is_unparsed else "◦" if line.excluded else " "
        name = cut(visible(line.server), self._name_width) if self._name_width else ""
        name += " " * (self._name_width - cell_len(name))
        head = [
            Segment("▸" if is_current else " ", self._style("time")),
            Segment(f"{_SIDES.get(role, '·')} {name}{' ' if name else ''}", self._style(f"name-{role.value}")),
            Segment(f"{figures.clock(line.at) if line.at is not None else '--:--:--'} ", self._style("time")),
            Segment(f"{sign} ", self._style("unparsed" if line.is_unparsed else "reason")),
        ]
        room = max(0, width - sum(segment.cell_length for segment in head))
        reason = reason_of(line)
        if room - cell_len(reason) < 24:
            reason = ""
        space = room - cell_len(reason)
        body = self._body(row).crop(self._sideways, self._sideways + space)
        body = body.adjust_cell_length(space, self._style("stats"))
        strip = Strip([*head, *body, Segment(reason, self._style("reason"))])
        strip = strip.adjust_cell_length(width, self.rich_style)
        return self._under_cursor(strip) if is_current else strip

    def _under_cursor(self, strip: Strip) -> Strip:
        """The whole row stands out; what matches keeps its own colours."""
        cursor, match = self._style("cursor"), self._style("match")
        return Strip(
            [each if each.style == match else Segment(each.text, (each.style or Style()) + cursor) for each in strip]
        )

    def _body(self, row: LogRow) -> Strip:
        line = row.line
        text = visible(line.text)
        if line.at is not None and (stamp := STAMP.match(text)) is not None:
            # The time stands in its own column already.
            text = (f"{stamp[1]} " if stamp[1] else "") + text[stamp.end() :]
        part = "plain"
        if not row.is_held:
            part = "gone"
        elif line.is_unparsed:
            part = "unparsed"
        elif LOUD.search(text):
            part = "loud"
        elif line.is_stats:
            part = "stats"
        style = self._style(part)
        spans = self._book.spans(self._needle, text) if self._book is not None and self._needle else ()
        segments, done = [], 0
        for start, end in spans:
            segments += [Segment(text[done:start], style), Segment(text[start:end], self._style("match"))]
            done = end
        return Strip([*segments, Segment(text[done:], style)])

    def _style(self, part: str) -> Style:
        style = self._styles.get(part)
        if style is None:
            style = self._styles[part] = self.get_component_rich_style(f"log--{part}", partial=part == "cursor")
        return style
