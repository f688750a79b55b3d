"""The stored references as a screen shows them: one row each, beside the baseline that runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One reference, or a file that is none."""

    key: str  # what it is chosen by
    name: str
    speed: str = ""  # "62.9 tok/s ±0.4 at 1"
    sessions: str = ""  # "2 sessions", "by hand"
    recorded: str = ""  # "2026-02-20"
    engine: str = ""
    model: str = ""
    deviation: float | None = None  # of the baseline now from it; None: not at a level that was recorded
    is_within: bool = False  # that deviation is inside the tolerance
    differ: int | None = None  # conditions that are not those of the baseline now; None: nobody knows
    matter: int = 0  # of them
    is_chosen: bool = False
    misfit: str = ""  # why it says nothing about this baseline
    fault: str = ""  # why its file cannot be read
    details: tuple[str, ...] = ()  # all else that is worth reading, a sentence a row


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording that was written."""

    key: str  # of the reference that it is now in
    text: str  # where it is, and what it says


@dataclass(frozen=True, slots=True)
class Shelf:
    """Every reference that can be chosen."""

    rows: tuple[ReferenceRow, ...] = ()
    baseline: str = ""  # the name of the server that is held against them
    tok_s: float | None = None  # its speed now
    running: int | None = None  # at so many running requests
    places: tuple[str, ...] = ()  # folders that were looked into
    record_into: str = ""  # the folder of a new one
