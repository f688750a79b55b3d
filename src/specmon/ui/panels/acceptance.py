"""Accept length over time against the line below which speculation loses."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive

from specmon.monitor.snapshot import EMPTY, AcceptanceView, Snapshot
from specmon.ui import figures
from specmon.ui.chart import Chart
from specmon.ui.look import Look
from specmon.ui.opened import opens
from specmon.ui.resting import Resting
from specmon.ui.row import fit, piece
from specmon.ui.sideplots import accept_plot
from specmon.ui.timeview import FOLLOWS, TimeView


class Acceptance(Resting, Vertical):
    """The acceptance chart of the speculative server."""

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)
    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)

    def __init__(self, look: Look, *, id: str, classes: str) -> None:
        super().__init__(id=id, classes=classes)
        self._look = look
        self._title: Content | None = None
        self._sum: Content | None = None

    def compose(self) -> ComposeResult:
        """One chart."""
        yield Chart(self._look, classes="accept")

    def on_resize(self) -> None:
        """The title is made for the width."""
        self.watch_snapshot(self.snapshot)

    def watch_time_view(self) -> None:
        """Another window, or another place of the cursor."""
        self.watch_snapshot(self.snapshot)

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Draw the chart with the break-even length as its dotted line."""
        if not self.display:
            return
        view, comparison = snapshot.speculative, snapshot.comparison
        chart = self.query_one(Chart)
        figure = view.level.accept_len if view is not None and view.level is not None else None
        title = [piece(("accept length", "$foreground"))]
        even = None if comparison is None else comparison.break_even_accept_len
        if figure is not None:
            title.append(piece((figures.length(figure), opens("speculative.accept", "$series-speculative"))))
        if even is not None:
            title.append(
                piece((f"break-even {figures.length(even)}", opens("comparison.break_even", "$quiet")), rank=1)
            )
        self._set_title(fit(title, max(1, self.outer_size.width - 6)))
        self._set_sum(view.acceptance if view is not None else None)
        if view is None:
            chart.show(None)
            return
        chart.show(accept_plot(snapshot, view, self.time_view))

    def _set_sum(self, known: AcceptanceView | None) -> None:
        """In the lower border: what the positions add up to, where they were measured."""
        foot = Content("")
        if known is not None and known.sum_text:
            sign = {True: self._look.yes, False: self._look.no, None: "?"}[known.is_sum_ok]
            foot = fit(
                [piece((f"{known.sum_text} {sign}", opens("speculative.positions", "$quiet")))],
                max(1, self.outer_size.width - 6),
            )
        if self._sum is None or not foot.is_same(self._sum):
            self._sum = foot
            self.set_subtitle(foot)

    def _set_title(self, title: Content) -> None:
        if self._title is None or not title.is_same(self._title):
            self._title = title
            self.set_title(title)
