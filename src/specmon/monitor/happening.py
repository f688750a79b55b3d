"""Rare events of a server's life."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST, _NEWEST = 100, 1000  # of very many these are held


@dataclass(frozen=True, slots=True)
class Happening:
    """A rare event of a life, as reports list it."""

    kind: str  # launch, ready, retraction, flush, crash, exit, gap, truncated
    at: float | None = None
    rank: str = ""
    size_bytes: int | None = None
    detail: str = ""


def shorten(happenings: list[Happening]) -> None:
    """Leave out those in the middle, when there are very many: a server may retract requests all week."""
    if len(happenings) > _FIRST + 2 * _NEWEST:
        del happenings[_FIRST:-_NEWEST]
