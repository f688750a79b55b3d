"""The thin rows: the demo's note, the replay bar and the keys at the bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from specmon.monitor.snapshot import Moment, Playback, Severity, Snapshot
from specmon.ui import figures
from specmon.ui.keys import shown_keys
from specmon.ui.layout import Focus
from specmon.ui.panel import Panel
from specmon.ui.row import Piece, fit, fits, flow, piece, visible
from specmon.ui.timeaxis import MARK_SIGNS


def note_of(snapshot: Snapshot) -> str:
    """The note of the demo, or of the capture that is replayed."""
    if snapshot.mode != "demo" and not snapshot.demo_note:
        return ""
    return snapshot.demo_note or "recorded logs, played over a real SSH connection to this machine"


class DemoNote(Panel):
    """Says that this is a demo, and what it shows at the moment."""

    depends_on = ("demo_note", "mode")

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row, two for a long note on a screen that has them."""
        # A capture may bring notes of its own into a replay; only the demo calls itself one.
        label = " DEMO " if self.snapshot.mode == "demo" else " NOTE "
        first, *more = flow(visible(note_of(self.snapshot)), width - len(label) - 2, height) or [""]
        indent = " " * (len(label) + 2)
        return [
            fit([piece((label, "bold reverse $brand")), piece((first, "$foreground"))], width),
            *(Content.assemble(indent, (line, "$foreground")) for line in more),
        ]


class PlaybackBar(Panel):
    """Where a replay stands; a click goes there."""

    class Seek(Message):
        """Somebody clicked on a moment."""

        def __init__(self, position: float) -> None:
            super().__init__()
            self.position = position

    _moments: Mapping[int, Moment] = MappingProxyType({})  # by the cell of the track
    _track = (0, 0)  # first cell and length of the track, from the last drawing

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """State, track, end and speed."""
        playback = self.snapshot.playback
        if playback is None:
            return []
        state = "‖ PAUSED" if playback.is_paused else "▶ REPLAY"
        head = f" {state} {figures.clock(playback.position)} "
        tail = f" {figures.clock(playback.end)}  {figures.speed(playback.speed):>5} "
        length = max(0, width - len(head) - len(tail))
        span = playback.end - playback.start
        share = 0.0 if span <= 0 else min(1.0, max(0.0, (playback.position - playback.start) / span))
        done = round(share * max(0, length - 1))
        self._track, self._moments = (len(head), length), {}
        style = "bold $caution" if playback.is_paused else "bold $brand"
        if length < 3:
            return [fit([piece((head, style)), piece((tail.strip(), "$quiet"), rank=1)], width, gap="")]
        cells = [("━", "$brand")] * done + [("●", "bold $brand")] + [("─", "$faint")] * (length - done - 1)
        self._moments = _marked(playback, length)
        for cell, moment in self._moments.items():
            if cell != done:
                sign = "╵" if moment.kind is None else MARK_SIGNS[moment.kind]
                cells[cell] = (sign, "bold $alert" if moment.severity is Severity.ALERT else "bold $caution")
        return [Content.assemble((head, style), *cells, (tail, "$quiet"))]

    def on_click(self, event: events.Click) -> None:
        """Turn the cell into a moment."""
        start, length = self._track
        playback = self.snapshot.playback
        if playback is None or length < 2 or not start <= event.x < start + length:
            return
        if (moment := self._moments.get(event.x - start)) is not None:
            self.post_message(self.Seek(moment.at))
            return
        share = (event.x - start) / (length - 1)
        self.post_message(self.Seek(playback.start + share * (playback.end - playback.start)))


def _marked(playback: Playback, length: int) -> dict[int, Moment]:
    """The moments that a track of so many cells has signs for; of several in one cell the one that matters most."""
    found: dict[int, Moment] = {}
    span_s = playback.end - playback.start
    for moment in playback.moments:
        cell = round((moment.at - playback.start) / span_s * (length - 1)) if span_s > 0 else -1
        is_quiet = moment.severity in (Severity.OK, Severity.INFO)
        if not is_quiet and 0 <= cell < length and (cell not in found or _weight(moment) > _weight(found[cell])):
            found[cell] = moment
    return found


def _weight(moment: Moment) -> tuple[bool, bool]:
    return moment.severity is Severity.ALERT, moment.kind is not None


