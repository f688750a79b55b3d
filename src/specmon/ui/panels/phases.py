"""The dashboard's panel of phases: bars of both servers on one ms axis, or how to get them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.ui.panel import Panel
from specmon.ui.panels.comparison import is_sglang
from specmon.ui.phasebars import is_told, known, panel_rows, views
from specmon.ui.row import fit, flow, piece


class Phases(Panel):
    """Where a cycle's time goes; until a server measures it, how to get it."""

    depends_on = ("baseline", "speculative", "verify_cost")

    def heading(self, width: int) -> Content | None:
        """The panel's name and unit, and who measured."""
        words = [piece(("cycle phases", "$foreground")), piece(("ms per cycle", "$quiet"), rank=1)]
        if sources := dict.fromkeys(phases.source for _, phases in known(self.snapshot) if phases.source):
            words.append(piece((f"by {' and '.join(sources)}", "$quiet"), rank=2))
        return fit(words, width)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """The bars, or what is missing and what to do."""
        if is_told(self.snapshot):
            return panel_rows(self.snapshot, width, height, self.look)
        if not is_sglang(self.snapshot):
            why = "no phase data: the log has no phase times"
            mend = next((view.phases.mend for _, view in views(self.snapshot) if view.phases.mend), "")
            how = [(f"   {line}", "$quiet") for line in flow(mend, width - 4, height - 1)]
            return [fit([piece(line)], width) for line in ((f" ? {why}", "$foreground"), *how)]
        lines = [
            (" ? no phase data: the log has no phase times", "$foreground"),
            ("   to get them, start SGLang ≥ 0.5.11 with", "$quiet"),
            ("   --enable-metrics and in its environment", "$quiet"),
            ("   SGLANG_ENABLE_METRICS_DEVICE_TIMER=1", "$foreground"),
        ]
        return [fit([piece(line)], width) for line in lines][:height]
