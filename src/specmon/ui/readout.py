"""What stands under the cursor of the charts, in one row for each server. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specmon.monitor.held import Stretch, Three
from specmon.monitor.snapshot import Role, ServerView
from specmon.ui import figures
from specmon.ui.plot import held_of
from specmon.ui.row import Piece, piece
from specmon.ui.timeview import sample_under


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the cursor of the charts stands."""

    at: float
    start: float  # of the time that its column stands for
    end: float
    is_on_sample: bool = False  # of some server


_LEAST_S = 10.0  # a column that stands for less tells the sample next to the cursor


def readout(view: ServerView, cursor: Cursor, role: Role, now: float, *, is_short: bool = False) -> list[Piece]:
    """The sample at the cursor; of a column of many, or where single ones are held no more, what they come to.

    `now` is a moment of whose day no date need be told.
    """
    at, held = cursor.at, held_of(view.points)
    start, end = held.reach(at, cursor.start, cursor.end)
    is_condensed = held.condensed_until is not None and at < held.condensed_until
    if is_condensed or (end - start >= _LEAST_S and not cursor.is_on_sample):
        found = held.stretch(start, end, view.level.running if view.level is not None else None)
        if found is not None and (is_condensed or found.count + found.left_out > 1):
            return _of_many(found, role, now, is_short=is_short)
    sample = sample_under(view.points, at, end - start)
    time = piece((figures.moment(at if sample is None else sample.at, now), "bold $foreground"))
    if sample is None:
        return [time, piece(("no sample here", "$quiet"))]
    pieces = [time, piece((figures.tok_s(sample.tok_s), "$foreground"), ("" if is_short else " tok/s", "$quiet"))]
    if sample.excluded is not None:
        pieces.append(_left_out(sample.excluded, is_short=is_short))
    if role is not Role.BASELINE and sample.accept_len is not None:
        pieces.append(piece(("acc ", "$quiet"), (figures.length(sample.accept_len), "$foreground"), rank=1))
    if sample.cycle_ms is not None:
        pieces.append(piece((f"{figures.ms(sample.cycle_ms)} ms", "$foreground"), rank=2))
    pieces.append(piece(("run ", "$quiet"), (str(sample.running), "$foreground"), rank=3))
    return pieces


def _of_many(found: Stretch, role: Role, now: float, *, is_short: bool) -> list[Piece]:
    """Least, median and greatest of a stretch of time, and how many samples they are of."""
    pieces = [piece((figures.moment(found.start, now), "bold $foreground"))]
    if found.tok_s is not None:
        low, middle, high = (figures.tok_s(each) for each in found.tok_s)
        if is_short:
            pieces.append(piece((middle, "$foreground"), (f" ({low}…{high})", "$quiet")))
        else:
            pieces.append(piece(("median ", "$quiet"), (middle, "$foreground"), (f" tok/s ({low}…{high})", "$quiet")))
    if found.rule is not None:
        pieces.append(_left_out(found.rule, is_short=is_short))
    if role is not Role.BASELINE and (accept := _range(found.accept_len, figures.length)):
        pieces.append(piece(("acc ", "$quiet"), (accept, "$foreground"), rank=1))
    if cycle := _range(found.cycle_ms, figures.ms):
        pieces.append(piece((f"{cycle} ms", "$foreground"), rank=2))
    count = f"{figures.count(found.count)} samples"
    if found.left_out and found.rule is None:
        count += f", {figures.count(found.left_out)} left out"
    pieces.append(piece((count, "$quiet"), rank=1))
    return pieces


def _range(three: Three, word: Callable[[float], str]) -> str:
    return "" if three is None else f"{word(three[1])} ({word(three[0])}…{word(three[2])})"


def _left_out(rule: str, *, is_short: bool) -> Piece:
    why = rule.replace("_", " ")
    return piece((f"◦ {why}" if is_short else f"left out: {why}", "bold $caution"))
