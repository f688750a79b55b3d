"""The chart widget: paints what `specmon.ui.drawing` drew, and repaints only the cells that changed."""

from __future__ import annotations

import math

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from specmon.ui.drawing import Picture, Run, Sketch, framed, painted, sketch
from specmon.ui.look import Look
from specmon.ui.plot import Plot, Window
from specmon.ui.resting import Resting

_PARTS = (
    "axis", "label", "line", "area", "other", "reference", "excluded", "note",
    "mark-restart", "mark-gap", "mark-crash", "mark-drift", "cursor",
)  # fmt: skip


class Chart(Resting):
    """Values over time as braille dots, with axes, a dotted line and vertical marks."""

    COMPONENT_CLASSES = {f"chart--{part}" for part in _PARTS}

    class Pointed(Message):
        """Somebody clicked on a moment."""

        def __init__(self, at: float) -> None:
            super().__init__()
            self.at = at

    class Wheeled(Message):
        """The wheel was turned over a moment: up for less time, sideways or with shift for earlier and later."""

        def __init__(self, at: float, steps: int, *, is_sideways: bool) -> None:
            super().__init__()
            self.at = at
            self.steps = steps
            self.is_sideways = is_sideways

    def __init__(self, look: Look, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._look = look
        self._plot: Plot | None = None
        self._picture: Picture = ()
        self._sketch: Sketch | None = None  # of the picture
        self._drawn_for = (0, 0)
        self._drawn_window: Window | None = None
        self._gutter = 0  # cells before the first column
        self._strips: dict[int, Strip] = {}
        self._styles: dict[str, Style] = {}

    @property
    def picture(self) -> Picture:
        """What is painted at the moment."""
        return self._picture

    @property
    def cell_s(self) -> float | None:
        """How much time one cell stands for; None where nothing is drawn."""
        if self._plot is None or self._drawn_window is None:
            return None
        return self._drawn_window.span_s / max(1, self.size.width - self._gutter)

    def moment_at(self, x: int) -> float | None:
        """The middle of the time that a column stands for; None beside the picture."""
        cell_s = self.cell_s
        if cell_s is None or self._drawn_window is None or not self._gutter <= x < self.size.width:
            return None
        return self._drawn_window.start + (x - self._gutter + 0.5) * cell_s

    def cell_around(self, at: float) -> tuple[float, float]:
        """The time of the column that holds a moment; nothing but the moment where nothing is drawn."""
        cell_s, window = self.cell_s, self._drawn_window
        if cell_s is None or window is None:
            return at, at
        start = window.start + math.floor((at - window.start) / cell_s) * cell_s
        return start, start + cell_s

    def on_click(self, event: events.Click) -> None:
        """The column under the pointer is a moment."""
        if (at := self.moment_at(event.x)) is not None:
            self.post_message(self.Pointed(at))

    def _wheel(self, event: events.MouseEvent, steps: int, *, is_sideways: bool = False) -> None:
        if (at := self.moment_at(event.x)) is not None:
            event.stop()
            self.post_message(self.Wheeled(at, steps, is_sideways=is_sideways or event.shift))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Up: less time; with shift earlier."""
        self._wheel(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Down: more time; with shift later."""
        self._wheel(event, 1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Earlier."""
        self._wheel(event, -1, is_sideways=True)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Later."""
        self._wheel(event, 1, is_sideways=True)

    def show(self, plot: Plot | None) -> None:
        """Take a new picture; nothing is repainted where it equals the old one."""
        if self._is_drawn(plot):
            return
        self._plot = plot
        before = self._picture
        self._redraw()
        if self._picture is before:
            return
        if len(before) != len(self._picture):
            self.refresh()
            return
        changed = [
            Region(span[0], row, span[1] - span[0], 1)
            for row, (old, new) in enumerate(zip(before, self._picture, strict=True))
            if old != new and (span := changed_span(old, new)) is not None
        ]
        for region in changed:
            self._strips.pop(region.y, None)
        if changed:
            self.refresh(*changed)

    def _is_drawn(self, plot: Plot | None) -> bool:
        """Whether this very picture stands already; asked every tick, so it compares no points."""
        old, (width, height) = self._plot, self.size
        if plot is None or old is None or self._drawn_for != (width, height):
            return False
        return (
            plot.points is old.points
            and (plot.marks is old.marks or plot.marks == old.marks)
            and (plot.low, plot.high, plot.line, plot.line_name, plot.running, plot.cursor, plot.measure)
            == (old.low, old.high, old.line, old.line_name, old.running, old.cursor, old.measure)
            and framed(plot, width, height)[1] == self._drawn_window
        )

    def _redraw(self) -> None:
        width, height = self.size
        self._drawn_for = (width, height)
        if self._plot is None or not width or not height:
            self._picture, self._sketch = (), None
            return
        found = sketch(self._plot, width, height)
        self._drawn_window, self._gutter = found.window, found.gutter + 1
        if found != self._sketch:
            self._sketch = found
            self._picture = painted(found, ascii_only=self._look.ascii_only)

    def notify_style_update(self) -> None:
        """A new theme: the strips carry the old colours."""
        self._strips.clear()
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One row of the picture."""
        width, height = self.size
        if self._drawn_for != (width, height):
            self._strips.clear()
            self._redraw()
        if y >= len(self._picture):
            return Strip.blank(width, self.rich_style)
        strip = self._strips.get(y)
        if strip is None:
            strip = Strip([Segment(text, self._style(part)) for text, part in self._picture[y]], width)
            self._strips[y] = strip
        return strip

    def _style(self, part: str) -> Style:
        style = self._styles.get(part)
        if style is None:
            style = self.rich_style if part == "blank" else self.get_component_rich_style(f"chart--{part}")
            self._styles[part] = style
        return style


def changed_span(old: tuple[Run, ...], new: tuple[Run, ...]) -> tuple[int, int] | None:
    """First cell that differs, and the cell after the last one; every sign of a chart is one cell wide."""
    before = [(char, part) for text, part in old for char in text]
    after = [(char, part) for text, part in new for char in text]
    if len(before) != len(after):
        return 0, max(len(before), len(after))
    differing = [index for index, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    return (differing[0], differing[-1] + 1) if differing else None
