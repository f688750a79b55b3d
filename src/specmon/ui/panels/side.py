"""One side of the comparison: its figures above its charts, in one border that tells name and source."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive

from specmon.monitor.snapshot import EMPTY, Role, RunState, ServerView, Snapshot, Trust
from specmon.shares import percent
from specmon.ui import figures, plot
from specmon.ui.chart import Chart
from specmon.ui.layout import Form, Plan
from specmon.ui.look import Look
from specmon.ui.opened import opens
from specmon.ui.panel import Panel
from specmon.ui.readout import Cursor, readout
from specmon.ui.resting import Resting
from specmon.ui.row import Piece, first_that_fits, fit, flow, piece, visible
from specmon.ui.sideplots import BY_MEASURE, cycle_plot, speed_plot
from specmon.ui.timeview import FOLLOWS, MEASURES, TimeView, window_of

_GRAPHS = {"true": "graph ✓", "false": "graph ✗ off", "mixed": "graph ~ mixed"}
_ALARMING = (Trust.DIVERGED,)
_CYCLE = MEASURES.index("cycle ms")


def view_of(snapshot: Snapshot, role: Role) -> ServerView | None:
    """The server on that side."""
    return snapshot.baseline if role is Role.BASELINE else snapshot.speculative


class Figures(Panel):
    """The numbers of one side."""

    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)

    def __init__(self, look: Look, role: Role, *, classes: str | None = None) -> None:
        super().__init__(look, classes=classes)
        self._role = role

    def watch_time_view(self) -> None:
        """The small sparkline of a narrow terminal shows the window as well."""
        self.watch_snapshot()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row (stacked), two, or three with tall digits."""
        view = view_of(self.snapshot, self._role)
        rows = self._rows_of(view, width, height)
        # Numbers of a server that fell silent must not look like news.
        return [row.stylize("dim") for row in rows] if view is not None and view.is_stale else rows

    def _rows_of(self, view: ServerView | None, width: int, height: int) -> list[Content]:
        if height == 1:
            return [self._one_row(view, width - 1)]
        if view is None or view.level is None or view.level.decode_tok_s is None:
            return self._no_data(view, width, height)
        return self._tall(view, width) if height >= 3 and not self.look.ascii_only else self._two_rows(view, width)

    @property
    def _colour(self) -> str:
        return "$series-baseline" if self._role is Role.BASELINE else "$series-speculative"

    def _opens(self, figure: str, style: str = "$foreground") -> str:
        return opens(f"{self._role.value}.{figure}", style)

    def _number_style(self, view: ServerView) -> str:
        return f"{self._colour} dim" if view.is_stale else f"bold {self._colour}"

    def _no_data(self, view: ServerView | None, width: int, height: int) -> list[Content]:
        reason = f"no {self._role.value} server yet" if view is None else view.no_data_reason or "no clean sample yet"
        head = "no data:"
        if view is not None and view.live_tok_s is not None:
            # A request goes on: that is what there is to see before the first one has ended.
            head = f"live {figures.live(view.live_tok_s, view.live_requests)}"
            reason = f"({reason})"
        elif view is not None and view.last_tok_s is not None:
            reason += f"; last line {figures.tok_s(view.last_tok_s)} tok/s"
        first, *more = flow(f"{head} {visible(reason)}", width - 1, height)
        head, tail = first[: len(head)], first[len(head) :]
        return [Content.assemble((f" {head}", "bold $foreground"), (tail, "$quiet"))] + [
            Content.assemble((f" {line}", "$quiet")) for line in more
        ]

    def _spread(self, view: ServerView) -> list[Piece]:
        level = view.level
        assert level is not None
        pieces = []
        if level.decode_tok_s_ci95 is not None:
            low, high = level.decode_tok_s_ci95
            pieces.append(
                piece(
                    (f"{self.look.plus_minus}{figures.half((high - low) / 2)}", self._opens("decode", "$quiet")), rank=2
                )
            )
        return pieces

    def _live(self, view: ServerView, width: int) -> list[Piece]:
        """The speed of requests that go on, by their progress lines; no sample, so it never is the number itself."""
        if view.live_tok_s is None:
            return []
        if width < 50:
            return [piece(("live ", "$quiet"), (figures.tok_s(view.live_tok_s), self._opens("live")))]
        told = figures.live(view.live_tok_s, view.live_requests)
        return [piece(("live ", "$quiet"), (told, self._opens("live")), rank=1)]

    def _two_rows(self, view: ServerView, width: int) -> list[Content]:
        level = view.level
        assert level is not None
        number = piece(
            (figures.tok_s(level.decode_tok_s, 6), self._opens("decode", self._number_style(view))),
            (" tok/s", "$quiet"),
        )
        delivered = piece(("delivered ", "$quiet"), (figures.tok_s(level.delivered_tok_s), self._opens("delivered")))
        pace = [*self._live(view, width), *self._pace(view)]
        return [
            fit([number, *self._spread(view), delivered], width),
            # A narrow column would show one load figure of four; the comparison has a row for them.
            Content.assemble(" ", fit([*pace, *(self._load(view) if width >= 50 else [])], width - 1)),
        ]

    def _pace(self, view: ServerView) -> list[Piece]:
        level = view.level
        assert level is not None
        if self._role is Role.BASELINE:
            step = [("step ", "$quiet"), (f"{figures.ms(level.cycle_ms)} ms", self._opens("cycle"))]
            if view.reference_cycle_ms is not None:
                step.append((f" (ref {figures.ms(view.reference_cycle_ms)})", opens("trust.step", "$quiet")))
            return [piece(*step)]
        tokens = view.launch.num_draft_tokens
        of = "" if tokens is None else f" / {tokens}"
        accept = piece(("accept ", "$quiet"), (f"{figures.length(level.accept_len)}{of}", self._opens("accept")))
        return [accept, piece(("cycle ", "$quiet"), (f"{figures.ms(level.cycle_ms)} ms", self._opens("cycle")))]

    def _load(self, view: ServerView) -> list[Piece]:
        level = view.level
        assert level is not None
        parts = [
            piece(("running ", "$quiet"), (str(level.running), self._opens("running")), rank=4),
            piece(("ctx ", "$quiet"), (figures.count(level.context_tokens), self._opens("context")), rank=5),
            self._queue(view),
        ]
        if view.page is not None and view.page.kv_usage is not None:
            share = percent(view.page.kv_usage)
            parts.append(piece(("KV ", "$quiet"), (share, self._opens("kv")), (" (metrics)", "$quiet"), rank=8))
        if level.cuda_graph in _GRAPHS:
            text = _GRAPHS[level.cuda_graph]
            parts.append(piece((text, "$caution" if level.cuda_graph != "true" else "$quiet"), rank=7))
        return parts

    def _queue(self, view: ServerView) -> Piece:
        """By the log; where that tells none, by the metrics page."""
        assert view.level is not None
        if view.level.queue is None and view.page is not None and view.page.queue is not None:
            told = (figures.count(view.page.queue), self._opens("queue"))
            return piece(("queue ", "$quiet"), told, (" (metrics)", "$quiet"), rank=6)
        return piece(("queue ", "$quiet"), (figures.count(view.level.queue), self._opens("queue")), rank=6)

    def _tall(self, view: ServerView, width: int) -> list[Content]:
        level = view.level
        assert level is not None
        top, middle, bottom = figures.tall(figures.tok_s(level.decode_tok_s, 5))
        style = self._opens("decode", self._number_style(view))
        room = width - len(top) - 3
        low, high = figures.tok_s(level.p5_tok_s), figures.tok_s(level.p95_tok_s)
        style_of = self._opens("spread")
        quantiles = piece(("p5 ", "$quiet"), (low, style_of), ("  p95 ", "$quiet"), (high, style_of), rank=3)
        speed = [piece(("tok/s", "$quiet")), *self._spread(view)]
        delivered = piece(("delivered ", "$quiet"), (figures.tok_s(level.delivered_tok_s), self._opens("delivered")))
        first = fit([*speed, *self._live(view, room), delivered, quantiles], room)
        tails = (first, fit(self._pace(view), room), fit(self._load(view), room))
        return [
            Content.assemble((digits, style), "   ", tail)
            for digits, tail in zip((top, middle, bottom), tails, strict=True)
        ]

    def _one_row(self, view: ServerView | None, width: int) -> Content:
        name = "base" if self._role is Role.BASELINE else "spec"
        label = piece((f" {name}", f"bold {self._colour}"))
        if view is None or view.level is None or view.level.decode_tok_s is None:
            reason = f"no {self._role.value} server yet" if view is None else view.no_data_reason
            if view is not None and view.live_tok_s is not None:
                reason = f"live {figures.live(view.live_tok_s, view.live_requests)}; {reason}"
            return fit([label, piece(("no data", "bold $quiet")), piece((reason, "$quiet"))], width)
        number = piece((figures.tok_s(view.level.decode_tok_s, 6), self._opens("decode", self._number_style(view))))
        facts: list[Piece] = []
        if view.is_stale:
            facts.append(piece((_age(view), "$caution"), rank=1))
        if view.live_tok_s is not None:
            facts.append(piece(("live ", "$quiet"), (figures.tok_s(view.live_tok_s), self._opens("live")), rank=1))
        if self._role is Role.BASELINE and view.reference_tok_s is not None:
            facts.append(
                piece(("ref ", "$quiet"), (figures.tok_s(view.reference_tok_s), opens("trust.reference")), rank=1)
            )
        if self._role is Role.SPECULATIVE:
            accept = f"{figures.length(view.level.accept_len)}"
            facts.append(piece(("acc ", "$quiet"), (accept, self._opens("accept")), rank=1))
        facts.append(piece((view.name, "$quiet"), rank=3))
        window, is_past = window_of(self.snapshot, self.time_view), self.time_view.is_past
        references = [view.reference_tok_s]
        top = plot.shared_top(self.snapshot, plot.THROUGHPUT, references, window=window, is_past=is_past)
        cells = max(6, min(24, width - 40))
        line = plot.trend(view, window, top, cells, is_past=is_past, ascii_only=self.look.ascii_only)
        shape = piece((line, f"{self._colour} dim" if view.is_stale else self._colour), rank=2)
        return fit([label, number, shape, *facts], width, gap=" ")


