"""A widget that rests: as long as nothing of it is dirty, a frame takes its strips as they were.

Textual's compositor asks every widget inside the rectangle around all changes for all of its rows, and a widget
looks up its colours, borders and regions for each of these questions (8.2): most of a frame in which little changed.
"""

from __future__ import annotations

from typing import Self

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Resting(Widget):
    """Put before another widget class, or alone."""

    _at_rest: tuple[Region, list[Strip]] | None = None
    _whole: tuple[Region, ...] = ()  # what a repaint of everything means at the moment; (): everything

    def set_title(self, title: Content) -> None:
        """Change the text in the upper border, and repaint that row alone; Textual repaints the whole widget."""
        self._whole = (self._border_row(0),)
        self.border_title = title
        self._whole = ()

    def set_subtitle(self, subtitle: Content) -> None:
        """The same in the lower border."""
        self._whole = (self._border_row(self.outer_size.height - 1),)
        self.border_subtitle = subtitle
        self._whole = ()

    def _border_row(self, y: int) -> Region:
        # Regions are told from the upper left corner of the content.
        return Region(0, y, self.outer_size.width, 1).translate(-self.content_offset)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint some regions, or everything."""
        return super().refresh(*(regions or self._whole), repaint=repaint, layout=layout, recompose=recompose)

    def prepare(self) -> None:
        """Make the rows before a frame asks for them."""
        if self._at_rest is None and self.display and (size := self.outer_size):
            self.render_lines(size.region)

    def _set_dirty(self, *regions: Region) -> None:
        # Every repaint, whether of rows, of a style or of a border title, comes through here.
        self._at_rest = None
        super()._set_dirty(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows inside `crop`, made only when something has changed since they were asked for last."""
        held = self._at_rest
        if held is not None and held[0] == crop:
            return held[1]
        making: tuple[Region, list[Strip]] = crop, []
        self._at_rest = making
        strips = super().render_lines(crop)
        # A panel may learn its title from its rows: what became dirty while it was made is made again.
        self._at_rest = (crop, strips) if self._at_rest is making else None
        return strips
