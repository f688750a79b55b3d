"""What there is to say of one figure of the screen: its meaning, its arithmetic, what it rests on, what is in doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

_DIGITS = 5  # of a figure in a formula: with fewer the result would differ from what the screen shows
_HOLDS_WITHIN = 1e-3


class Unit(StrEnum):
    """How a figure is written."""

    TOK_S = "tok/s"
    MS = "ms"
    TIMES = "times"
    LENGTH = "length"
    CHANGE = "change"  # a signed share
    SHARE = "share"  # 0..1
    COUNT = "count"
    SIGMAS = "sigmas"


@dataclass(frozen=True, slots=True)
class Formula:
    """How a figure follows from others."""

    words: str  # "R = 1000 · A · B / C"
    filled: str  # "1000 × 2.12 × 1 / 29.9"
    value: float  # what comes out
    unit: Unit
    note: str = ""  # what these figures are, where it is not plain


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Where the newest line stands that the figure rests on."""

    key: str  # of the server
    server: str  # its name
    path: str
    at: float | None  # log clock
    position: int | None  # byte of the server's log; None: nobody knows any more


@dataclass(frozen=True, slots=True)
class Explanation:
    """One figure, to be read by somebody who doubts it."""

    id: str  # "speculative.accept"
    subject: str  # "comparison", "baseline", "speculative", or the name of another server
    name: str  # in the words that reports and docs use
    meaning: str
    unit: Unit = Unit.COUNT
    value: float | None = None
    word: str = ""  # in place of a figure
    extra: str = ""  # what stands beside the figure
    formulas: tuple[Formula, ...] = ()
    interval: str = ""  # with how it was made
    used: str = ""  # "212 clean samples of 221 at 1 running"
    left_out: tuple[tuple[str, int], ...] = ()  # by reason, of the run
    span: tuple[float, float] | None = None  # log clock: over which time
    own_word: str = ""  # how the engine writes it
    source: SourceLine | None = None
    doubts: tuple[str, ...] = ()
    none_because: str = ""  # why there is no figure


def number(value: float) -> str:
    """A figure for a formula: five significant digits, thousands apart, a true minus."""
    if not math.isfinite(value):
        return "–"
    decimals = 0 if value == 0 else max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))
    text = f"{abs(value):,.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def formula(
    words: str, filled: str, computed: float | None, shown: float | None, unit: Unit, note: str = ""
) -> tuple[Formula, ...]:
    """The formula, unless a figure is unknown or another one comes out than is shown: then it is none of this one."""
    if computed is None or shown is None or not math.isfinite(computed):
        return ()
    if not math.isclose(computed, shown, rel_tol=_HOLDS_WITHIN, abs_tol=_HOLDS_WITHIN):
        return ()
    return (Formula(words, filled, shown, unit, note),)


def quotient(
    words: str, above: float | None, below: float | None, shown: float | None, unit: Unit
) -> tuple[Formula, ...]:
    """`above / below`."""
    if above is None or not below:
        return ()
    return formula(words, f"{number(above)} / {number(below)}", above / below, shown, unit)


def excess(words: str, above: float | None, below: float | None, shown: float | None) -> tuple[Formula, ...]:
    """`above / below − 1`, a signed share."""
    if above is None or not below:
        return ()
    filled = f"{number(above)} / {number(below)} − 1"
    return formula(words, filled, above / below - 1, shown, Unit.CHANGE)
