"""The sweep: every setting of the logs ranked by speed-up, and every number of running requests of the pair."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.binding import Binding
from textual.content import Content

from specmon.monitor.snapshot import Snapshot
from specmon.monitor.sweepview import LEVEL_HEADINGS, SWEEP_HEADINGS, SweepPicture, tie_text
from specmon.ui.celltable import Column, table_rows
from specmon.ui.desk import Desk
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.look import Look
from specmon.ui.row import fit, flow, piece, visible

Copy = Callable[[str, str], Awaitable[None]]  # a text, and what it is

_EVERY_S = 3.0  # a ranking goes through all runs: not with every picture
_SIGNS = {"faster": ("✓", "$good"), "slower": ("✗", "$alert"), "equal": ("~", "$foreground")}
# The higher the rank, the sooner a column goes.
_RANKS = {
    "run": 0,
    "speed-up": 0,
    "verdict": 1,
    "ties with": 2,
    "#": 2,
    "95 %": 3,
    "steps": 4,
    "draft": 8,
    "accept": 5,
    "tok/s": 6,
    "break-even": 7,
    "cycle ms": 9,
    "running": 0,
    "clean": 5,
    "base tok/s": 6,
    "spec tok/s": 6,
}
_WORDS = {"run": 14, "verdict": 0, "ties with": 0}


def _column(head: str) -> Column:
    return Column(head, _RANKS[head], head in _WORDS, _WORDS.get(head, 0))


class SweepPage(Page):
    """Two tables and what a reader must know beside them."""

    depends_on = ()
    found: SweepPicture | None = None

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Settings first, then loads."""
        found = self.found
        if found is None:
            return []
        sweep, rows = found.sweep, _told(found.sweep.opening, width, "bold $foreground")
        if sweep.lines:
            headings = ("#", *SWEEP_HEADINGS, "ties with") if sweep.has_ties else SWEEP_HEADINGS
            cells = []
            for line in sweep.lines:
                shown = (*line.cells[:-1], self._verdict(line.verdict))
                cells.append((str(line.place), *shown, tie_text(line) or "–") if sweep.has_ties else shown)
            verdicts = [line.verdict for line in sweep.lines]
            rows += self._table(headings, cells, verdicts, width)
        for note in sweep.notes:
            rows += _told(note, width, "$quiet", indent=True)
        rows.append(Content(""))
        base, spec = (visible(name) for name in found.pair)
        if not found.levels:
            return [*rows, *_told("by running requests: no number that both servers ran at", width, "$quiet")]
        rows.append(
            fit(
                [
                    piece((" by running requests", "bold $foreground")),
                    piece((f"{base} against {spec}", "$quiet"), rank=1),
                ],
                width,
            )
        )
        levels = [(*line[:-1], self._verdict(line[-1])) for line in found.levels]
        return [*rows, *self._table(LEVEL_HEADINGS, levels, [line[-1] for line in found.levels], width)]

    def _verdict(self, verdict: str) -> str:
        return f"{_SIGNS.get(verdict, ('?', ''))[0]} {verdict}"

    def _table(
        self, headings: Sequence[str], cells: Sequence[Sequence[str]], verdicts: Sequence[str], width: int
    ) -> list[Content]:
        def style_of(row: int, head: str) -> str:
            if head in ("speed-up", "verdict"):
                return _SIGNS.get(verdicts[row], ("?", "$quiet"))[1]
            return "$foreground" if head in ("run", "running") else "$quiet"

        return table_rows([_column(head) for head in headings], cells, width, style_of)


def _told(text: str, width: int, style: str, *, indent: bool = False) -> list[Content]:
    lines = flow(visible(text), max(8, width - 4), 20)
    return [Content.assemble((f"{'   ' if indent and at else ' '}{line}", style)) for at, line in enumerate(lines)]


class SweepScreen(LiveScreen):
    """All settings, the fastest first."""

    TITLE_TEXT = "sweep"
    KEYS = (("↑↓", "scroll", "scroll(1)"), ("y", "copy", "copy"))
    BINDINGS = [Binding("y", "copy", "Copy the table (Markdown)", id="sweep.copy")]

    def __init__(self, look: Look, snapshot: Snapshot, desk: Desk, copy: Copy) -> None:
        """`copy` hands a text to the clipboard."""
        super().__init__(look, snapshot)
        self._desk = desk
        self._copy = copy
        self._ranked: tuple[int, int] | None = None  # the version of the picture that the page is of

    def make_page(self) -> Page:
        """The tables."""
        return SweepPage(self.look)

    def on_mount(self) -> None:
        """Rank now, and again while samples come."""
        super().on_mount()
        self._rank()
        self.set_interval(_EVERY_S, self._rank)

    def _rank(self) -> None:
        now = (self._snapshot.version, self._snapshot.log_revision)
        if now != self._ranked:
            self._ranked = now
            page = self.query_one(SweepPage)
            page.found = self._desk.sweep()
            page.redraw()

    def action_scroll(self, rows: int) -> None:
        """The page up or down."""
        self.query_one("#page-room").scroll_relative(y=rows, animate=False)

    async def action_copy(self) -> None:
        """The table and its sentences, as Markdown."""
        found = self.query_one(SweepPage).found
        if found is not None:
            await self._copy(found.markdown, "the sweep as Markdown")
