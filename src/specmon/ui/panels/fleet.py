"""The table of all servers: fixed columns, the less important ones go first where there is no room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content

from specmon.monitor.snapshot import FleetRow, Role, Severity
from specmon.ui import figures
from specmon.ui.look import SEVERITY_STYLE, Look
from specmon.ui.opened import FigureAsked, figure_under, opens
from specmon.ui.panel import Panel
from specmon.ui.row import Piece, cut, fit, flow, piece, visible

_LEAST_NAME = 12
_GOOD_NAME = 24  # less important columns make room for that much of a name
_LESS_IMPORTANT = 4  # from this rank on
_WORD = 8  # the longest word for a sign
_NUMBERS = frozenset({"running", "tok/s", "delivered", "accept"})  # those that grow old
_FIGURES = {"running": "running", "tok/s": "decode", "delivered": "delivered", "accept": "accept"}
_SIDES = {Role.BASELINE: "base", Role.SPECULATIVE: "spec"}
# key, word, action, rank: the higher the rank, the sooner it goes when the row is short
_KEYS = (
    ("enter", "open", "screen.open", 1),
    ("b", "as baseline", "screen.open('baseline')", 2),
    ("s", "as speculative", "screen.open('speculative')", 2),
    ("x", "explain", "screen.explain", 3),
    ("esc", "back", "screen.dismiss", 1),
    ("?", "help", "app.show_help", 3),
    ("q", "quit", "app.quit", 3),
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of fixed width; 0 always stays, the highest rank goes first."""

    head: str
    width: int
    rank: int
    text: Callable[[FleetRow], str]
    is_right: bool = False

    def cell(self, text: str) -> str:
        """A text in exactly the column's width."""
        text = cut(visible(text), self.width)
        pad = " " * (self.width - cell_len(text))
        return pad + text if self.is_right else text + pad


_COLUMNS = (
    Column("side", 4, 4, lambda row: _SIDES.get(row.side, "") if row.side is not None else ""),
    Column("role", 11, 5, lambda row: row.role.value),
    Column("engine", 12, 7, lambda row: row.engine or figures.NONE),
    Column("state", 10, 6, lambda row: row.state),
    Column("running", 7, 8, lambda row: figures.count(row.running), is_right=True),
    Column("tok/s", 7, 0, lambda row: figures.tok_s(row.tok_s), is_right=True),
    Column("delivered", 9, 9, lambda row: figures.tok_s(row.delivered_tok_s), is_right=True),
    Column("accept", 6, 3, lambda row: figures.length(row.accept_len), is_right=True),
    Column("against ref", 11, 2, lambda row: figures.percent(row.deviation, 1), is_right=True),
    Column("age", 7, 1, lambda row: figures.NONE if row.age_s is None else figures.age(row.age_s), is_right=True),
)


def columns_for(width: int, longest_name: int, gap: int) -> tuple[Column, ...]:
    """The columns that have room in `width` cells beside a name."""
    kept = list(_COLUMNS)
    while len(kept) > 1:
        worst = max(kept, key=lambda column: column.rank)
        name = _GOOD_NAME if worst.rank >= _LESS_IMPORTANT else _LEAST_NAME
        if sum(column.width + gap for column in kept) + min(name, longest_name) <= width:
            break
        kept.remove(worst)
    return tuple(kept)


