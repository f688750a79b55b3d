"""The top row: what is watched, how the bytes come, what time it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive

from specmon.monitor.snapshot import LinkState, Role, ServerView, Snapshot
from specmon.ui import figures
from specmon.ui.look import Look
from specmon.ui.panel import Panel
from specmon.ui.row import Piece, fit_ends, piece
from specmon.ui.timeaxis import span
from specmon.ui.timeview import FOLLOWS, MEASURES, TimeView, window_of

_LINK_STYLE = {
    LinkState.LIVE: "$good",
    LinkState.REPLAY: "$quiet",
    LinkState.ENDED: "$quiet",
    LinkState.REFUSED: "bold $alert",
}


class Header(Panel):
    """Title, mode, links and clock in one row."""

    time_view: reactive[TimeView] = reactive(FOLLOWS, repaint=False, init=False)
    held_lines: reactive[int | None] = reactive(None, init=False)  # lines since the picture was frozen
    ended: reactive[str | None] = reactive(None, init=False)  # why the session is over

    def watch_time_view(self) -> None:
        """Another window, or another place of the cursor."""
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row."""
        snapshot = self.snapshot
        names = " vs ".join(view.name for view in (snapshot.baseline, snapshot.speculative) if view is not None)
        left = [piece((" specmon ", "bold $brand"))]
        title = snapshot.title.removeprefix("specmon").strip()
        if title and title != snapshot.mode:
            left.append(piece((title, "$foreground"), rank=3))
        if names:
            left.append(piece((names, "$foreground"), rank=6))
        right: list[Piece] = []
        if self.held_lines is not None:
            more = f" PAUSED · still receiving, +{figures.count(self.held_lines)} lines "
            right.append(piece((more, "bold $caution reverse"), rank=1))
        if self.ended is not None:
            right.append(piece((f"ended{self.ended and ': ' + self.ended}", "bold $caution"), rank=1))
        right += _window(self.snapshot, self.time_view, width)
        right += _links([snapshot.baseline, snapshot.speculative], self.look, is_short=width < 60)
        right.append(piece((snapshot.mode.upper(), "bold $quiet"), rank=4))
        right.append(piece((f"{figures.clock(snapshot.now)} ", "$foreground"), rank=1))
        return [fit_ends(left, right, width)]


def _window(snapshot: Snapshot, view: TimeView, width: int) -> list[Piece]:
    """What the charts show, when somebody chose it; a picture of the past says so."""
    if view.span_s is None and not view.is_past and view.cursor is None and not view.measure:
        return []
    window = window_of(snapshot, view)
    words = []
    if view.measure:
        words.append(piece((MEASURES[view.measure], "$foreground"), rank=3))
    if view.is_past:
        start, end = (figures.moment(at, snapshot.now) for at in (window.start, window.end))
        until = f"–{end}" if width >= 72 else ""
        words.append(piece((f" PAST {start}{until} · 0 follows ", "bold $caution reverse"), rank=1))
    elif view.span_s is not None:
        words.append(
            piece((f"{'all ' if math.isinf(view.span_s) else ''}{span(window.span_s)}", "$foreground"), rank=2)
        )
    if view.cursor is not None:
        words.append(piece((f"▲ {figures.moment(view.cursor, snapshot.now)}", "bold $foreground"), rank=1))
    return words


def _links(views: Sequence[ServerView | None], look: Look, *, is_short: bool) -> list[Piece]:
    """The state of each connection; on a narrow screen both as one piece, which stays or goes as a whole."""
    known = [view for view in views if view is not None]
    states = {view.link.state for view in known}
    if is_short and len(states) == 1:
        state = states.pop()
        return [piece((f"{look.link(state)} {state.value}", _LINK_STYLE.get(state, "$caution")), rank=2)]
    links = [_link(view, look) for view in known]
    if is_short and links:
        spans = [span for link in links for span in (*link.spans, ("  ", ""))]
        return [Piece(tuple(spans[:-1]), 2)]
    return links


def _link(view: ServerView, look: Look) -> Piece:
    state = view.link.state
    style = _LINK_STYLE.get(state, "$caution")
    name = view.role.value[:4] if view.role is not Role.UNKNOWN else view.name
    short = f"{name} {look.link(state)} {state.value}"
    whole = f"{short} {view.link.detail}" if view.link.detail else short
    return piece((whole if len(whole) < 34 else short, style), rank=5)
