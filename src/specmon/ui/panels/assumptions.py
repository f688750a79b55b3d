"""The four assumptions that a comparison rests on, as rows of a panel."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.snapshot import CheckPoint
from specmon.ui.row import fit, flow, piece, visible

NAMES = {
    "reproduces": "the baseline reproduces",
    "method": "the method is sound",
    "only_speculation": "speculation is the only difference",
    "right_level": "the level is the right one",
}
SIGNS = {"ok": ("✓", "$good"), "failed": ("✗", "bold $alert"), "unknown": ("?", "$quiet")}
_MOST_LINES = 6  # of one evidence


def assumption_rows(points: Sequence[CheckPoint], width: int) -> list[Content]:
    """A heading, then each point with its sign and, below it, its evidence in whole words."""
    if not points:
        return []
    rows = [fit([piece((" what the comparison rests on", "$quiet"))], width)]
    for point in points:
        sign, style = SIGNS[point.state]
        rows.append(fit([piece((f" {sign} {NAMES[point.id]}", style))], width))
        lines = flow(visible(point.evidence), width - 4, _MOST_LINES)
        rows += [Content.assemble(("   ", "$quiet"), (line, "$foreground")) for line in lines]
    return rows
