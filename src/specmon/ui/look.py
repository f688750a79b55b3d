"""Signs that differ between a UTF-8 terminal and a plain ASCII one, and the filter that keeps the latter clean."""

from __future__ import annotations

from dataclasses import dataclass

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from specmon.monitor.snapshot import LinkState, Severity

# One cell for one cell, so nothing moves: what a terminal without UTF-8 gets in place of our signs.
_PLAIN = str.maketrans(
    {
        "×": "x", "−": "-", "–": "-", "—": "-", "·": "|", "…": "~", "±": "~", "→": ">", "←": "<", "≥": ">", "≤": "<",
        "✓": "+", "✗": "X", "●": "*", "○": "o", "◦": "o", "◌": "o", "▸": ">", "▶": ">", "■": "#", "‖": "=", "‹": "<",
        "›": ">", "│": "|", "┃": "|", "┊": ":", "╎": ":", "▌": "|", "▎": "|", "█": "#", "─": "-", "━": "=", "┈": ".",
        "┤": "|", "┼": "+", "┴": "+", "┬": "+", "├": "+", "└": "+", "┘": "+", "┌": "+", "┐": "+", "╭": "+", "╮": "+",
        "╰": "+", "╯": "+", "▁": "_", "▂": "_", "▃": "-", "▄": "-", "▅": "=", "▆": "=", "▇": "#", "␛": "^",
        "▐": "#", "↑": "^", "↓": "v", "⇧": "^", "╺": "-", "╸": "-", "╏": "|", "╵": "'", "▲": "^",
    }
)  # fmt: skip


def plain(text: str) -> str:
    """The same text in ASCII, cell for cell; what has no counterpart becomes `?`."""
    return text if text.isascii() else text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


class AsciiFilter(LineFilter):
    """Turns every painted line into ASCII, borders and scroll bars included."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Translate the segments of one line."""
        return [
            segment if segment.text.isascii() else Segment(plain(segment.text), segment.style, segment.control)
            for segment in segments
        ]


@dataclass(frozen=True, slots=True)
class Look:
    """Which set of signs the screen uses."""

    ascii_only: bool = False

    def mark(self, severity: Severity) -> str:
        """The sign of a severity; the word or sentence always stands beside it."""
        return (_ASCII_MARKS if self.ascii_only else _MARKS)[severity]

    def link(self, state: LinkState) -> str:
        """The sign of a connection; its word stands beside it."""
        return plain(_LINKS[state]) if self.ascii_only else _LINKS[state]

    @property
    def plus_minus(self) -> str:
        """The sign before half an interval."""
        return "+/-" if self.ascii_only else "±"

    @property
    def yes(self) -> str:
        """Beside a condition that holds."""
        return "OK" if self.ascii_only else "✓"

    @property
    def no(self) -> str:
        """Beside a condition that does not hold."""
        return "FAIL" if self.ascii_only else "✗"


_MARKS = {Severity.OK: "✓", Severity.INFO: "~", Severity.WARNING: "!", Severity.ALERT: "✗"}
_ASCII_MARKS = {Severity.OK: "OK  ", Severity.INFO: "~   ", Severity.WARNING: "WARN", Severity.ALERT: "FAIL"}
_LINKS = {
    LinkState.CONNECTING: "◌",
    LinkState.LIVE: "●",
    LinkState.WAITING: "◌",
    LinkState.REFUSED: "✗",
    LinkState.REPLAY: "▸",
    LinkState.ENDED: "■",
}

SEVERITY_STYLE = {
    Severity.OK: "$good",
    Severity.INFO: "$quiet",
    Severity.WARNING: "$caution",
    Severity.ALERT: "bold $alert",
}
