"""Where a jump goes: the next event, restart or start of a drift, and the one before. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from specmon.monitor.moments import moments_of
from specmon.monitor.snapshot import MarkKind, Moment, Snapshot


class Goal(StrEnum):
    """What a jump looks for."""

    EVENT = "event"
    RESTART = "restart"  # or the crash before it
    DRIFT = "drift"


_KINDS = {Goal.RESTART: (MarkKind.RESTART, MarkKind.CRASH), Goal.DRIFT: (MarkKind.DRIFT,)}


def known_moments(snapshot: Snapshot) -> tuple[Moment, ...]:
    """All of a replay, also what is still to come, once it was looked through; else what has happened."""
    if snapshot.playback is not None and snapshot.playback.moments:
        return snapshot.playback.moments
    return moments_of(snapshot)


def target(
    moments: Sequence[Moment], here: float, steps: int, goal: Goal = Goal.EVENT, *, slack_s: float = 0.0
) -> Moment | None:
    """The next moment of that kind after `here` (steps > 0), or the one before; None when there is none.

    Going back while a replay plays leaves out what lies less than `slack_s` back: that is where one came from.
    """
    kinds = _KINDS.get(goal)
    found = [moment for moment in moments if kinds is None or moment.kind in kinds]
    if steps > 0:
        return min((moment for moment in found if moment.at > here + _SAME_S), key=_at, default=None)
    return max((moment for moment in found if moment.at < here - max(_SAME_S, slack_s)), key=_at, default=None)


_SAME_S = 0.001  # a position that was sought comes back rounded


def _at(moment: Moment) -> float:
    return moment.at
