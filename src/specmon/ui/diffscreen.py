"""What differs in the conditions, with the reasons: against the reference, of both servers, over a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Region

from specmon.monitor.diffview import DiffTable
from specmon.monitor.snapshot import Difference, Snapshot
from specmon.ui.desk import Desk
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.look import Look
from specmon.ui.panels.evidence import difference_rows
from specmon.ui.row import fit, flow, piece, visible
from specmon.ui.sweepscreen import Copy

_MOST_ROWS = 400  # of one value that is unfolded


class DiffPage(Page):
    """Tables under each other; one row is chosen, and tells why it weighs what it does."""

    depends_on = ()
    tables: tuple[DiffTable, ...] | None = None
    has_noise = False
    cursor = 0
    all_unfolded = False

    def on_mount(self) -> None:
        """Everything is folded."""
        self._unfolded: set[tuple[str, str, str]] = set()
        self.places: list[tuple[int, int]] = []  # by entry: its first row and how many

    def entries(self) -> list[tuple[DiffTable, Difference]]:
        """The rows that are shown, in order."""
        return [
            (table, row) for table in self.tables or () for row in table.rows if self.has_noise or row.weight != "noise"
        ]

    def move(self, rows: int) -> None:
        """Another row."""
        self.cursor = max(0, min(len(self.entries()) - 1, self.cursor + rows))
        self.redraw()

    def fold(self) -> None:
        """Show the chosen row's values whole, or cut again."""
        entries = self.entries()
        if self.cursor < len(entries):
            self._unfolded ^= {_key(*entries[self.cursor])}
            self.redraw()

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Each table with its heading."""
        self.places = []
        rows: list[Content] = []
        self.cursor = max(0, min(self.cursor, len(self.entries()) - 1))
        for table in self.tables or ():
            shown = [row for row in table.rows if self.has_noise or row.weight != "noise"]
            if rows:
                rows.append(Content(""))
            rows.append(self._heading(table, width))
            for row, line in zip(shown, _lines(shown, width - 2, self), strict=True):
                is_chosen = len(self.places) == self.cursor
                block = [Content.assemble(("▸ " if is_chosen else "  ", "bold $brand"), line)]
                block += self._more(table, row, width, is_chosen=is_chosen)
                self.places.append((len(rows), len(block)))
                rows += block
            if not shown and not table.note:
                rows.append(Content.assemble(("   nothing differs", "$quiet")))
            if table.note:
                rows += _flowed(f"? {table.note}", width, "$caution")
            if hidden := len(table.rows) - len(shown):
                noise = f"   and {hidden} that {'are' if hidden > 1 else 'is'} noise (o shows them)"
                rows.append(fit([piece((noise, "$quiet"))], width))
        if not rows:
            return _flowed("nothing to compare yet: it needs a reference, two servers or a restart", width, "$quiet")
        return rows

    def _heading(self, table: DiffTable, width: int) -> Content:
        told = sum(row.weight != "noise" for row in table.rows)
        counts = f"{told} differ, {table.matter} matter"
        style = "$caution" if table.matter else "$quiet"
        return fit(
            [piece((f" {table.before} → {table.now}", "bold $foreground")), piece((counts, style), rank=1)], width
        )

    def _more(self, table: DiffTable, row: Difference, width: int, *, is_chosen: bool) -> list[Content]:
        found: list[Content] = []
        if row.origin:
            found += _flowed(row.origin, width, "$quiet")
        if self.all_unfolded or _key(table, row) in self._unfolded:
            for word, value in (("before", row.before), ("now", row.now)):
                text = "not set" if value is None else visible(value)
                room = max(8, width - 14)
                pieces = [text[start : start + room] for start in range(0, len(text), room)] or [""]
                found += [
                    Content.assemble((f"     {word if not at else '':<8}", "$quiet"), (part, "$foreground"))
                    for at, part in enumerate(pieces[:_MOST_ROWS])
                ]
        if row.began_with:
            found += _flowed("it changed when the baseline left its reference", width, "$caution")
        if row.reason and (is_chosen or row.weight == "matters"):
            found += _flowed(row.reason, width, "$quiet")
        return found


def _key(table: DiffTable, row: Difference) -> tuple[str, str, str]:
    return (f"{table.before} {table.now}", row.kind, row.name)


def _lines(shown: Sequence[Difference], width: int, page: DiffPage) -> list[Content]:
    """One row a difference, in the columns of the panel; where a value comes from stands in a row of its own."""
    return difference_rows([replace(row, origin="") for row in shown], width, page.look)


def _flowed(text: str, width: int, style: str) -> list[Content]:
    return [Content.assemble((f"     {line}", style)) for line in flow(visible(text), max(8, width - 7), 20)]


def markdown_of(tables: Sequence[DiffTable]) -> str:
    """All tables with whole values, to hand on."""

    def cell(value: str | None) -> str:
        return "*not set*" if value is None else f"`{visible(value)}`".replace("|", "\\|")

    parts = []
    for table in tables:
        lines = [f"**{visible(table.before)} → {visible(table.now)}**", ""]
        if table.rows:
            lines += ["| condition | before | now | weight | why |", "|---|---|---|---|---|"]
            lines += [
                f"| `{visible(row.name)}` | {cell(row.before)} | {cell(row.now)} | {row.weight} | {row.reason} |"
                for row in table.rows
            ]
        else:
            lines.append("nothing differs" if not table.note else "")
        parts.append("\n".join([*lines, *(["", table.note] if table.note else [])]))
    return "\n\n".join(parts)


class DiffScreen(LiveScreen):
    """Conditions that differ, the whole of them."""

    TITLE_TEXT = "conditions"
    KEYS = (
        ("↑↓", "move", "move(1)"),
        ("enter", "whole value", "fold"),
        ("a", "all values", "fold_all"),
        ("o", "noise", "toggle_noise"),
        ("y", "copy", "copy"),
    )
    BINDINGS = [
        # Before the room takes them for scrolling.
        Binding("up", "move(-1)", "Difference above", priority=True, id="conditions.up"),
        Binding("down", "move(1)", "Difference below", priority=True, id="conditions.down"),
        Binding("pageup", "move(-8)", "Page up", priority=True, id="conditions.page_up"),
        Binding("pagedown", "move(8)", "Page down", priority=True, id="conditions.page_down"),
        Binding("home", "move(-9999)", "First", priority=True, id="conditions.first"),
        Binding("end", "move(9999)", "Last", priority=True, id="conditions.last"),
        Binding("enter", "fold", "Show the value whole, or cut", priority=True, id="conditions.fold"),
        Binding("a", "fold_all", "Show all values whole, or cut", id="conditions.fold_all"),
        Binding("o", "toggle_noise", "Show what is noise, or not", id="conditions.noise"),
        Binding("y", "copy", "Copy the tables (Markdown)", id="conditions.copy"),
    ]

    def __init__(self, look: Look, snapshot: Snapshot, desk: Desk, copy: Copy) -> None:
        """`copy` hands a text to the clipboard."""
        super().__init__(look, snapshot)
        self._desk = desk
        self._copy = copy

    def make_page(self) -> Page:
        """The tables."""
        return DiffPage(self.look)

    @property
    def page(self) -> DiffPage:
        """The page."""
        return self.query_one(DiffPage)

    def take(self, snapshot: Snapshot) -> None:
        """The session has gone on; the tables are asked for again, which costs nothing while no condition changes."""
        super().take(snapshot)
        tables, page = self._desk.diffs(), self.page
        if tables is not page.tables:
            page.tables = tables
            page.redraw()

    def action_move(self, rows: int) -> None:
        """Another row, in view."""
        self.page.move(rows)
        self.call_after_refresh(self._show_chosen)

    def _show_chosen(self) -> None:
        page = self.page
        if page.cursor < len(page.places):
            first, count = page.places[page.cursor]
            first, count = (0, first + count) if page.cursor == 0 else (first, count)
            self.query_one("#page-room").scroll_to_region(Region(0, first, 1, count), animate=False)

    def action_fold(self) -> None:
        """The values of the chosen row."""
        self.page.fold()
        self.call_after_refresh(self._show_chosen)

    def action_fold_all(self) -> None:
        """All values."""
        self.page.all_unfolded = not self.page.all_unfolded
        self.page.redraw()
        self.call_after_refresh(self._show_chosen)

    def action_toggle_noise(self) -> None:
        """Ports, seeds, paths."""
        self.page.has_noise = not self.page.has_noise
        self.page.redraw()
        self.call_after_refresh(self._show_chosen)

    async def action_copy(self) -> None:
        """All tables, with whole values."""
        await self._copy(markdown_of(self.page.tables or ()), "the differences as Markdown")

    def on_click(self, event: events.Click) -> None:
        """A click chooses a row; on the chosen row it unfolds."""
        page = self.page
        if event.widget is not page:
            return
        for entry, (first, count) in enumerate(page.places):
            if first <= event.y < first + count:
                if entry == page.cursor:
                    self.action_fold()
                else:
                    page.move(entry - page.cursor)
