"""One time axis for all that is shown: each log has a clock of its own, and our own events are on a third one.

The axis is the clock of one log, so that what its lines say is what the screen says. Other logs are moved by whole
quarters of an hour, as zones are. A log whose clock tells no date, or that nobody could compare with ours yet, stays
where it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from specmon.monitor.phasewords import sentence_of
from specmon.monitor.snapshot import ServerView

if TYPE_CHECKING:
    from specmon.monitor.server import ServerMonitor

ZONE_STEP_S = 900.0  # zones differ by whole quarters of an hour


def zone_between(at: float, ours: float) -> float:
    """How far a clock that says `at` when ours says `ours` is ahead as a zone, s."""
    return round((at - ours) / ZONE_STEP_S) * ZONE_STEP_S


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Where the moments of each clock lie, s."""

    ours_s: float = 0.0  # what our own clock is moved by
    shifts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # by server; only those moved

    def of(self, key: str) -> float:
        """What the times of a server's log are moved by; 0 for what is nobody's."""
        return self.shifts.get(key, 0.0)


def axis_of(servers: Sequence[ServerMonitor], *, is_ours: bool) -> TimeAxis:
    """The axis of a session. The first of `servers` whose clock is known gives it, with `is_ours` our own clock does.

    A replay that can be sought in keeps its own clock.
    """
    ahead = {server.key: at for server in servers if (at := server.clock_ahead_s) is not None}
    ours_s = 0.0 if is_ours else next(iter(ahead.values()), 0.0)
    shifts = {key: ours_s - each for key, each in ahead.items() if each != ours_s}
    return TimeAxis(ours_s, MappingProxyType(shifts))


def moved(view: ServerView, shift_s: float) -> ServerView:
    """A view of a server on the axis; its points are there already."""
    if not shift_s:
        return view
    windows = tuple(replace(window, at=window.at + shift_s) for window in view.phases.windows)
    changes = tuple(replace(change, since=change.since + shift_s) for change in view.phases.changes)
    return replace(
        view,
        marks=tuple(replace(mark, at=mark.at + shift_s) for mark in view.marks),
        last_sample_at=_moved(view.last_sample_at, shift_s),
        run_started_at=_moved(view.run_started_at, shift_s),
        phases=replace(view.phases, windows=windows, changes=changes, sentence=sentence_of(changes)),
    )


def _moved(at: float | None, shift_s: float) -> float | None:
    return None if at is None or not math.isfinite(at) else at + shift_s