# key, word, action, rank: the higher the rank, the sooner it goes when the row is short
_LIVE = (("space", "pause", "app.toggle_pause", 1),)
_REPLAY = (
    ("space", "pause", "app.toggle_pause", 1),
    ("←→", "10 s", "app.seek(10)", 3),
    ("+ -", "speed", "app.change_speed(1)", 4),
    (", .", "step", "app.step(1)", 5),
)
_TIME = (
    ("[ ]", "zoom", "app.zoom(1)", 12),
    ("c", "cursor", "app.toggle_cursor", 12),
    ("n N", "next event", "app.jump('event', 1)", 13),
    ("m", "measure", "app.next_measure", 14),
)
_FLEET = (("f", "all servers", "app.show_fleet", 2), ("b", "sweep", "app.show_sweep", 5))
_BACK = ("esc", "back", "app.show_overview", 1)
_OPENED = {
    Focus.OVERVIEW: (),
    Focus.LOG: (_BACK,),
    Focus.DIFFERENCES: (_BACK, ("D", "in full", "app.show_conditions", 1)),
    Focus.EVENTS: (_BACK,),
}
_ALWAYS = (
    ("l", "log", "app.show_whole_log", 2),
    ("d", "diff", "app.show_differences", 3),
    ("r", "reference", "app.show_references", 3),
    ("v", "events", "app.show_events", 11),
    ("x", "explain", "app.explain", 4),
    ("p", "phases", "app.show_phases", 5),
    ("a", "assumptions", "app.show_assumptions", 6),
    ("w", "what if", "app.show_what_if", 7),
    ("b", "sweep", "app.show_sweep", 11),
    ("D", "diff in full", "app.show_conditions", 12),
    ("y", "copy", "app.copy_verdict", 8),
    ("e", "export", "app.export", 9),
    ("t", "theme", "app.next_theme", 10),
    ("^p", "palette", "app.command_palette", 11),
    ("?", "help", "app.show_help", 0),
    ("q", "quit", "app.quit", 0),
)


class KeyBar(Panel):
    """The keys that work now, those of what is open first; each can be clicked."""

    depends_on = ()
    focus_on: reactive[Focus] = reactive(Focus.OVERVIEW, init=False)
    is_replay: reactive[bool] = reactive(False, init=False)
    has_fleet: reactive[bool] = reactive(False, init=False)  # more servers than the two that are compared
    own_keys: Mapping[str, str] = MappingProxyType({})  # the user's, by the action's id
    _places: Sequence[tuple[int, int, str]] = ()

    def watch_focus_on(self) -> None:
        """Something else is open."""
        self.redraw()

    def keys(self) -> Sequence[tuple[str, str, str, int]]:
        """Key, word, action, rank."""
        first = (*_OPENED[self.focus_on], *(_REPLAY if self.is_replay else _LIVE), *(_FLEET if self.has_fleet else ()))
        given = {action for _, _, action, _ in first}
        rest = [key for key in (*_ALWAYS[:-2], *_TIME) if key[2] not in given]
        return (*first, *rest, *_ALWAYS[-2:])

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """One row."""
        keys = tuple(self.keys())
        if self.own_keys:
            keys = tuple((shown_keys(key, self.own_keys), word, action, rank) for key, word, action, rank in keys)
        room = width - 2
        while len(keys) > 2 and not fits([_key(key, word) for key, word, _, _ in keys], room):
            worst = max(rank for _, _, _, rank in keys)
            keys = tuple(each for each in keys if each[3] != worst)
        pieces = [_key(key, word) for key, word, _, _ in keys]
        places: list[tuple[int, int, str]] = []
        x = 1
        for each, (_, _, action, _) in zip(pieces, keys, strict=True):
            places.append((x, x + each.width, action))
            x += each.width + 2
        self._places = places
        return [Content.assemble(" ", fit(pieces, room))]

    async def on_click(self, event: events.Click) -> None:
        """Do what the key under the pointer does."""
        for start, end, action in self._places:
            if start <= event.x < end:
                await self.app.run_action(action)


def _key(key: str, word: str) -> Piece:
    return piece((key, "bold $brand"), (f" {word}", "$quiet"))