def shortened(name: str, width: int) -> str:
    """A name in so many cells; its middle goes, since hosts differ at the front and ports at the end."""
    if cell_len(name) <= width:
        return name
    tail = name[-(width // 2) :]
    while cell_len(tail) > width // 2:
        tail = tail[1:]
    return f"{set_cell_size(name, width - 1 - cell_len(tail)).rstrip()}…{tail}"


class FleetTable(Panel):
    """One row a server, one of them chosen; only the rows in view are made."""

    depends_on = ("fleet",)

    def __init__(self, look: Look, chosen: str | None = None, *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self._chosen = chosen
        self._top = 0
        self._places: Sequence[tuple[int, int, str]] = ()  # of the keys in the last row

    @property
    def chosen(self) -> str | None:
        """The key of the chosen server; it stays chosen wherever its row moves."""
        return self._chosen

    @property
    def row(self) -> FleetRow | None:
        """The chosen row."""
        fleet = self.snapshot.fleet
        return fleet[self._index] if fleet else None

    def explain(self) -> None:
        """Ask for the speed of the chosen server."""
        if (row := self.row) is not None:
            self.post_message(FigureAsked(f"{self._subject(row)}.decode"))

    @staticmethod
    def _subject(row: FleetRow) -> str:
        return row.side.value if row.side is not None else f"server:{row.key}"

    @property
    def page(self) -> int:
        """How many rows a page moves by."""
        return max(1, self._room(self.size.height) - 1)

    @property
    def _index(self) -> int:
        return next((place for place, row in enumerate(self.snapshot.fleet) if row.key == self._chosen), 0)

    def move(self, rows: int) -> None:
        """Choose the row that is so many further down."""
        fleet = self.snapshot.fleet
        if fleet:
            self._chosen = fleet[min(max(self._index + rows, 0), len(fleet) - 1)].key
            self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """The count, the heads, the servers in view, the sentence of the chosen one, the keys."""
        fleet = self.snapshot.fleet
        room, details = self._room(height), self._details(height)
        index = self._index
        self._top = max(0, min(self._top, index, len(fleet) - room), index - room + 1)
        gap = " " if width < 60 else "  "
        mark = len(self.look.mark(Severity.ALERT)) + 1
        free = width - 1 - mark - _WORD - len(gap)
        longest = max((cell_len(visible(row.name)) for row in fleet), default=_LEAST_NAME)
        columns = columns_for(free, longest, len(gap))
        name = max(1, min(max(longest, 6), free - sum(column.width + len(gap) for column in columns)))
        drawn = [self._count(width), self._heads(columns, mark, name, gap, width)]
        shown = fleet[self._top : self._top + room]
        drawn += [self._row(row, columns, name, gap, is_chosen=self._top + at == index) for at, row in enumerate(shown)]
        drawn += [Content("")] * (2 + room - len(drawn))
        sentence = "" if not fleet else f"{visible(fleet[index].name)}: {visible(fleet[index].sentence)}"
        lines = flow(sentence, width - 2, details)
        drawn += [Content.assemble(" ", (line, "$foreground")) for line in lines]
        drawn += [Content("")] * (details - len(lines))
        return [*drawn, self._keys(width)]

    def _room(self, height: int) -> int:
        return max(1, height - 3 - self._details(height))

    def _details(self, height: int) -> int:
        return 2 if height >= 20 or self.size.width < 60 else 1

    def _count(self, width: int) -> Content:
        fleet = self.snapshot.fleet
        counts = [
            (sum(row.severity is severity for row in fleet), word, severity)
            for severity, word in ((Severity.ALERT, "alert"), (Severity.WARNING, "warning"))
        ]
        parts = [piece((f"{len(fleet)} server{'' if len(fleet) == 1 else 's'}", "bold $foreground"))]
        for count, word, severity in counts:
            text = f"{self.look.mark(severity).strip()} {count} {word}{'' if count == 1 else 's'}"
            parts.append(piece((text, SEVERITY_STYLE[severity] if count else "$quiet")))
        return Content.assemble(" ", fit(parts, width - 2, gap=" · "))

    def _heads(self, columns: Sequence[Column], mark: int, name: int, gap: str, width: int) -> Content:
        heads = [" " * (mark + _WORD), cut("server", name).ljust(name)]
        heads += [column.cell(column.head) for column in columns]
        return Content.assemble(" ", (cut(gap.join(heads), width - 1), "$quiet"))

    def _row(self, row: FleetRow, columns: Sequence[Column], name: int, gap: str, *, is_chosen: bool) -> Content:
        style = SEVERITY_STYLE[row.severity]
        shown = shortened(visible(row.name), name)
        spans: list[tuple[str, str]] = [
            ("▸" if is_chosen else " ", "bold $brand"),
            (f"{self.look.mark(row.severity)} ", style),
            (f"{row.word:<{_WORD}}", style),
            (gap + shown + " " * (name - cell_len(shown)), "bold $foreground" if row.side else "$foreground"),
        ]
        for column in columns:
            style = self._style(column, row)
            figure = _FIGURES.get(column.head)
            spans += [(gap, style), (column.cell(column.text(row)), opens(figure, style) if figure else style)]
        content = Content.assemble(*spans)
        if not is_chosen:
            return content
        return content.pad_right(max(0, self.size.width - content.cell_length)).stylize("on $brand 25%")

    def _style(self, column: Column, row: FleetRow) -> str:
        if column.head in _NUMBERS:
            # Numbers of a server that fell silent must not look like news.
            return "dim $quiet" if row.is_stale else "$foreground"
        if column.head == "age":
            return "bold $caution" if row.is_stale else "$quiet"
        if column.head == "against ref" and row.severity in (Severity.ALERT, Severity.WARNING):
            return "dim $quiet" if row.is_stale else SEVERITY_STYLE[row.severity]
        if column.head in ("side", "role") and row.role is not Role.UNKNOWN:
            return f"$series-{row.role.value}"
        return "$quiet"

    def _keys(self, width: int) -> Content:
        keys: tuple[tuple[str, str, str, int], ...] = _KEYS
        while len(keys) > 1 and sum(_key(*each).width + 2 for each in keys) > width:
            worst = max(rank for *_, rank in keys)
            keys = tuple(each for each in keys if each[3] != worst) or keys[:1]
        places: list[tuple[int, int, str]] = []
        x = 1
        for each in keys:
            places.append((x, x + _key(*each).width, each[2]))
            x += _key(*each).width + 2
        self._places = places
        return Content.assemble(" ", fit([_key(*each) for each in keys], width - 1))

    async def on_click(self, event: events.Click) -> None:
        """A click chooses a row, a click on the chosen one opens it; keys in the last row do what they say."""
        if event.y == self.size.height - 1:
            for start, end, action in self._places:
                if start <= event.x < end:
                    await self.run_action(action)
            return
        place = self._top + event.y - 2
        if event.y < 2 or event.y >= 2 + self._room(self.size.height) or place >= len(self.snapshot.fleet):
            return
        if (figure := figure_under(event.style.meta)) is not None:
            self.move(place - self._index)
            self.post_message(FigureAsked(f"{self._subject(self.snapshot.fleet[place])}.{figure}"))
            event.stop()
        elif place == self._index:
            await self.run_action("screen.open")
        else:
            self.move(place - self._index)


def _key(key: str, word: str, _: str, __: int) -> Piece:
    return piece((key, "bold $brand"), (f" {word}", "$quiet"))
