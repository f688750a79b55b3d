"""What all text panels share: a snapshot comes down, rows are drawn, nothing is repainted when they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.strip import Strip
from textual.visual import Visual

from specmon.monitor.snapshot import EMPTY, Snapshot
from specmon.ui.look import Look
from specmon.ui.resting import Resting


class Panel(Resting):
    """Rows of text made from the snapshot, for exactly the size the panel has."""

    # Whoever sets it has seen that it differs; comparing two pictures field by field would cost more than drawing.
    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    # Fields of the snapshot that the rows depend on; None means any. While they are the same objects the panel rests.
    depends_on: tuple[str, ...] | None = None

    def __init__(self, look: Look, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.look = look
        self._rows: tuple[Content, ...] = ()
        self._title: Content | None = None
        self._drawn_from: tuple[object, ...] = ()
        self._drawn_size: Size | None = None
        self._rows_size: Size | None = None
        self._strips: dict[int, Strip] = {}

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """The rows to draw, at most `height` of at most `width` cells."""
        raise NotImplementedError  # no abstractmethod: a widget's own metaclass does not enforce one

    def heading(self, width: int) -> Content | None:
        """The title in the border, if the panel has one."""
        return None

    def watch_snapshot(self) -> None:
        """Repaint when the rows differ from those on the screen."""
        if not self.display or not (size := self.size):
            return
        if self.depends_on is not None:
            source = tuple(getattr(self.snapshot, name) for name in self.depends_on)
            if self._drawn_size == size and all(map(is_, source, self._drawn_from)):
                return
            self._drawn_from, self._drawn_size = source, size
        self.redraw()

    def redraw(self) -> None:
        """Draw again, and repaint only what changed."""
        width = self.size.width  # looked up once: it takes Textual longer than a row
        heading = self.heading(max(0, width - 2))
        if heading is not None and (self._title is None or not heading.is_same(self._title)):
            self._title = heading
            self.set_title(heading)
        before = self._rows
        self._draw()
        if len(before) != len(self._rows):
            self._strips.clear()
            self.refresh()
            return
        changed = [row for row, (old, new) in enumerate(zip(before, self._rows, strict=True)) if not old.is_same(new)]
        for row in changed:
            self._strips.pop(row, None)
        if changed:
            self.refresh(*(Region(0, row, width, 1) for row in changed))

    def _draw(self) -> None:
        width, height = self._rows_size = self.size
        self._rows = tuple(self.rows(width, height)[:height]) if width and height else ()

    def on_resize(self) -> None:
        """A new size has new rows."""
        self._strips.clear()
        self.redraw()

    def notify_style_update(self) -> None:
        """A new theme or class: the strips carry the old colours."""
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One row; only a row that changed is made anew, a block would be made as a whole."""
        size = self.size
        if self._rows_size != size:
            self._strips.clear()
            self._draw()
        width = size.width
        if y >= len(self._rows):
            return Strip.blank(width, self.visual_style.rich_style)
        strip = self._strips.get(y)
        if strip is None:
            found = Visual.to_strips(self, self._rows[y], width, 1, self.visual_style)
            strip = found[0] if found else Strip.blank(width, self.visual_style.rich_style)
            self._strips[y] = strip
        return strip
