"""What if: accept length, verify and draft cost moved by the user, and what becomes of speed-up and break-even."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.content import Content

from specmon.monitor.phaserecords import WhatIf
from specmon.ui import figures
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.row import Piece, first_that_fits, fit, flow, piece
from specmon.ui.whatifchart import chart_rows, most_accept

_CHART_ROWS = 8
_TYPED = re.compile(r"(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})(x?)\Z")
_MOST_TYPED = 10
_LABELS = {"accept": "accept length", "verify": "verify", "draft": "draft", "cycle": "cycle"}
_SHORT_LABELS = {"accept": "accept", "verify": "verify", "draft": "draft", "cycle": "cycle"}
_ACCEPT_STEP = 0.05
_MS_STEP = 0.01  # of what was measured


class WhatIfPage(Page):
    """Fields to move, the result, and a chart that shows where one stands."""

    depends_on = None
    field = 0
    typed = ""
    fault = ""

    def on_mount(self) -> None:
        """Nothing is moved yet."""
        self._edits: dict[str, float] = {}
        self._places: dict[int, tuple[str, int, int]] = {}  # row: field, first cell and length of its slider

    # -- the values ------------------------------------------------------------------------------

    @property
    def now(self) -> WhatIf | None:
        """The cycle as it is measured."""
        return self.snapshot.what_if

    @property
    def moved(self) -> WhatIf | None:
        """The cycle as the user has it; what was not moved goes on with the session."""
        what = self.now
        for name, value in self._edits.items():
            what = what and _with(what, name, value)
        return what

    @property
    def fields(self) -> tuple[str, ...]:
        """What can be moved: the parts of the cycle where they were measured, else the cycle as a whole."""
        now = self.now
        if now is None:
            return ()
        if not now.has_phases:
            return ("accept", "cycle") if now.draft_ms is None else ("accept", "draft")
        return ("accept", "verify", "draft") if now.draft_ms is not None else ("accept", "verify")

    @property
    def chosen(self) -> str:
        """The field that the keys move."""
        return self.fields[min(self.field, len(self.fields) - 1)]

    def choose(self, by: int) -> None:
        """Another field."""
        if self.fields:
            self.field = (min(self.field, len(self.fields) - 1) + by) % len(self.fields)
            self.typed = self.fault = ""
            self.redraw()

    def move(self, name: str, steps: float) -> None:
        """Move a field by so many of its steps."""
        now, moved = self.now, self.moved
        if now is not None and moved is not None:
            step = _ACCEPT_STEP if name == "accept" else _MS_STEP * max(_value(now, name), 0.1)
            self.put(name, _value(moved, name) + steps * step)

    def put(self, name: str, value: float) -> None:
        """Give a field a value."""
        now = self.now
        if now is None:
            return
        self._edits[name] = _value(_with(now, name, value), name)
        self.typed = self.fault = ""
        self.redraw()

    def reset(self) -> None:
        """Everything as it is measured."""
        self._edits.clear()
        self.typed = self.fault = ""
        self.redraw()

    def type(self, char: str) -> None:
        """Another character of a value."""
        if self.fields and len(self.typed) < _MOST_TYPED:
            self.typed, self.fault = self.typed + char, ""
            self.redraw()

    def rub_out(self) -> None:
        """The last character away."""
        self.typed, self.fault = self.typed[:-1], ""
        self.redraw()

    def enter(self) -> None:
        """Take what was typed; `1.5x` is a verify of that many baseline steps."""
        now = self.now
        if not self.typed or now is None:
            return
        match, name = _TYPED.match(self.typed), self.chosen
        if match is None or (match[2] and name != "verify"):
            self.fault = f"{self.typed} is no number here" + (" (1.5x: baseline steps)" if name == "verify" else "")
            self.typed = ""
            self.redraw()
            return
        value = float(match[1])
        self.put(name, value * (now.verify_steps_ms or now.step_ms) if match[2] else value)

    # -- the picture -----------------------------------------------------------------------------

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Fields, result, chart."""
        now, moved = self.now, self.moved
        self._places = {}
        if now is None or moved is None:
            comparison = self.snapshot.comparison
            why = "needs clean samples of both servers" if comparison is None else comparison.sentence
            rows = [fit([piece((" ? nothing to move yet", "bold $foreground"))], width)]
            return [*rows, *(fit([piece((f"   {line}", "$quiet"))], width) for line in flow(why, width - 4, 3))]
        rows = []
        for name in self.fields:
            self._places[len(rows)] = (name, 0, 0)
            rows.append(self._field(name, now, moved, width, len(rows)))
        rest = moved.rest_ms if now.has_phases or now.draft_ms is not None else None
        if rest is not None:
            rows.append(fit([piece((f"   all else of the cycle stays {figures.ms(rest)} ms", "$quiet"))], width))
        elif width >= 60:
            rows.append(
                fit(
                    [piece(("   no phase was measured, so the cycle moves as a whole ([p] says how)", "$quiet"))], width
                )
            )
        if self.fault:
            rows.append(fit([piece((f"   {self.fault}", "bold $caution"))], width))
        rows += self._result(now, moved, width)
        chart = chart_rows(now, moved, width, max(_CHART_ROWS, height - len(rows) - 1), self.look)
        if chart:
            signs = ("o", "X") if self.look.ascii_only else ("●", "◆")
            legend = [
                piece((f"   {signs[0]} measured {figures.times(now.speedup)}", "bold $foreground")),
                piece((f"{signs[1]} moved {figures.times(moved.speedup)}", "bold $brand")),
            ]
            if now.reference_step_ms is not None:
                legend.append(piece(("dotted: against the reference", "$quiet"), rank=1))
            self._chart_at = len(rows) + 1
            rows += [fit(legend, width), *chart]
        return rows

    def _field(self, name: str, now: WhatIf, moved: WhatIf, width: int, row: int) -> Content:
        is_chosen = name == self.chosen
        labels = _LABELS if width >= 56 else _SHORT_LABELS
        arrow = "▸" if is_chosen else " "
        unit = "" if name == "accept" else " ms"
        value = f"{self.typed}_" if is_chosen and self.typed else f"{_value(moved, name):.2f}"
        head = f" {arrow} {labels[name]:<{max(map(len, labels.values()))}} {value:>8}{unit:<3} "
        tail: list[Piece] = []
        if name == "verify" and moved.verify_multiple is not None:
            tail.append(piece((f"{moved.verify_multiple:.2f}× step", "$foreground")))
        is_moved = abs(_value(moved, name) - _value(now, name)) > 1e-9
        tail.append(piece((f"measured {_value(now, name):.2f}", "bold $caution" if is_moved else "$quiet"), rank=1))
        tail_width = 34 if width >= 76 else 0
        cells = width - len(head) - tail_width - 3
        if cells < 6:
            return fit([piece((head, "bold $brand" if is_chosen else "$foreground"), gap_free(tail[:1]))], width)
        low, high = self._range(name, now, moved)
        share = 0.0 if high <= low else min(1.0, max(0.0, (_value(moved, name) - low) / (high - low)))
        at = round(share * (cells - 1))
        self._places[row] = (name, len(head) + 1, cells)
        style = "bold $brand" if is_chosen else "$foreground"
        return Content.assemble(
            (head, style), ("├", "$faint"), ("━" * at, "$brand"), ("●", style), ("─" * (cells - at - 1), "$faint"),
            ("┤ ", "$faint"), fit(tail, max(0, width - len(head) - cells - 3)),
        )  # fmt: skip

    def _range(self, name: str, now: WhatIf, moved: WhatIf) -> tuple[float, float]:
        if name == "accept":
            return 1.0, most_accept(now, moved)
        return 0.0, max(2 * _value(now, name), _value(moved, name), 1.0)

    def _result(self, now: WhatIf, moved: WhatIf, width: int) -> list[Content]:
        def judged(label: str, speedup: float, even: float, step: float) -> Content:
            strong = "bold $good" if speedup >= 1 else "bold $caution"
            word = "wins" if speedup > 1 else "loses" if speedup < 1 else "equal"
            sign = self.look.yes if speedup > 1 else self.look.no if speedup < 1 else "="
            result = piece((f"{sign} {figures.times(speedup)} {word}", strong))
            limit = piece((f"break-even {figures.length(even)}", "$foreground"))
            room = piece((f"headroom {figures.percent(moved.accept_len / even - 1)}", "$quiet"), rank=1)
            base = piece((f"step {figures.ms(step)} ms", "$quiet"), rank=2)
            return first_that_fits(
                width,
                [piece((f" {label:<21}", "$quiet")), result, limit, room, base],
                [piece((f" {label.split()[-1]:<9}", "$quiet")), result, limit],
                [
                    piece((f" {label.split()[-1][:4]:<4}", "$quiet")),
                    result,
                    piece((figures.length(even), "$foreground")),
                ],
            )

        cycle = [piece((f" cycle {figures.ms(moved.cycle_ms)} ms", "bold $foreground"))]
        if abs(moved.cycle_ms - now.cycle_ms) > 1e-9:
            cycle.append(piece((f"measured {figures.ms(now.cycle_ms)} ms", "$quiet"), rank=1))
        if now.running is not None:
            cycle.append(piece((f"at {now.running} running", "$quiet"), rank=2))
        rows = [
            fit(cycle, width),
            judged("measured baseline", moved.speedup, moved.break_even_accept_len, moved.step_ms),
        ]
        theirs, limit = moved.reference_speedup, moved.reference_break_even_accept_len
        if theirs is not None and limit is not None and moved.reference_step_ms is not None:
            rows.append(judged("against the reference", theirs, limit, moved.reference_step_ms))
        return rows

    # -- the mouse -------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """On a slider: its value. On the chart: the accept length."""
        now, moved = self.now, self.moved
        if now is None or moved is None:
            return
        if (place := self._places.get(event.y)) is not None:
            name, start, cells = place
            self.field = self.fields.index(name)
            self.typed = self.fault = ""
            if cells and start <= event.x < start + cells:
                low, high = self._range(name, now, moved)
                self.put(name, low + (high - low) * (event.x - start) / max(1, cells - 1))
            self.redraw()
        elif event.y >= getattr(self, "_chart_at", math.inf):
            cells = self.size.width - 7
            if 6 <= event.x < 6 + cells:
                self.field = 0
                self.put("accept", 1 + (most_accept(now, moved) - 1) * (event.x - 6) / max(1, cells - 1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel over a field moves it; elsewhere it scrolls."""
        self._roll(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The other way."""
        self._roll(event, -1)

    def _roll(self, event: events.MouseEvent, steps: int) -> None:
        if (place := self._places.get(event.y)) is not None:
            event.stop()
            event.prevent_default()
            self.field = self.fields.index(place[0])
            self.move(place[0], steps)


def gap_free(pieces: Sequence[Piece]) -> tuple[str, str]:
    """The text of the first piece, for a row without room for a slider."""
    return pieces[0].spans[0] if pieces else ("", "")


def _value(what: WhatIf, name: str) -> float:
    if name == "accept":
        return what.accept_len
    return {"verify": what.verify_ms, "draft": what.draft_ms, "cycle": what.cycle_ms}[name] or 0.0


def _with(what: WhatIf, name: str, value: float) -> WhatIf:
    if name == "accept":
        return what.with_accept_len(value)
    if name == "verify":
        return what.with_verify_ms(value)
    return what.with_draft_ms(value) if name == "draft" else what.with_cycle_ms(value)


class WhatIfScreen(LiveScreen):
    """The break-even line, moved by the user."""

    TITLE_TEXT = "what if"
    KEYS = (
        ("←→", "move", "move(1)"),
        ("↑↓", "field", "choose(1)"),
        ("r", "reset", "reset"),
        ("0-9 ⏎", "type a value", "enter"),
        ("p", "phases", "app.show_phases"),
    )
    BINDINGS = [
        # Before the room takes them for scrolling, and the session for seeking.
        Binding("up", "choose(-1)", "Field above", priority=True, id="whatif.up"),
        Binding("down", "choose(1)", "Field below", priority=True, id="whatif.down"),
        Binding("left", "move(-1)", "Less", priority=True, id="whatif.less"),
        Binding("right", "move(1)", "More", priority=True, id="whatif.more"),
        Binding("shift+left", "move(-10)", "Much less", priority=True, id="whatif.much_less"),
        Binding("shift+right", "move(10)", "Much more", priority=True, id="whatif.much_more"),
        Binding("r", "reset", "As it is measured", id="whatif.reset"),
        Binding("enter", "enter", "Take the typed value", priority=True, id="whatif.enter"),
        Binding("backspace", "rub_out", "Rub out", id="whatif.rub_out"),
    ]

    @property
    def page(self) -> WhatIfPage:
        """The page."""
        return self.query_one(WhatIfPage)

    def make_page(self) -> Page:
        """The page of fields."""
        return WhatIfPage(self.look)

    def on_key(self, event: events.Key) -> None:
        """Digits, a point and an `x` are a value."""
        char = event.character or ""
        if char and (char in "0123456789." or (char == "x" and self.page.typed)):
            event.stop()
            self.page.type(char)

    def action_choose(self, by: int) -> None:
        """Another field."""
        self.page.choose(by)

    def action_move(self, steps: int) -> None:
        """Move the chosen field."""
        if self.page.fields:
            self.page.move(self.page.chosen, steps)

    def action_reset(self) -> None:
        """As it is measured."""
        self.page.reset()

    def action_enter(self) -> None:
        """Take what was typed."""
        self.page.enter()

    def action_rub_out(self) -> None:
        """One character away."""
        self.page.rub_out()

    def action_close_page(self) -> None:
        """Back; while a value is typed, only that goes."""
        if self.page.typed:
            self.page.typed = ""
            self.page.redraw()
            return
        super().action_close_page()
