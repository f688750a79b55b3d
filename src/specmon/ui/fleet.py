"""The screen with all servers in one table; any of them can be put on a side of the comparison."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from specmon.monitor.snapshot import FleetRow, Role, Snapshot
from specmon.ui.look import Look
from specmon.ui.panels.fleet import FleetTable

Put = Callable[[str, Role], None]


class FleetScreen(Screen[None]):
    """One row a server; keys and clicks choose one, and the comparison shows it."""

    BINDINGS = [
        Binding("up", "move(-1)", "Up", show=False, id="fleet.up"),
        Binding("down", "move(1)", "Down", show=False, id="fleet.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="fleet.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="fleet.page_down"),
        Binding("home", "move(-9999)", "First", show=False, id="fleet.first"),
        Binding("end", "move(9999)", "Last", show=False, id="fleet.last"),
        Binding("enter", "open", "Open on the side of its role", id="fleet.open"),
        Binding("b", "open('baseline')", "Open as the baseline", id="fleet.baseline"),
        Binding("s", "open('speculative')", "Open as the speculative server", id="fleet.speculative"),
        Binding("x", "explain", "Explain its speed", id="fleet.explain"),
        Binding("escape,f", "dismiss", "Back to the comparison", id="fleet.back"),
    ]

    def __init__(
        self, look: Look, snapshot: Snapshot, put: Put, chosen: str | None = None, *, gone: Callable[[], None]
    ) -> None:
        """`put` lets a server stand on a side; `chosen` is the row to begin at; `gone` hears when it has gone."""
        super().__init__()
        self._first = snapshot
        self._put = put
        self._gone = gone
        self._table = FleetTable(look, chosen, id="fleet")

    def compose(self) -> ComposeResult:
        """One table."""
        yield self._table

    def on_mount(self) -> None:
        """Begin with the picture that is there; the app hands on those that come."""
        self.show(self._first)

    def on_unmount(self) -> None:
        """What it covered is to be seen again, whatever took it away."""
        self._gone()

    def show(self, snapshot: Snapshot) -> None:
        """Draw another picture."""
        self._table.snapshot = snapshot

    @property
    def chosen(self) -> str | None:
        """The server of the row that is chosen."""
        return self._table.chosen

    def action_move(self, rows: int) -> None:
        """Choose another row."""
        self._table.move(rows)

    def action_page(self, pages: int) -> None:
        """Choose a row a page away."""
        self._table.move(pages * self._table.page)

    def action_explain(self) -> None:
        """Everything about the speed of the chosen server."""
        self._table.explain()

    def action_open(self, side: str = "") -> None:
        """Put the chosen server on a side, by its role unless one is named, and go back to the comparison."""
        row = self._table.row
        if row is None:
            return
        self._put(row.key, Role(side) if side else self._side_of(row))
        self.dismiss()

    def _side_of(self, row: FleetRow) -> Role:
        if row.role is not Role.UNKNOWN:
            return row.role
        is_baseline_there = any(other.side is Role.BASELINE for other in self._table.snapshot.fleet)
        return Role.SPECULATIVE if is_baseline_there else Role.BASELINE

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves by three rows."""
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves by three rows."""
        event.stop()
        self.action_move(3)
