"""The screen of the four assumptions: whether each holds, by what, and what to do where it does not."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.snapshot import CheckPoint
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.panels.assumptions import NAMES, SIGNS
from specmon.ui.row import Piece, fit, flow, piece, visible

_STATES = {"ok": "holds", "failed": "contradicted", "unknown": "unknown"}
_WHY = {
    "reproduces": "A ratio to a baseline that has become slower praises speculation for nothing.",
    "method": "A log that counts wrongly gives wrong figures with narrow intervals.",
    "only_speculation": "What else differs has its share of the speed-up, and nobody can tell which.",
    "right_level": "Speculation that wins for one request may lose for sixteen.",
}
_WIDEST = 110
_MOST_ROWS = 14


class AssumptionsPage(Page):
    """One paragraph each."""

    depends_on = ("comparison", "trust")

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """State, why it matters, evidence, what to do."""
        comparison = self.snapshot.comparison
        points = comparison.checklist if comparison is not None else ()
        width = min(width, _WIDEST)
        if not points:
            why = "no comparison yet: the four assumptions are those of a comparison, which needs clean samples of both"
            return [Content.assemble((f" {line}", "$foreground")) for line in flow(f"{why} servers.", width - 2, 4)]
        rows = [
            fit([piece((" this comparison rests on four assumptions:", "$quiet")), *_counts(points)], width, gap=" ")
        ]
        for number, point in enumerate(points, 1):
            rows += [Content(""), *self._point(number, point, width)]
        return rows

    def _point(self, number: int, point: CheckPoint, width: int) -> list[Content]:
        sign, style = SIGNS[point.state]
        mark = {"ok": self.look.yes, "failed": self.look.no}.get(point.state, sign)
        title = piece((f" {mark} {number}  {NAMES[point.id]}: ", f"bold {style.removeprefix('bold ')}"))
        rows = [fit([title, piece((_STATES[point.state].upper(), style))], width, gap="")]

        def say(label: str, text: str, tone: str) -> None:
            for index, line in enumerate(flow(visible(text), max(8, width - 17), _MOST_ROWS)):
                rows.append(Content.assemble((f"     {'' if index else label:<10} ", "$quiet"), (line, tone)))

        say("matters", _WHY[point.id], "$quiet")
        say("evidence", _sentence(point.evidence), "$foreground")
        if point.state != "ok" and point.mend:
            say("to do", _sentence(point.mend), "$caution" if point.state == "failed" else "$foreground")
        return rows


def _counts(points: Sequence[CheckPoint]) -> list[Piece]:
    words = {"ok": ("holds", "hold"), "failed": ("is contradicted", "are contradicted"), "unknown": ("is unknown",) * 2}
    counts = {state: sum(point.state == state for point in points) for state in words}
    told = ", ".join(f"{count} {words[state][count > 1]}" for state, count in counts.items() if count)
    return [piece((told, "$foreground"), rank=1)]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")


class AssumptionsScreen(LiveScreen):
    """The checklist of the comparison."""

    TITLE_TEXT = "assumptions"
    KEYS = (("d", "what differs", "app.show_differences"), ("x", "explain", "app.explain"))

    def make_page(self) -> Page:
        """The page of assumptions."""
        return AssumptionsPage(self.look)
