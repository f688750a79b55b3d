"""The verdict at every load level: speculation that wins for one request may lose for sixteen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.snapshot import LevelVerdict, Verdict
from specmon.ui import figures
from specmon.ui.look import Look
from specmon.ui.opened import opens
from specmon.ui.panel import Panel
from specmon.ui.row import Piece, fit, flow, piece

_WORDS = {
    Verdict.FASTER: ("✓", "wins", "$good"),
    Verdict.SLOWER: ("✗", "loses", "bold $caution"),
    Verdict.EQUAL: ("~", "equal", "$foreground"),
    Verdict.CANNOT_TELL: ("?", "cannot tell", "$quiet"),
    Verdict.NOT_COMPARABLE: ("?", "not comparable", "$quiet"),
    None: ("·", "no data", "$quiet"),
}
_NONE_YET = "no level yet: each needs clean samples of both servers"


def _sign(level: LevelVerdict, look: Look) -> tuple[str, str, str]:
    sign, word, style = _WORDS[level.verdict]
    return ("." if sign == "·" and look.ascii_only else sign), word, style


def level_pieces(levels: Sequence[LevelVerdict], look: Look) -> list[Piece]:
    """The levels in one row, lowest first; the highest go first when it is short."""
    pieces = []
    for rank, level in enumerate(levels):
        sign, word, style = _sign(level, look)
        told = figures.times(level.speedup) if level.speedup is not None else word
        pieces.append(
            piece(
                (f"{level.running} running ", "$quiet"),
                (f"{sign} {told}", opens(f"comparison.level.{level.running}", style)),
                rank=rank,
            )
        )
    return pieces


class Levels(Panel):
    """One row a level: running requests, the word, decode and delivered speed-up, clean samples."""

    depends_on = ("comparison",)

    def heading(self, width: int) -> Content | None:
        """The panel's name."""
        return fit([piece(("break-even by level", "$foreground"))], width)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """A table; what does not fit is counted."""
        levels = self.snapshot.comparison.levels if self.snapshot.comparison is not None else ()
        if not levels:
            lines = flow(_NONE_YET, width - 4, height)
            return [Content.assemble((" ? " if not i else "   ", "$quiet"), (s, "$quiet")) for i, s in enumerate(lines)]
        head = [
            piece((f" {'running':>7}", "$quiet")),
            piece((f"{'':14}", "")),
            piece((f"{'decode':>7}", "$quiet")),
            piece((f"{'delivered':>9}", "$quiet"), rank=1),
            piece((f"{'clean':>13}", "$quiet"), rank=2),
        ]
        room = height - 1
        # The last row is given up only to say that there are more.
        shown = levels if len(levels) <= room else levels[: max(0, room - 1)]
        rows = [fit(head, width, gap=" "), *(self._row(level, width) for level in shown)]
        if len(shown) < len(levels):
            left = levels[len(shown) :]
            rows.append(fit([piece((f"   and {len(left)} more, up to {left[-1].running} running", "$quiet"))], width))
        return rows

    def _row(self, level: LevelVerdict, width: int) -> Content:
        sign, word, style = _sign(level, self.look)
        clean = f"{figures.count(level.baseline_clean)} / {figures.count(level.speculative_clean)}"
        return fit(
            [
                piece((f" {level.running:>7}", "$foreground")),
                piece((f"{sign} {word}".ljust(14), style)),
                piece((f"{figures.times(level.speedup):>7}", opens(f"comparison.level.{level.running}", style))),
                piece((f"{figures.times(level.delivered_speedup):>9}", "$foreground"), rank=1),
                piece((f"{clean:>13}", "$quiet"), rank=2),
            ],
            width,
            gap=" ",
        )
