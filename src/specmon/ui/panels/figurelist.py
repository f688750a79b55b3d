"""All figures that can be opened, one row each, under the name of the server that they are of."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message

from specmon.monitor.explaining import Explanation
from specmon.ui.opened import written
from specmon.ui.panel import Panel
from specmon.ui.row import cut, fit_ends, piece, visible


class FigureList(Panel, can_focus=True):
    """The chosen one is always in view."""

    BINDINGS = [
        Binding("up", "move(-1)", "Figure above", show=False, id="figures.up"),
        Binding("down", "move(1)", "Figure below", show=False, id="figures.down"),
        Binding("pageup", "move(-10)", "Ten figures up", show=False, id="figures.page_up"),
        Binding("pagedown", "move(10)", "Ten figures down", show=False, id="figures.page_down"),
        Binding("home", "move(-9999)", "First figure", show=False, id="figures.first"),
        Binding("end", "move(9999)", "Last figure", show=False, id="figures.last"),
    ]
    told: Sequence[Explanation] = ()
    chosen: str = ""
    _top = 0
    _places: Sequence[str] = ()  # the figure of each row, "" for a heading

    class Chosen(Message):
        """Another figure is wanted."""

        def __init__(self, figure: str) -> None:
            super().__init__()
            self.figure = figure

    def action_move(self, rows: int) -> None:
        """Choose the figure that is so many further down."""
        ids = [each.id for each in self.told]
        if ids:
            index = ids.index(self.chosen) if self.chosen in ids else 0
            self.post_message(self.Chosen(ids[max(0, min(len(ids) - 1, index + rows))]))

    def on_click(self, event: events.Click) -> None:
        """Choose the figure under the pointer."""
        row = event.get_content_offset(self)
        if row is not None and row.y < len(self._places) and self._places[row.y]:
            self.post_message(self.Chosen(self._places[row.y]))

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """As many as there is room for, around the chosen one."""
        lines: list[tuple[str, Content]] = []
        subject = None
        for each in self.told:
            if each.subject != subject:
                subject = each.subject
                lines.append(("", Content.assemble((f" {cut(visible(subject), width - 2)}", "bold $brand"))))
            lines.append((each.id, self._row(each, width)))
        at = next((index for index, (figure, _) in enumerate(lines) if figure == self.chosen), 0)
        # With its heading where that stands just above.
        first = at - 1 if at and not lines[at - 1][0] else at
        self._top = max(0, min(self._top, first, len(lines) - height), at - height + 1)
        shown = lines[self._top : self._top + height]
        self._places = [figure for figure, _ in shown]
        return [row for _, row in shown]

    def _row(self, figure: Explanation, width: int) -> Content:
        is_chosen = figure.id == self.chosen
        style = "bold $foreground" if is_chosen else "$foreground" if figure.value is not None else "$quiet"
        name = piece((f"{'▸' if is_chosen else ' '} {figure.name}", style))
        value = piece((f"{written(figure)} ", style), rank=1)
        row = fit_ends([name], [value], width)
        if not is_chosen:
            return row
        return Content.assemble(row, " " * max(0, width - row.cell_length)).stylize("on $brand 25%")
