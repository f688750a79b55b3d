"""Which of several recorded references a measured speed fits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from specmon.references.diff import is_other_model
from specmon.references.model import Reference


def better_match(named: Reference, others: Iterable[Reference], running: int, step_ms: float) -> Reference | None:
    """The one of `others` that a measured step time fits best: within its own tolerance, and closer than `named`.

    None without one. A reference of another model or engine does not count, however well its figure fits.
    """
    best: Reference | None = None
    least = _distance(named, running, step_ms)
    for other in others:
        distance = _distance(other, running, step_ms)
        if is_other_model(other.model, named.model) or _is_other_engine(other.engine, named.engine):
            continue
        if distance <= other.tolerance_at(running) and distance < least:
            best, least = other, distance
    return best


def _distance(reference: Reference, running: int, step_ms: float) -> float:
    """|ln(C / C_ref)|; infinite at a level that was not recorded."""
    level = reference.level_at(running)
    return math.inf if level is None else abs(math.log(step_ms / level.step_ms))


def _is_other_engine(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other
