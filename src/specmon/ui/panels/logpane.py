"""The logs of both servers, merged, as they came: only the visible lines are ever drawn."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specmon.monitor.snapshot import EMPTY, LogLine, Role, Snapshot
from specmon.ui import figures
from specmon.ui.look import Look
from specmon.ui.row import cut, cut_fields, visible

_PARTS = ("name-baseline", "name-speculative", "name-unknown", "plain", "stats", "loud", "unparsed", "reason", "time")
# "[2026-01-30 12:00:00 TP0] ": the time stands in its own column already, the rank is worth its cells.
_STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,\d]*(?: ([^\]]{1,24}))?\] ?")
_LOUD = re.compile(r"\b(?:error|warning|critical|fatal|traceback|exception|killed)\b", re.IGNORECASE)
_NAME_WIDTH = 16


class LogPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines of both logs, newest at the bottom; it follows until one scrolls up."""

    COMPONENT_CLASSES = {f"log--{part}" for part in _PARTS}
    BINDINGS = [
        Binding("up", "scroll_up", "Scroll up", show=False, id="log.up"),
        Binding("down", "scroll_down", "Scroll down", show=False, id="log.down"),
        Binding("pageup", "page_up", "Page up", show=False, id="log.page_up"),
        Binding("pagedown", "page_down", "Page down", show=False, id="log.page_down"),
        Binding("ctrl+home", "scroll_home", "Oldest line", show=False, id="log.oldest"),
        Binding("ctrl+end,f", "scroll_end", "Newest line, follow", show=False, id="log.follow"),
    ]

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self._lines: tuple[LogLine, ...] = ()
        self._revision = -1
        self._follows = True
        self._name_width = 0
        self._strips: LRUCache[tuple[LogLine, int], Strip] = LRUCache(512)
        self._styles: dict[str, Style] = {}

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Take new lines; keep the place when somebody reads further up."""
        if snapshot.log_revision == self._revision and len(snapshot.log) == len(self._lines):
            return
        follows = self._follows
        came = snapshot.log_revision - self._revision
        dropped = max(0, len(self._lines) + came - len(snapshot.log)) if self._revision >= 0 and came > 0 else 0
        self._lines, self._revision = snapshot.log, snapshot.log_revision
        width = max((cell_len(visible(line.server)) for line in self._lines[-200:]), default=0)
        if min(width, _NAME_WIDTH) != self._name_width:
            self._name_width = min(width, _NAME_WIDTH)
            self._strips.clear()
        self._draw_title()
        self.virtual_size = Size(self.size.width, max(1, len(self._lines)))
        if follows:
            self._scroll_to_newest()
        elif dropped:
            self.scroll_to(y=max(0, self.scroll_offset.y - dropped), animate=False, immediate=True)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The title says whether the pane follows."""
        super().watch_scroll_y(old_value, new_value)
        if self.size.height:
            self._follows = new_value >= self.max_scroll_y
        self._draw_title()

    def _draw_title(self) -> None:
        # The end moves with every line and every size: what counts is whether somebody scrolled away from it.
        state = "" if self._follows else "  not following, [f] follows"
        title = Content.assemble(("log", "$foreground"), ("  both servers, oldest first" + state, "$quiet"))
        if title.markup != self.border_title:
            self.border_title = title

    def on_resize(self) -> None:
        """Lines are cut to the width."""
        follows = self._follows
        self._strips.clear()
        self.virtual_size = Size(self.size.width, max(1, len(self._lines)))
        if follows:
            self._scroll_to_newest()

    def _scroll_to_newest(self) -> None:
        self.scroll_target_y = self.scroll_y = max(0, len(self._lines) - self.size.height)
        self._follows = True

    def notify_style_update(self) -> None:
        """A new theme: the strips carry the old colours."""
        self._strips.clear()
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One visible row."""
        index = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if not 0 <= index < len(self._lines):
            text = " no lines yet" if y == 0 and not self._lines else ""
            return Strip([Segment(text, self._style("stats"))]).adjust_cell_length(width, self.rich_style)
        line = self._lines[index]
        strip = self._strips.get((line, width))
        if strip is None:
            strip = self._draw(line, width)
            self._strips[(line, width)] = strip
        return strip

    def _draw(self, line: LogLine, width: int) -> Strip:
        role = line.role if line.role in (Role.BASELINE, Role.SPECULATIVE) else Role.UNKNOWN
        sign = "?" if line.is_unparsed else "◦" if line.excluded else " "
        text = visible(line.text)
        stamp = _STAMP.match(text) if line.at is not None else None
        if stamp is not None:
            text = (f"{stamp[1]} " if stamp[1] else "") + text[stamp.end() :]
        name = cut(visible(line.server), self._name_width)
        name += " " * (self._name_width - cell_len(name))
        head = [
            Segment(f" {name} ", self._style(f"name-{role.value}")),
            Segment(f"{figures.clock(line.at) if line.at is not None else ' ' * 8} ", self._style("time")),
            Segment(f"{sign} ", self._style("unparsed" if line.is_unparsed else "reason")),
        ]
        room = width - sum(segment.cell_length for segment in head)
        reason = _reason(line)
        if reason and room - len(reason) < 24:
            reason = ""
        body = (cut_fields if line.is_stats else cut)(text, room - len(reason))
        part = (
            "unparsed" if line.is_unparsed else "loud" if _LOUD.search(text) else "stats" if line.is_stats else "plain"
        )
        fill = " " * max(0, room - cell_len(body) - len(reason))
        segments = [*head, Segment(body, self._style(part)), Segment(fill, self._style("stats"))]
        if reason:
            segments.append(Segment(reason, self._style("reason")))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _style(self, part: str) -> Style:
        style = self._styles.get(part)
        if style is None:
            style = self._styles[part] = self.get_component_rich_style(f"log--{part}")
        return style


def _reason(line: LogLine) -> str:
    if line.is_unparsed:
        return "  not understood"
    return f"  left out: {visible(line.excluded).replace('_', ' ')}" if line.excluded else ""
