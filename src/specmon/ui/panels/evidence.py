"""Evidence beside the verdict: the reference, what differs, the events, and the tables to come."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.message import Message

from specmon.monitor.snapshot import Difference, EventLine, Severity, Trust
from specmon.ui import figures
from specmon.ui.look import SEVERITY_STYLE, Look
from specmon.ui.opened import opens
from specmon.ui.panel import Panel
from specmon.ui.panels.assumptions import assumption_rows
from specmon.ui.row import cut, first_that_fits, fit, flow, piece, visible

_TRUST = {
    Trust.NO_REFERENCE: ("?", "no reference", "$quiet"),
    Trust.WAITING: ("~", "waiting", "$quiet"),
    Trust.MATCHES: ("✓", "matches", "$good"),
    Trust.DRIFTING: ("!", "drifting", "$caution"),
    Trust.DIVERGED: ("✗", "DIVERGED", "bold $alert"),
    Trust.RECOVERED: ("✓", "recovered", "$good"),
}
_WRITE_DOWN = (
    "write down what the baseline gave when it was as it should be:",
    "--reference-tok-s X@B, X tok/s at B running,",
    "or a file NAME.toml in ./references, chosen by --reference NAME",
)
_NOT_SET = "not set"
_WEIGHTS = {"matters": ("!", "bold $caution"), "unknown": ("?", "$foreground"), "expected": ("+", "$quiet")}


class Events(Panel, can_focus=True):
    """What happened, newest first; each leads to its line of the log."""

    BINDINGS = [
        Binding("up", "move(-1)", "Event above", show=False, id="events.up"),
        Binding("down", "move(1)", "Event below", show=False, id="events.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="events.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="events.page_down"),
        Binding("home", "move(-1000)", "Newest event", show=False, id="events.newest"),
        Binding("end", "move(1000)", "Oldest event", show=False, id="events.oldest"),
        Binding("enter", "choose", "Its line of the log", show=False, id="events.choose"),
    ]
    depends_on = ("events",)
    _chosen: EventLine | None = None
    _top: EventLine | None = None  # the topmost event, where it is not the newest; it stays while others come
    _places: Sequence[EventLine] = ()  # by row, from the last drawing

    class Chosen(Message):
        """Somebody wants to see the line of an event."""

        def __init__(self, event: EventLine) -> None:
            super().__init__()
            self.event = event

    class Zoomed(Message):
        """Somebody wants the list large, or small again."""

    def heading(self, width: int) -> Content | None:
        """The panel's name, and which of the events it shows."""
        words = [piece(("events", "$foreground"))]
        total, shown = len(self.snapshot.events), len(set(map(id, self._places)))
        if shown < total:
            first = self._first + 1
            words.append(piece((f"{first}–{first + shown - 1} of {total}", "$quiet"), rank=2))
        how = "enter shows its line" if self.has_focus else "v shows all" if shown < total else ""
        return fit([*words, *([piece((how, "$quiet"), rank=1)] if how else [])], width)

    @property
    def _first(self) -> int:
        """The index of the topmost event; where that is gone, of the next older one."""
        top, events = self._top, self.snapshot.events
        if top is None or not events:
            return 0
        if top in events:
            return events.index(top)
        return next((index for index, event in enumerate(events) if event.at <= top.at), len(events) - 1)

    def _go_to(self, first: int) -> None:
        self._top = self.snapshot.events[first] if 0 < first < len(self.snapshot.events) else None

    def action_move(self, rows: int) -> None:
        """Choose the next event, or the one before."""
        events = self.snapshot.events
        if events:
            index = events.index(self._chosen) if self._chosen in events else -1 if rows > 0 else 0
            index = max(0, min(len(events) - 1, index + rows))
            self._chosen = events[index]
            shown = [event for event in events if event in self._places]
            if index < self._first or self._chosen not in shown:
                self._go_to(index if index < self._first else index - max(len(shown) - 1, 0))
            self.redraw()

    def scroll_events(self, rows: int) -> None:
        """Show older events (rows > 0) or newer ones; what is chosen stays."""
        most = len(self.snapshot.events) - max(1, len(set(map(id, self._places))))
        self._go_to(max(0, min(most, self._first + rows)) if rows > 0 else max(0, self._first + rows))
        self.redraw()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel scrolls the list."""
        event.stop()
        self.scroll_events(3)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """And back."""
        event.stop()
        self.scroll_events(-3)

    def action_choose(self) -> None:
        """Go to the line of the chosen event."""
        if self._chosen is not None:
            self.post_message(self.Chosen(self._chosen))

    def on_click(self, click: Click) -> None:
        """Go to the line of the event under the pointer; on the border, show all events or the small list again."""
        row = click.get_content_offset(self)
        if row is None:
            self.post_message(self.Zoomed())
        elif row.y < len(self._places):
            self._chosen = self._places[row.y]
            self.action_choose()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The newest event is chosen first; without the focus the newest ones are in view again."""
        super().watch_has_focus(has_focus)
        events = self.snapshot.events
        self._chosen, self._top = (events[0] if has_focus and events else None), None
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row an event."""
        if not self.snapshot.events:
            return [Content.assemble((" nothing has happened yet", "$quiet"))]
        rows: list[Content] = []
        # A sentence may have a second row where it needs one: the newest events are worth more than the older ones.
        lines = 2 if height >= 4 else 1
        lines = 6 if height >= 16 else lines
        places: list[EventLine] = []
        for event in self.snapshot.events[self._first :]:
            if len(rows) >= height:
                break
            style = SEVERITY_STYLE[event.severity]
            who = f"{event.server} " if event.server else ""
            tone = "$foreground" if event.severity in (Severity.WARNING, Severity.ALERT) else "$quiet"
            is_chosen = self.has_focus and event is self._chosen
            head = f"{'▸' if is_chosen else ' '}{figures.clock(event.at)} "
            tone = f"bold {tone}" if is_chosen else tone
            sign = self.look.mark(event.severity)
            room = width - len(head) - len(sign) - 2
            first, *more = flow(visible(who + event.text), room, min(lines, height - len(rows))) or [""]
            rows.append(Content.assemble((head, "$quiet"), (f"{sign} ", style), (first, tone)))
            rows += [Content.assemble(" " * (width - room - 1), (line, tone)) for line in more]
            places += [event] * (len(rows) - len(places))
        self._places = places
        title = self.heading(max(0, width))
        if title is not None and (self._title is None or not title.is_same(self._title)):
            self._title = self.border_title = title  # which events these are is known only now
        return rows


def difference_rows(found: Sequence[Difference], width: int, look: Look) -> list[Content]:
    """A table of conditions that differ: sign, name, before, now, weight."""
    names = max((cell_len(visible(each.name)) for each in found), default=0)
    # Sign, gaps and arrow take 9 cells, the weight 10; values may have half of the rest, the name has what remains.
    room = width - 9
    unset = _NOT_SET if names + 2 * len(_NOT_SET) <= room else figures.NONE  # whole names are worth more than words
    befores = max((cell_len(_value(each.before, 99, unset)) for each in found), default=0)
    nows = max((cell_len(_value(each.now, 99, unset)) for each in found), default=0)
    weight_width = 10 if room - min(names, 30) - befores - nows >= 10 else 0
    value_width = max(5, (room - weight_width - 8) // 3)
    before_width, now_width = min(befores, value_width), min(nows, value_width)
    name_width = max(6, min(names, room - weight_width - before_width - now_width))
    if name_width < names <= room - weight_width - 2 * len(_NOT_SET):
        rest = room - weight_width - names
        before_width = min(befores, rest // 2)
        name_width, now_width = names, min(nows, rest - before_width)
    rows = []
    for each in found:
        sign, style = _WEIGHTS.get(each.weight, ("·", "$quiet"))
        name = _tail(visible(each.name), name_width)
        before, now = _values(each.before, each.now, before_width, now_width, unset)
        tail = f"  {each.weight}" if weight_width else ""
        rows.append(
            Content.assemble(
                (f" {sign} ", style),
                (name, style if each.weight == "matters" else "$foreground"),
                (f"  {_pad(before, before_width)}", "$quiet" if each.before is None else "$foreground"),
                (" → ", "$quiet"),
                (_pad(now, now_width), "$quiet" if each.now is None else "$foreground"),
                (tail, "$quiet"),
            )
        )
        if each.origin:
            rows.append(Content.assemble((f"     {cut(visible(each.origin), width - 6)}", "$quiet")))
    return rows


def _tail(name: str, width: int) -> str:
    # Long flags differ at their end: speculative_num_steps, speculative_num_draft_tokens.
    return _pad(name if cell_len(name) <= width else "…" + name[len(name) - width + 1 :], width)


def _pad(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))


def _value(value: str | None, width: int, unset: str) -> str:
    if value is None:
        return unset if cell_len(unset) <= width else figures.NONE
    return cut(visible(value), width)


def _values(before: str | None, now: str | None, before_width: int, now_width: int, unset: str) -> tuple[str, str]:
    """Both values as far as there is room; long ones that begin alike are shown from where they differ."""
    if before is None or now is None:
        return _value(before, before_width, unset), _value(now, now_width, unset)
    first, second = visible(before), visible(now)
    if cell_len(first) <= before_width and cell_len(second) <= now_width:
        return first, second
    same = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    # From the beginning of the word or number in which they part.
    start = same
    while start > 0 and (first[start - 1].isalnum() or first[start - 1] in "_."):
        start -= 1
    if same - start > min(before_width, now_width) // 2:
        start = same
    if start < 2:
        return cut(first, before_width), cut(second, now_width)
    return cut("…" + first[start:], before_width), cut("…" + second[start:], now_width)


def _count(number: int, one: str, several: str) -> str:
    return f"{number or 'none'} {several if number > 1 else one}"


class Differences(Panel, can_focus=True):
    """What differs from the reference, and between the two servers."""

    BINDINGS = [
        Binding("up", "move(-1)", "Scroll up", show=False, id="differences.up"),
        Binding("down", "move(1)", "Scroll down", show=False, id="differences.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="differences.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="differences.page_down"),
    ]
    depends_on = ("trust", "differences", "comparison")
    _first = 0
    _most = 0

    def heading(self, width: int) -> Content | None:
        """How many differ and matter."""
        # Two comparisons: their counts must not be mistaken for one.
        pairs = (("reference", self.snapshot.trust.causes, 1), ("servers", self.snapshot.differences, 2))
        long, short = [piece(("configuration", "$foreground"))], [piece(("configuration", "$foreground"))]
        for name, found, rank in pairs:
            if found:
                matter = sum(each.weight == "matters" for each in found)
                style = "$caution" if matter else "$quiet"
                long.append(piece((f"{name}: {_count(len(found), 'differs', 'differ')}, ", style),
                                  (_count(matter, "matters", "matter"), style)))  # fmt: skip
                short.append(piece((f"{name} {len(found)}, {matter} matter", style), rank=rank))
        return first_that_fits(width, long, short, gap=" · ")

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """Causes first, then the difference of the two servers, then what the comparison rests on."""
        snapshot = self.snapshot
        rows: list[Content] = []
        if snapshot.trust.causes:
            name = snapshot.trust.reference or "reference"
            rows.append(fit([piece((f" reference {name} → baseline now", "$quiet"))], width))
            rows += difference_rows(snapshot.trust.causes, width, self.look)
        if snapshot.differences:
            rows.append(fit([piece((" baseline → speculative", "$quiet"))], width))
            rows += difference_rows(snapshot.differences, width, self.look)
        if snapshot.comparison is not None:
            rows += assumption_rows(snapshot.comparison.checklist, width)
        if not rows:
            sides = (snapshot.baseline, snapshot.speculative)
            notes = [f"{view.name}: {view.launch.note}" for view in sides if view is not None and view.launch.note]
            needed = visible("; ".join(notes)) or "needs the launch lines of both servers"
            lines = flow(f"nothing to compare yet: {needed}", width - 4, height)
            return [Content.assemble((" ? " if not i else "   ", "$quiet"), (s, "$quiet")) for i, s in enumerate(lines)]
        self._most = max(0, len(rows) - height)
        first = min(self._first, self._most)
        if first + height < len(rows):
            hidden = len(rows) - first - height + 1
            how = "↓ scrolls" if self.has_focus else "[d] shows all"
            last = fit([piece((f"   and {hidden} more lines ({how})", "$quiet"))], width)
            return [*rows[first : first + height - 1], last]
        return rows[first:]

    def action_move(self, rows: int) -> None:
        """Scroll the table."""
        self._first = max(0, min(self._most, self._first + rows))
        self.redraw()

    def on_focus(self) -> None:
        """From now on the arrows scroll, and the last line says so."""
        self.call_after_refresh(self.redraw)  # Textual 8.2.8 sets `has_focus` after this

    def on_blur(self) -> None:
        """Back to the top, where the causes are."""
        self._first = 0
        self.redraw()


class TrustPanel(Panel):
    """The measured baseline against the recorded one."""

    depends_on = ("trust",)

    def heading(self, width: int) -> Content | None:
        """The reference's name."""
        words = [piece(("reference", "$foreground"))]
        if self.snapshot.trust.reference:
            words.append(piece((self.snapshot.trust.reference, "$quiet"), rank=1))
        return fit(words, width)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """State, the two numbers, tolerance, evidence."""
        trust = self.snapshot.trust
        sign, word, style = _TRUST[trust.state]
        if trust.state is Trust.NO_REFERENCE:
            lines = [part for text in _WRITE_DOWN for part in flow(text, width - 4, 3)]
            return [
                Content.assemble((f" {sign} {word}", "bold $quiet")),
                *(Content.assemble("   ", (line, "$quiet")) for line in lines),
            ][:height]
        head = [piece((f" {sign} {word}", style))]
        if trust.deviation is not None:
            head.append(piece((figures.percent(trust.deviation, 1), opens("trust.deviation", style))))
        if trust.since is not None:
            head.append(piece((f"since {figures.clock(trust.since)}", "$quiet"), rank=1))
        at = "" if trust.running is None else f" at {trust.running} running"
        facts = [
            ("recorded", "trust.reference", f"{figures.tok_s(trust.reference_tok_s)} tok/s{at}"),
            ("measured", "trust.measured", f"{figures.tok_s(trust.measured_tok_s)} tok/s"),
            (
                "tolerance",
                "trust.tolerance",
                figures.NONE if trust.tolerance is None else f"±{trust.tolerance * 100:.0f} %",
            ),
            (
                "evidence",
                "trust.evidence",
                f"{figures.count(trust.samples_seen)} clean samples, {trust.samples_needed} needed",
            ),
        ]
        if trust.better_match is not None:
            match = f"{visible(trust.better_match)}, {figures.tok_s(trust.better_match_tok_s)} tok/s"
            facts.insert(2, ("fits", "trust.reference", match))
        rows = [fit(head, width)]
        rows += [
            fit([piece((f"   {name:<10}", "$quiet"), (text, opens(figure)))], width) for name, figure, text in facts
        ]
        rows += [Content.assemble("   ", (line, "$quiet")) for line in flow(visible(trust.sentence), width - 4, 2)]
        return rows[:height]
