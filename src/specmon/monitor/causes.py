"""What may have moved a baseline away from its reference, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from specmon.analysis.figures import LevelFigures
from specmon.references.diff import compare
from specmon.references.difference import Difference
from specmon.references.fingerprint import Fingerprint

_ORDER = {"matters": 0, "unknown": 1, "expected": 2, "noise": 3}
_GRAPH_REASON = "without a captured graph each decode step pays for its kernel launches"


def causes_of(
    reference: Fingerprint, now: Fingerprint, changed: Iterable[Difference], level: LevelFigures | None
) -> tuple[Difference, ...]:
    """All that differs from the reference's conditions.

    First what `changed` when the server left the reference (unless it is known to be noise, as a port is), then what
    is known to matter, then the unknown. Within each the order is the reference's own.
    """
    names = {(difference.kind, difference.name) for difference in changed}
    found = [*_lost_graph(reference, level), *compare(reference, now)]
    marked = [
        replace(cause, began_with=cause.weight != "noise" and (cause.kind, cause.name) in names) for cause in found
    ]
    return tuple(sorted(marked, key=lambda cause: (not cause.began_with, _ORDER[cause.weight])))


def _lost_graph(reference: Fingerprint, level: LevelFigures | None) -> list[Difference]:
    """The baseline decodes without CUDA graphs, and the reference was not recorded so."""
    disabled = (reference.flags or {}).get("disable_cuda_graph")
    if level is None or level.cuda_graph not in ("false", "mixed") or disabled is True:
        return []
    recorded = "true" if disabled is False else None  # a reference without flags does not say
    return [Difference("graph", "cuda graph", recorded, level.cuda_graph, "matters", _GRAPH_REASON)]
