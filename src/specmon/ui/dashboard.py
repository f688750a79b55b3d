"""The screen's frame: it gives every panel its place, and hands the snapshot down."""

from __future__ import annotations

from collections import deque

from textual.app import ComposeResult
from textual.containers import Container
from textual.reactive import reactive
from textual.widget import Widget

from specmon.monitor.snapshot import EMPTY, Role, Snapshot
from specmon.ui.layout import Focus, Form, Needs, Plan, plan
from specmon.ui.look import Look
from specmon.ui.panel import Panel
from specmon.ui.panels.acceptance import Acceptance
from specmon.ui.panels.bars import DemoNote, KeyBar, PlaybackBar, note_of
from specmon.ui.panels.comparison import Comparison
from specmon.ui.panels.evidence import Differences, Events, TrustPanel
from specmon.ui.panels.header import Header
from specmon.ui.panels.levels import Levels
from specmon.ui.panels.logpane import LogPane
from specmon.ui.panels.others import MOST, Others
from specmon.ui.panels.phases import Phases
from specmon.ui.panels.ratio import Ratio
from specmon.ui.panels.side import Side
from specmon.ui.panels.verdict import VerdictBand, rows_needed
from specmon.ui.phasebars import is_told
from specmon.ui.resting import Resting
from specmon.ui.row import flow, visible
from specmon.ui.timeview import FOLLOWS, TimeView

Follower = Panel | Side | Acceptance | Ratio | LogPane


class Dashboard(Resting, Container):
    """All panels, placed by the plan for the current size."""

    snapshot: reactive[Snapshot] = reactive(EMPTY, repaint=False, always_update=True, init=False)
    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)
    focus_on: reactive[Focus] = reactive(Focus.OVERVIEW, init=False)

    def __init__(self, look: Look) -> None:
        super().__init__(id="dashboard")
        self.look = look
        self._plan: Plan | None = None
        self._has_playback = False
        self._needs = Needs()
        self._waiting: deque[Widget] = deque()  # panels that have not got the picture yet
        self.is_patient = False  # the panels get a new picture by `hand_next`, not all at once

    def compose(self) -> ComposeResult:
        """Every panel; those without a place are hidden."""
        look = self.look
        timed = Dashboard.time_view
        yield Header(look, id="header").data_bind(timed)
        yield VerdictBand(look, id="verdict")
        yield DemoNote(look, id="note")
        yield Side(look, Role.BASELINE).data_bind(timed)
        yield Side(look, Role.SPECULATIVE).data_bind(timed)
        yield Comparison(look, id="comparison", classes="box")
        yield Phases(look, id="phases", classes="box")
        yield Acceptance(look, id="acceptance", classes="box").data_bind(timed)
        yield Ratio(look, id="ratio", classes="box").data_bind(timed)
        yield Events(look, id="events", classes="box")
        yield Differences(look, id="differences", classes="box")
        yield TrustPanel(look, id="trust", classes="box")
        yield Levels(look, id="levels", classes="box")
        yield LogPane(look, id="log")
        yield Others(look, id="others")
        yield PlaybackBar(look, id="playback")
        yield KeyBar(look, id="footer").data_bind(focus_on=Dashboard.focus_on)

    @property
    def plan(self) -> Plan | None:
        """The plan that is in force."""
        return self._plan

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        """A replay bar or a demo note may have come or gone."""
        if self._has_playback != (snapshot.playback is not None) or self._needs != self._needs_of(snapshot):
            self.place()
        self._waiting = deque(self.children)
        while not self.is_patient and self._hand(is_prepared=False):
            pass

    def hand_next(self) -> bool:
        """Give the picture to the next panel and make its rows; False when all of them have it."""
        return self._hand(is_prepared=True)

    def _hand(self, *, is_prepared: bool) -> bool:
        if not self._waiting:
            return False
        panel = self._waiting.popleft()
        if isinstance(panel, Follower):
            panel.snapshot = self.snapshot
        if is_prepared and panel.display:
            for each in panel.walk_children(Resting, with_self=True):
                each.prepare()
        return True

    def watch_focus_on(self) -> None:
        """The lower part changes its use."""
        self.place()

    def on_resize(self) -> None:
        """A new size needs a new plan."""
        self._needs = Needs()
        self.place()

    def _needs_of(self, snapshot: Snapshot) -> Needs:
        """Rows for the words of the moment; what was given once stays, so that nothing below jumps to and fro."""
        width, before = self.size.width, self._needs
        note = len(flow(visible(note_of(snapshot)), width - 8, 2))
        return Needs(
            max(before.verdict, rows_needed(snapshot.headline, width)),
            max(before.note, note) if note else 0,
            min(MOST, len(snapshot.others)),
            len(snapshot.comparison.levels) if snapshot.comparison is not None else 0,
            before.has_phases or is_told(snapshot),
        )

    def place(self) -> None:
        """Give every panel its rectangle."""
        width, height = self.size
        if not width or not height:
            return
        self._has_playback = self.snapshot.playback is not None
        self._needs = self._needs_of(self.snapshot)
        wanted = plan(width, height, focus=self.focus_on, has_playback=self._has_playback, needs=self._needs)
        if wanted == self._plan:
            return
        self._plan = wanted
        with self.app.batch_update():
            for form in Form:
                self.set_class(form is wanted.form, f"-{form.value}")
            self.set_class(self.focus_on is not Focus.OVERVIEW, "-focused")
            for child in self.children:
                area = wanted.areas.get(child.id or "")
                child.display = area is not None
                if area is not None:
                    child.styles.offset = (area.x, area.y)
                    child.styles.width = area.width
                    child.styles.height = area.height
            self.query_one(Comparison).has_phases_beside = "phases" in wanted.areas
            for side in self.query(Side):
                side.apply(wanted)
        # Panels that were hidden have not followed the session.
        self.call_after_refresh(self._catch_up)

    def _catch_up(self) -> None:
        self.mutate_reactive(Dashboard.snapshot)
