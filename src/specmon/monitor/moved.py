"""Says that the compared figures of a server mix two speeds, as it became slower or faster within its run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specmon.analysis.figures import LevelFigures
from specmon.analysis.shift import Shift, shift_of
from specmon.monitor.timewords import time_of_day

if TYPE_CHECKING:
    from specmon.analysis.run import RunStatistics
    from specmon.monitor.life import Life

_SIDES = ("baseline", "speculative server")


@dataclass(frozen=True, slots=True)
class Moved:
    """What moved, for the verdict band and for the reasons beside a verdict."""

    short: str
    sentence: str


def moved_inside(lives: tuple[Life, Life], pair: tuple[LevelFigures, LevelFigures], speedup: float | None) -> Moved:
    """Empty where both kept their speed. A band has no series of its own and is not judged."""
    shifts = [life.last_shift.of(life.statistics, level) for life, level in zip(lives, pair, strict=True)]
    told = [(side, shift) for side, shift in zip(_SIDES, shifts, strict=True) if shift is not None]
    if not told:
        return Moved("", "")
    parts = [
        f"the {side} moved within its run{_since(shift)}: cycle {shift.before_ms:.1f} → {shift.now_ms:.1f} ms"
        for side, shift in told
    ]
    now = _speedup_now(shifts, pair, speedup)
    since = "" if now is None else f"; since then {now:.2f}×"
    return Moved(
        f"{' and '.join(side for side, _ in told)} moved within the run{since}",
        f"{'; '.join(parts)}, so the figures mix two speeds{since}. Compare one part with --since or --until",
    )


class LastShift:
    """The step of one run's compared level; looked for again with new figures only, as pictures come oftener."""

    def __init__(self) -> None:
        self._level: LevelFigures | None = None
        self._found: Shift | None = None

    def of(self, statistics: RunStatistics, level: LevelFigures) -> Shift | None:
        """The newest step at the level of these figures; a band has none."""
        if self._level is not level:
            self._level, self._found = level, _look(statistics, level)
        return self._found


def _look(statistics: RunStatistics, level: LevelFigures) -> Shift | None:
    if level.running_range is not None:
        return None
    for tag in statistics.counted_ranks:
        known = statistics.level_of(tag, level.running)
        if known is not None and (shift := shift_of(known.clean)) is not None:
            return shift
    return None


def _since(shift: Shift) -> str:
    return f" at {time_of_day(shift.at)}" if math.isfinite(shift.at) else ""


def _speedup_now(
    shifts: list[Shift | None], pair: tuple[LevelFigures, LevelFigures], speedup: float | None
) -> float | None:
    """The ratio with the cycles since the steps; accept lengths as they are over the whole."""
    factor = 1.0
    for shift, level, power in zip(shifts, pair, (1, -1), strict=True):
        if shift is not None:
            if level.cycle_ms is None:
                return None
            factor *= (shift.now_ms / level.cycle_ms) ** power
    return None if speedup is None else speedup * factor
