"""The help: keys, signs and words on one page."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specmon.ui.keys import shown_keys
from specmon.ui.look import Look
from specmon.ui.row import flow

_KEYS = (
    ("space", "pause the replay; live: freeze the picture, lines are still received"),
    ("l  /", "the log of all servers on a screen of its own"),
    ("ctrl+l", "the newest lines below the verdict; arrows and page keys scroll, f follows again"),
    ("v", "all events below the verdict: arrows, page keys or the wheel; enter or a click opens the log at the line"),
    ("tab enter", "the same in the small list of events"),
    ("d", "configuration: what differs from the reference and between the servers"),
    ("f", "all servers in one table: enter compares the chosen one, b as the baseline, s as the speculative side"),
    ("p", "cycle phases: where the time of a cycle goes, and since when"),
    ("x", "explain a figure: meaning, formula, samples, its line; so does a click on the figure"),
    ("a", "the four assumptions behind the comparison: which hold, by what, and what to do"),
    ("w", "what if: move accept length, verify and draft cost, see the break-even"),
    ("D", "configuration in full: why each condition matters, whole values, before and after each restart"),
    ("b", "sweep: every setting of the logs by speed-up, with ties, and every number of running requests"),
    ("r", "references: choose one for this session, record the running baseline, add a session to one"),
    ("esc", "back to all panels"),
    ("t", "next theme"),
    ("y", "copy the verdict as Markdown into the clipboard, also over SSH and in tmux"),
    ("e", "export the session: report with charts, JSON and CSV, into a new folder here"),
    ("s", "save the screen as a picture (SVG) in the current folder"),
    ("ctrl+p", "command palette: every action by its name"),
    ("q  ctrl+c", "quit"),
)
_CHART_KEYS = (
    ("[ ]", "more time, less time, from one minute to all that is held; also the mouse wheel"),
    ("< >", "charts: half a window earlier, later; also shift and the wheel"),
    ("0", "charts follow the newest sample again"),
    (
        "c",
        "cursor on the charts, also by a click; arrows move it, the lower border tells the sample; esc takes it away",
    ),
    (",  .", "cursor to the sample before, to the next one"),
    ("m", "large charts: tok/s, cycle ms, accept length"),
    ("n N", "next event, event before"),
    ("j J", "next restart or crash, the one before"),
    ("o O", "next start of a drift, the one before"),
    ("← →", "10 seconds back, forward; with shift one minute"),
    ("home end", "the oldest sample that is held; follow again"),
)
_REPLAY_KEYS = (
    ("+  -", "faster, slower"),
    ("← →", "10 seconds back, forward; with shift one minute"),
    (",  .", "one sample back, forward"),
    ("n N  j J  o O", "go to the next or last event, restart, start of a drift, and pause there"),
    ("home end", "to the first, to the last line"),
)
_LOG_KEYS = (
    ("↑ ↓ page", "move; home the oldest line, end the newest"),
    ("← →", "move the text: no line is wrapped"),
    ("f", "follow the newest line, or stay"),
    ("/  n N", "search a regular expression; next match, match before"),
    ("&", "show only lines that match"),
    ("v  o", "lines of one server; statistics only, or all but these"),
    ("enter", "one line in full: its bytes, what was read, whether it counts"),
    ("esc  l", "give up a search, else back"),
)
_EXPLAIN_KEYS = (
    ("← →", "figure before, next figure"),
    ("tab", "the list of all figures, or the text again; arrows and a click choose one"),
    ("enter", "the newest line that the figure rests on, in the log"),
    ("esc  x", "back"),
)
_WORDS = (
    ("accept length", "tokens per request and cycle, the bonus token included; 1 is no gain"),
    ("cycle", "one draft and verify round; without speculation one decode step"),
    ("break-even", "cycle / baseline step: below this accept length speculation loses"),
    ("headroom", "accept length / break-even − 1: how far acceptance may fall; the same figure as speed-up − 1"),
    ("±", "half of the 95 % interval of the speed before it; CI is the whole interval"),
    ("running", "requests that decode together on one rank; figures are of one such load"),
    ("ctx", "tokens of context per running request: its prompt, and the answer so far"),
    ("graph", "✓ decoding runs as CUDA graphs, ✗ it does not and every step takes longer, ~ now so, now so"),
    ("run 2", "the second life of the server in its log: it was started again"),
    ("decode tok/s", "speed of pure decoding, from clean samples only"),
    ("delivered", "tokens over time, prefill stalls included: what clients get"),
    ("apparent", "against the baseline measured now, even if that is not trusted"),
    (
        "phase times",
        "start SGLang 0.5.11 or later with --enable-metrics and SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 set",
    ),
)


class HelpScreen(ModalScreen[None]):
    """Keys, signs and words."""

    BINDINGS = [Binding("escape,question_mark,q,space", "dismiss", "Close", id="help.close")]

    def __init__(self, look: Look, *, is_replay: bool, own_keys: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._own_keys = own_keys or {}
        self._look = look
        self._is_replay = is_replay

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="help") as page:
            page.border_title = Content("help")
            page.border_subtitle = Content("esc closes")
            yield Static()

    def on_mount(self) -> None:
        """The page takes the arrow keys at once."""
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        """The page is broken into rows for the width it has."""
        self.query_one(Static).update(self._page(min(84, self.size.width) - 8))

    def _page(self, width: int) -> Content:
        parts: list[str | tuple[str, str] | Content] = []

        def section(title: str, rows: tuple[tuple[str, str], ...]) -> None:
            parts.append((f"{title}\n", "bold $brand"))
            for default, text in rows:
                name = shown_keys(default, self._own_keys)
                for index, line in enumerate(flow(text, width - 16, 9)):
                    parts.extend(((f"  {'' if index else name:<14}", "bold"), (f"{line}\n", "$foreground")))
            parts.append("\n")

        section("Keys", _KEYS)
        is_told_below = {name for name, _ in _REPLAY_KEYS} | {"n N", "j J", "o O"}
        charts = [row for row in _CHART_KEYS if not self._is_replay or row[0] not in is_told_below]
        section("Charts and their past", tuple(charts))
        if self._is_replay:
            section("Replay", _REPLAY_KEYS)
        section("In the log", _LOG_KEYS)
        section("Explain", _EXPLAIN_KEYS)
        signs = (
            ("│ restart", "a new life of the server"),
            ("┊ gap", "bytes that never came"),
            ("◦", "a sample that is left out: idle time, prefill, start-up"),
            ("▲", "the cursor; in the top row its time"),
            ("PAST", "the charts show the past and do not follow; figures and verdict stay those of now"),
            ("dim dots  ↑", "samples of another number of running requests; ↑ is beyond the scale"),
            ("┈", "the reference, or the break-even accept length"),
            ("?", "a statistics line that could not be read, or a figure nobody measures"),
        )
        section("Signs", signs)
        section("Words", _WORDS)
        return Content.assemble(*parts)
