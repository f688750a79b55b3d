"""What all text panels share: a snapshot comes down, rows are drawn, nothing is repainted when they are the same."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from specmon.monitor.snapshot import EMPTY, Snapshot
from specmon.ui.look import Look


class Panel(Widget):
    """Rows of text made from the snapshot, for exactly the size the panel has."""

    # Whoever sets it has seen that it differs; comparing two pictures field by field would cost more than drawing.
    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    def __init__(self, look: Look, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.look = look
        self._rows: tuple[Content, ...] = ()
        self._title: Content | None = None

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """The rows to draw, at most `height` of at most `width` cells."""
        raise NotImplementedError

    def heading(self, width: int) -> Content | None:
        """The title in the border, if the panel has one."""
        return None

    def watch_snapshot(self) -> None:
        """Repaint when the rows differ from those on the screen."""
        if self.display and self.size:
            self.redraw()

    def redraw(self) -> None:
        """Draw again, and repaint only what changed."""
        heading = self.heading(max(0, self.size.width - 2))
        if heading is not None and (self._title is None or not heading.is_same(self._title)):
            self._title = heading
            self.border_title = heading
        before = self._rows
        self._rows = self._draw()
        if len(before) != len(self._rows) or any(
            not old.is_same(new) for old, new in zip(before, self._rows, strict=True)
        ):
            self.refresh()

    def _draw(self) -> tuple[Content, ...]:
        width, height = self.size
        return tuple(self.rows(width, height)[:height]) if width and height else ()

    def on_resize(self) -> None:
        """A new size has new rows."""
        self.redraw()

    def render(self) -> Content:
        """All rows as one block."""
        self._rows = self._draw()
        return Content("\n").join(self._rows)
