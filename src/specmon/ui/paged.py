"""An app whose dashboard may have a page on top of it, which goes on with the session."""

from __future__ import annotations

from textual import events
from textual.screen import Screen

from specmon.monitor.snapshot import EMPTY, Snapshot
from specmon.ui.assumptionscreen import AssumptionsScreen
from specmon.ui.desk import Desk
from specmon.ui.diffscreen import DiffScreen
from specmon.ui.explainscreen import ExplainScreen
from specmon.ui.fleet import FleetScreen
from specmon.ui.livescreen import LiveScreen
from specmon.ui.look import Look
from specmon.ui.opened import FigureAsked, figure_under
from specmon.ui.phasescreen import PhasesScreen
from specmon.ui.referencescreen import ReferencesScreen
from specmon.ui.sweepscreen import SweepScreen
from specmon.ui.toasts import ToastApp
from specmon.ui.whatifscreen import WhatIfScreen


class PagedApp(ToastApp):
    """Knows the dashboard's screen and the pages on top of it."""

    look = Look(False)
    _explained = ""  # the figure that was explained last
    shown_snapshot: Snapshot = EMPTY  # what the pages show
    desk: Desk | None = None  # what the pages ask; None: those that ask are not there

    @property
    def main(self) -> Screen[object]:
        """The screen of the dashboard, whatever stands on top of it."""
        return self.screen_stack[0]

    def leave_pages(self) -> None:
        """Back to the dashboard from a page on top of it."""
        while isinstance(self.screen, LiveScreen | FleetScreen):
            self.pop_screen()

    def show_page(self, page: LiveScreen) -> None:
        """Put a page on top of the dashboard, in the place of another one; the same one goes."""
        is_shown = type(self.screen) is type(page)
        self.leave_pages()
        if not is_shown:
            self.push_screen(page)

    def hand_to_pages(self, snapshot: Snapshot) -> None:
        """The session has gone on."""
        self.shown_snapshot = snapshot
        for page in self.screen_stack[1:]:
            if isinstance(page, LiveScreen):
                page.take(snapshot)

    def explain(self, figure: str = "", word: str = "") -> None:
        """Tell everything about a figure; without a name about the one that was told of last."""
        if isinstance(self.screen, ExplainScreen):
            self.screen.choose(figure, word)
            return
        screen = ExplainScreen(self.look, self.shown_snapshot, figure or self._explained, word)
        self.push_screen(screen, lambda _: self._remember(screen))

    def _remember(self, screen: ExplainScreen) -> None:
        if screen.figure is not None:
            self._explained = screen.figure.id

    def action_explain(self) -> None:
        """What a figure means, how it is made and what it rests on."""
        self.explain()

    def on_figure_asked(self, message: FigureAsked) -> None:
        """A panel knows which figure was clicked."""
        self.explain(message.figure, message.word)

    def on_click(self, event: events.Click) -> None:
        """A figure that is drawn as one opens."""
        if (figure := figure_under(event.style.meta)) is not None:
            self.explain(figure)

    def action_show_assumptions(self) -> None:
        """What the comparison rests on, on a screen of its own, or back."""
        self.show_page(AssumptionsScreen(self.look, self.shown_snapshot))

    def action_show_phases(self) -> None:
        """Where a cycle's time goes, on a screen of its own, or back."""
        self.show_page(PhasesScreen(self.look, self.shown_snapshot))

    def action_show_what_if(self) -> None:
        """The break-even line, to be moved, or back."""
        self.show_page(WhatIfScreen(self.look, self.shown_snapshot))

    def action_show_references(self) -> None:
        """The stored references, one of them in use, or back."""
        if self.desk is not None:
            self.show_page(ReferencesScreen(self.look, self.shown_snapshot, self.desk, self.draw_choice))

    def action_show_sweep(self) -> None:
        """Every setting of the logs by speed-up, or back."""
        if self.desk is not None:
            self.show_page(SweepScreen(self.look, self.shown_snapshot, self.desk, self.copy_out))

    def action_show_conditions(self) -> None:
        """What differs in the conditions, with the reasons and whole values, or back."""
        if self.desk is not None:
            self.show_page(DiffScreen(self.look, self.shown_snapshot, self.desk, self.copy_out))

    async def copy_out(self, text: str, what: str) -> None:
        """Hand a text to the clipboard, and say so."""

    def draw_choice(self) -> None:
        """The user has chosen what the session is about: show that at once."""