class Side(Resting, Vertical):
    """A bordered column: figures, speed chart, and a cycle chart where there is room."""

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)

    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)

    def __init__(self, look: Look, role: Role) -> None:
        super().__init__(id=role.value)
        self.role = role
        self._look = look
        self._words: tuple[Content, Content] | None = None
        # Looked for with every picture otherwise.
        self._speed, self._cycle = Chart(look, classes="speed"), Chart(look, classes="cycle")
        self._form = Form.NORMAL

    def compose(self) -> ComposeResult:
        """Figures and charts."""
        yield Figures(self._look, self.role, classes="figures").data_bind(Side.snapshot, Side.time_view)
        yield self._speed
        yield self._cycle

    def apply(self, plan: Plan) -> None:
        """Take the heights of a plan."""
        self._form = plan.form
        self.set_class(plan.form is Form.NARROW, "-bare")
        for selector, rows in (
            (".figures", plan.figure_rows),
            (".speed", plan.chart_rows),
            (".cycle", plan.cycle_rows),
        ):
            child = self.query_one(selector)
            child.display = rows > 0
            child.styles.height = rows

    def watch_time_view(self) -> None:
        """Another window, or another place of the cursor."""
        self.watch_snapshot(self.snapshot)

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """Draw the borders and the charts; the figures have the snapshot themselves."""
        view = view_of(snapshot, self.role)
        self.set_class(view is not None and view.is_stale, "-stale")
        self.set_class(self._is_alarming(snapshot, view), "-alert")
        self._draw_words(view)
        self._draw_charts(snapshot, view)

    def on_resize(self) -> None:
        """A new width has other words in the border."""
        self._words = None
        self.watch_snapshot(self.snapshot)

    def _is_alarming(self, snapshot: Snapshot, view: ServerView | None) -> bool:
        if view is not None and view.state is RunState.CRASHED:
            return True
        return self.role is Role.BASELINE and snapshot.trust.state in _ALARMING

    def _draw_words(self, view: ServerView | None) -> None:
        room = max(1, self.outer_size.width - 6)
        colour = "$series-baseline" if self.role is Role.BASELINE else "$series-speculative"
        title = [piece((self.role.value.upper(), f"bold {colour}"))]
        state: list[Piece] = []
        if view is not None:
            title.append(piece((view.name, "$foreground")))
            state = _state(view, room)
        choices = [title]
        if view is not None and view.source != view.name:
            tail = "…/" + view.source.rsplit("/", 1)[-1] if "/" in view.source else view.source
            choices = [[*title, piece((source, "$quiet"))] for source in (view.source, tail)] + choices
        foot = fit(state, room, gap=" · ")
        if view is not None and self.time_view.cursor is not None:
            at, now = self.time_view.cursor, self.snapshot.now
            is_on_sample = any(plot.held_of(side.points).has_sample_at(at) for side in plot.sides(self.snapshot))
            cursor = Cursor(at, *self._speed.cell_around(at), is_on_sample)
            short = readout(view, cursor, self.role, now, is_short=True)
            foot = first_that_fits(room, readout(view, cursor, self.role, now), short)
        words = (first_that_fits(room, *choices), foot)
        before, self._words = self._words, words
        if before is None or not words[0].is_same(before[0]):
            self.set_title(words[0])
        if before is None or not words[1].is_same(before[1]):
            self.set_subtitle(words[1])

    def _draw_charts(self, snapshot: Snapshot, view: ServerView | None) -> None:
        speed, cycle = self._speed, self._cycle
        if view is None:
            speed.show(None)
            cycle.show(None)
            return
        if speed.display:
            speed.show(BY_MEASURE[self.time_view.measure](snapshot, view, self.time_view))
        if cycle.display:
            # The small chart shows what the large one does not.
            small = cycle_plot if self.time_view.measure != _CYCLE else speed_plot
            cycle.show(small(snapshot, view, self.time_view))


