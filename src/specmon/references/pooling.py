"""Several recordings of one reference: what they come to together.

A server differs more between two starts than within one, so the recordings are the unit and each counts once,
however many samples it has. A level's speed is their median, taken in the logarithm: of an even number it is the
geometric mean of the middle two, so that R = 1000 * B / C still holds between the pooled figures. How far the
recordings lie apart is the spread (`Reference.spread_at`), which widens the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from specmon.references.model import Reference, ReferenceLevel, ReferenceSession, six_digits, utc_of


def with_session(reference: Reference, session: ReferenceSession) -> Reference:
    """The reference with one more recording.

    Figures that no recording stands behind (written by hand) become one of their own, so that they count once too.
    """
    sessions = [*reference.sessions, session]
    unbacked = tuple(
        level.model_copy(update={"spread": None})
        for level in reference.levels
        if session.level_at(level.running) is not None
        and not any(known.level_at(level.running) for known in reference.sessions)
    )
    if unbacked:
        is_first = not any(known.level for known in reference.sessions)
        at = reference.recorded_at if is_first else None
        sessions.insert(len(reference.sessions), ReferenceSession(recorded_at=at, level=unbacked))
    measured = {level.running for level in session.level}
    levels = [
        _pooled(level.running, sessions, level) if level.running in measured else level for level in reference.levels
    ]
    known = {level.running for level in reference.levels}
    levels += [level for level in session.level if level.running not in known]
    moments = [each.recorded_at for each in sessions if each.recorded_at is not None]
    return reference.model_copy(
        update={
            "sessions": tuple(sessions),
            "levels": tuple(sorted(levels, key=lambda level: level.running)),
            "recorded_at": max(moments, key=utc_of, default=reference.recorded_at),
        }
    )


def overlapping(
    sessions: Sequence[ReferenceSession], new: ReferenceSession, *, is_other_host: bool = False
) -> ReferenceSession | None:
    """A recording of the same server life or of the same time; a second look at one life is no second session.

    Levels that the first look left out may be added. On another host a server may well run at the same time, so only
    the very same figures give it away.
    """
    return next(
        (
            known
            for known in sessions
            if any(new.level_at(level.running) for level in known.level)
            and _is_same_life(known, new, is_other_host=is_other_host)
        ),
        None,
    )


def _is_same_life(known: ReferenceSession, new: ReferenceSession, *, is_other_host: bool) -> bool:
    if not is_other_host and known.started_at is not None and new.started_at is not None:
        if known.started_at == new.started_at:
            return True
        if known.recorded_at is not None and new.recorded_at is not None:
            return _meet((known.started_at, known.recorded_at), (new.started_at, new.recorded_at))
    return known.level == new.level


def _meet(left: tuple[datetime, datetime], right: tuple[datetime, datetime]) -> bool:
    """Whether two spans of time have a moment in common; of two clocks, one without its zone, nobody knows."""
    if len({moment.tzinfo is None for moment in (*left, *right)}) > 1:
        return False
    return left[0] <= right[1] and right[0] <= left[1]


def _pooled(running: int, sessions: Sequence[ReferenceSession], known: ReferenceLevel) -> ReferenceLevel:
    found = [level for session in sessions if (level := session.level_at(running)) is not None]
    cycles = [level.cycle_ms for level in found if level.cycle_ms is not None]
    contexts = [level.context_tokens for level in found if level.context_tokens is not None]
    counts = [level.n for level in found if level.n is not None]
    return ReferenceLevel(
        running=running,
        tok_s=_middle([level.tok_s for level in found]),
        n=sum(counts) or None,
        tok_s_ci95=found[0].tok_s_ci95 if len(found) == 1 else None,
        cycle_ms=_middle(cycles) if cycles else None,
        sigma=_pooled_sigma(found),
        spread=known.spread,
        context_tokens=(min(low for low, _ in contexts), max(high for _, high in contexts)) if contexts else None,
    )


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else six_digits(math.sqrt(ordered[half - 1] * ordered[half]))


def _pooled_sigma(levels: Sequence[ReferenceLevel]) -> float | None:
    """Root mean square over the samples: the spread within a recording, not that between them."""
    known = [(level.n or 1, level.sigma) for level in levels if level.sigma is not None]
    if not known:
        return None
    return six_digits(math.sqrt(sum(n * sigma**2 for n, sigma in known) / sum(n for n, _ in known)))
