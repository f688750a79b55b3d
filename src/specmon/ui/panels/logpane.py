"""The logs of both servers, merged, as they came: only the visible lines are ever drawn.

It scrolls by itself instead of being a ScrollView: a virtual size that grows with every line would lay
out the whole screen anew for each of them.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.cache import LRUCache
from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip

from specmon.monitor.snapshot import EMPTY, EMPTY_LOG, LogLine, Role, Snapshot
from specmon.ui import figures
from specmon.ui.look import Look
from specmon.ui.resting import Resting
from specmon.ui.row import cut, cut_fields, visible

_PARTS = (
    "name-baseline", "name-speculative", "name-unknown", "plain", "stats", "loud", "unparsed", "reason", "time", "bar",
)  # fmt: skip
# "[2026-01-30 12:00:00 TP0] ": the time stands in its own column already, the rank is worth its cells.
STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,\d]*(?: ([^\]]{1,24}))?\] ?")
# "(APIServer pid=7) INFO 11-30 15:41:36 [loggers.py:127] ": vLLM's. A louder level than INFO is worth its cells.
_VLLM_STAMP = re.compile(
    r"^(?:\([A-Za-z_]\w{1,40} pid=\d{1,10}\) )?(?:INFO|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]{1,96}:\d{1,6}\] "
)
# Where the figures of a statistics line begin, whatever carries it: a JSON record, a container's prefix.
_FIGURES = re.compile(r"(?:Engine \d{1,6}: |\d{1,6} Engines Aggregated: )?Avg prompt throughput: ")
LOUD = re.compile(r"\b(?:error|warning|critical|fatal|traceback|exception|killed)\b", re.IGNORECASE)
_NAME_WIDTH = 16
_NAMED = 200  # newest lines whose servers' names have room


class LogPane(Resting, can_focus=True):
    """Lines of both logs, newest at the bottom; it follows until one scrolls up."""

    COMPONENT_CLASSES = {f"log--{part}" for part in _PARTS}
    BINDINGS = [
        Binding("up", "move(-1)", "Scroll up", show=False, id="log.up"),
        Binding("down", "move(1)", "Scroll down", show=False, id="log.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="log.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="log.page_down"),
        Binding("ctrl+home", "oldest", "Oldest line", show=False, id="log.oldest"),
        Binding("ctrl+end,f", "follow", "Newest line, follow", show=False, id="log.follow"),
    ]

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self._lines = EMPTY_LOG
        self._revision = -1
        self._name_width = 0
        self._first = 0  # index of the topmost visible line while not following
        self._follows = True
        self._strips: LRUCache[tuple[LogLine, str], Strip] = LRUCache(512)
        self._styles: dict[str, Style] = {}

    @property
    def follows(self) -> bool:
        """Whether the newest line is kept in view."""
        return self._follows

    def on_mount(self) -> None:
        """The title is there before the first line is."""
        self._draw_title()

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Take new lines; keep the place when somebody reads further up."""
        if snapshot.log_revision == self._revision and len(snapshot.log) == len(self._lines):
            return
        came = snapshot.log_revision - self._revision
        dropped = max(0, len(self._lines) + came - len(snapshot.log)) if self._revision >= 0 and came > 0 else 0
        self._lines, self._revision = snapshot.log, snapshot.log_revision
        self._first = max(0, self._first - dropped)
        width = max((cell_len(visible(name)) for name in self._lines.names(_NAMED)), default=0)
        if min(width, _NAME_WIDTH) != self._name_width:
            self._name_width = min(width, _NAME_WIDTH)
            self._strips.clear()
        if self.display:
            self.refresh()

    def _top(self, height: int) -> int:
        last = max(0, len(self._lines) - height)
        return last if self._follows else min(self._first, last)

    def _go_to(self, first: int) -> None:
        last = max(0, len(self._lines) - self.size.height)
        self._first = max(0, min(last, first))
        self._follows = self._first >= last
        self._draw_title()
        self.refresh()

    def action_move(self, rows: int) -> None:
        """Scroll by rows."""
        self._go_to(self._top(self.size.height) + rows)

    def action_page(self, pages: int) -> None:
        """Scroll by pages; one row stays in view."""
        height = self.size.height
        self._go_to(self._top(height) + pages * max(1, height - 1))

    def action_oldest(self) -> None:
        """Go to the oldest line that is held."""
        self._go_to(0)

    def action_follow(self) -> None:
        """Go to the newest line and stay there."""
        self._go_to(len(self._lines))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls by three rows."""
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls by three rows."""
        event.stop()
        self.action_move(3)

    def _draw_title(self) -> None:
        state = "" if self._follows else "  not following, [f] follows"
        self.border_title = Content.assemble(("log", "$foreground"), ("  both servers, oldest first" + state, "$quiet"))

    def on_resize(self) -> None:
        """Lines are cut to the width."""
        self._strips.clear()

    def notify_style_update(self) -> None:
        """A new theme: the strips carry the old colours."""
        self._strips.clear()
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One visible row, with its part of the scroll bar in the last cell."""
        width, height = self.size  # looked up once: it takes Textual longer than a row
        top = self._top(height)
        index = top + y
        if index >= len(self._lines):
            text = " no lines yet" if y == 0 and not self._lines else ""
            return Strip([Segment(text, self._style("stats"))]).adjust_cell_length(width, self.rich_style)
        line = self._lines[index]
        bar = self._bar(y, top, height)
        strip = self._strips.get((line, bar))
        if strip is None:
            style = self._style("bar") if len(self._lines) > height else self.rich_style
            strip = Strip.join([self._draw(line, width - 1), Strip([Segment(bar, style)], 1)])
            self._strips[(line, bar)] = strip
        return strip

    def _bar(self, y: int, top: int, height: int) -> str:
        total = len(self._lines)
        if total <= height:
            return " "
        thumb = max(1, height * height // total)
        start = round(top / (total - height) * (height - thumb))
        return "▐" if start <= y < start + thumb else " "

    def _draw(self, line: LogLine, width: int) -> Strip:
        role = line.role if line.role in (Role.BASELINE, Role.SPECULATIVE) else Role.UNKNOWN
        sign = "?" if line.is_unparsed else "◦" if line.excluded else " "
        text = visible(line.text)
        stamp = STAMP.match(text) if line.at is not None else None
        if stamp is not None:
            text = (f"{stamp[1]} " if stamp[1] else "") + text[stamp.end() :]
        elif (found := _FIGURES.search(text) if line.is_stats else _VLLM_STAMP.match(text)) is not None:
            text = text[found.start() if line.is_stats else found.end() :]
        name = cut(visible(line.server), self._name_width)
        name += " " * (self._name_width - cell_len(name))
        head = [
            Segment(f" {name} ", self._style(f"name-{role.value}")),
            Segment(f"{figures.clock(line.at) if line.at is not None else ' ' * 8} ", self._style("time")),
            Segment(f"{sign} ", self._style("unparsed" if line.is_unparsed else "reason")),
        ]
        room = max(0, width - sum(segment.cell_length for segment in head))
        reason = reason_of(line)
        if room - cell_len(reason) < 24:
            reason = ""
        body = (cut_fields if line.is_stats else cut)(text, room - cell_len(reason))
        fill = " " * max(0, room - cell_len(body) - cell_len(reason))
        loud = "loud" if LOUD.search(text) else "stats" if line.is_stats else "plain"
        segments = [
            *head,
            Segment(body, self._style("unparsed" if line.is_unparsed else loud)),
            Segment(fill, self._style("stats")),
            Segment(reason, self._style("reason")),
        ]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _style(self, part: str) -> Style:
        style = self._styles.get(part)
        if style is None:
            style = self._styles[part] = self.get_component_rich_style(f"log--{part}")
        return style


def reason_of(line: LogLine) -> str:
    """Why a line enters no figure, to be shown behind it; "" when it does."""
    if line.is_unparsed:
        return "  not understood"
    return f"  left out: {visible(line.excluded).replace('_', ' ')}" if line.excluded else ""