def _age(view: ServerView) -> str:
    return "no new line yet" if view.age_s is None else f"! {figures.age(view.age_s)} old"


def _state(view: ServerView, room: int) -> list[Piece]:
    style = "bold $alert" if view.state is RunState.CRASHED else "$quiet"
    sign = "✗ " if view.state is RunState.CRASHED else ""
    parts = [piece((f"{sign}{view.state.value}", style))]
    if view.is_ended_run:
        parts.append(piece((f"ended run, {_age(view)}", "bold $caution")))
    elif view.is_stale and view.age_s is None:
        # A server that ended has said so already; of one that runs the next line will tell.
        if view.state not in (RunState.EXITED, RunState.CRASHED):
            long = "read from the log, no new line yet"
            parts.append(piece((long if room >= 52 else "no new line yet", "$quiet")))
    elif view.is_stale:
        parts.append(piece((_age(view), "bold $caution")))
    elif view.age_s is not None:
        # Whole seconds, and none below two: a border that changes paints the whole column.
        ago = "< 2 s ago" if view.age_s < 2 else f"{figures.age(view.age_s)} ago"
        parts.append(piece((ago, "$quiet")))
    if view.run_index > 1:
        parts.append(piece((f"run {view.run_index}", "$quiet"), rank=2))
    if view.launch.note:
        parts.append(piece((view.launch.note, "$quiet"), rank=3))
    if view.speculation == "inactive":
        parts.append(piece(("! speculation inactive", "$caution"), rank=1))
    return parts
