"""Servers that are not compared: a third one, or one whose role is not known yet."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.snapshot import Role, RunState, ServerView
from specmon.ui import figures
from specmon.ui.panel import Panel
from specmon.ui.row import fit, piece

MOST = 3


class Others(Panel):
    """One row a server: name, state, and why it is on neither side."""

    depends_on = ("others",)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """As many as there are rows; the last one counts the rest."""
        others = self.snapshot.others
        shown = others if len(others) <= height else others[: height - 1]
        rows = [self._row(view, width) for view in shown]
        if len(shown) < len(others):
            rows.append(
                fit(
                    [
                        piece((f" ? and {len(others) - len(shown)} more that are not compared", "$quiet")),
                        piece(("f shows all", "$quiet"), rank=1),
                    ],
                    width,
                    gap=" · ",
                )
            )
        return rows

    async def on_click(self) -> None:
        """All of them are in the table of servers."""
        await self.run_action("app.show_fleet")

    def _row(self, view: ServerView, width: int) -> Content:
        style = "bold $alert" if view.state is RunState.CRASHED else "$quiet"
        parts = [
            piece((" ? ", "$caution"), (view.name, "$foreground")),
            piece((view.state.value if view.state is not RunState.UNKNOWN else view.link.state.value, style)),
            piece((_why(view), "$quiet")),
        ]
        if view.live_tok_s is not None:
            parts.insert(2, piece((f"live {figures.live(view.live_tok_s, view.live_requests)}", "$foreground")))
        if view.no_data_reason:
            parts.append(piece((view.no_data_reason, "$quiet"), rank=1))
        return fit(parts, width, gap=" · ")


def _why(view: ServerView) -> str:
    if view.role is Role.UNKNOWN:
        return "not compared: nothing tells yet whether it speculates"
    return f"not compared: another server is the {view.role.value} one"
