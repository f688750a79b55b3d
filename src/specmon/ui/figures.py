"""How figures are written: fixed widths, units, and a dash where nothing was measured."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from specmon.shares import signed_percent

NONE = "–"
_FIRST_DATED_S = 10 * 365 * 86400.0  # no log is older; stamps below count from some day


def tok_s(value: float | None, width: int = 0) -> str:
    """A speed: one decimal up to 1000, then none."""
    if value is None or not math.isfinite(value):
        return NONE.rjust(width)
    text = f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.rjust(width)


def half(value: float) -> str:
    """Half of an interval of a speed, for behind a ±; one too narrow to be written is not nothing: `<0.1`."""
    return "<0.1" if value < 0.05 else tok_s(value)


def ms(value: float | None) -> str:
    """A time of one cycle or step, without its unit."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.2f}" if abs(value) < 1 else f"{value:,.1f}"


def times(value: float | None) -> str:
    """A ratio of two speeds."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.2f}×"


def length(value: float | None) -> str:
    """An accept length."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.2f}"


def live(value: float, requests: int) -> str:
    """The speed of requests that go on, without the word that says so: `18.2 tok/s`, `37.1 tok/s of 2 requests`."""
    return f"{tok_s(value)} tok/s" + (f" of {requests} requests" if requests > 1 else "")


def percent(value: float | None, digits: int = 0) -> str:
    """A signed share: `−29.2 %`."""
    if value is None or not math.isfinite(value):
        return NONE
    return signed_percent(value, digits)


def count(value: float | None) -> str:
    """A whole number with its thousands apart."""
    return NONE if value is None or not math.isfinite(value) else f"{value:,.0f}"


def clock(at: float | None) -> str:
    """The time of day on the log's clock, which is counted as if it were UTC."""
    if at is None or not math.isfinite(at):
        return "--:--:--"
    seconds = math.floor(at) % 86400
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def moment(at: float | None, beside: float | None) -> str:
    """The time of day, after the date where that is another one than that of `beside`."""
    if at is None or beside is None or not math.isfinite(at) or at // 86400 == beside // 86400:
        return clock(at)
    return f"{day(at)} {clock(at)}"


def day(at: float) -> str:
    """The date of a moment without its year: `02-27`; `day 2` on a clock that knows none."""
    if not 0 <= at < 253_402_300_800 or at < _FIRST_DATED_S:
        return f"day {at // 86400 + 1:.0f}"
    return datetime.fromtimestamp(at, UTC).strftime("%m-%d")


def age(seconds: float | None) -> str:
    """How old something is, in whole units so that it does not flicker."""
    if seconds is None or not math.isfinite(seconds):
        return "age unknown"
    whole = max(0, int(seconds))
    if whole < 1:
        return "< 1 s"
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min"
    return f"{whole // 3600} h" if whole < 172800 else f"{whole // 86400} d"


def speed(value: float) -> str:
    """The pace of a replay."""
    return "max" if math.isinf(value) else f"{value:g}×"


_DIGITS = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": ("╺┓ ", " ┃ ", "╺┻╸"),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    ".": (" ", " ", "▪"),
    ",": (" ", " ", "╻"),
    "×": ("   ", " ╳ ", "   "),
    "–": ("   ", "╺━╸", "   "),
    " ": ("   ", "   ", "   "),
}


def tall(text: str) -> tuple[str, str, str]:
    """The figure three rows high, to be read from across the room."""
    glyphs = [_DIGITS.get(char, _DIGITS[" "]) for char in text]
    return ("".join(g[0] for g in glyphs), "".join(g[1] for g in glyphs), "".join(g[2] for g in glyphs))
