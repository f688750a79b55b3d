"""One condition that is not the same on two sides, and how much it is known to weigh."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition that differs between two fingerprints or servers."""

    kind: str  # "env", "flag", "version", "gpu", "graph"
    name: str
    before: str | None  # the reference's (or the baseline's) value, None when it is not set
    now: str | None
    weight: str  # "matters", "unknown", "expected", "noise"
    reason: str = ""  # why it weighs that much, when that is known
    origin: str = ""  # the files that set it, where no process's environment does: "now from /etc/nccl.conf"
    began_with: bool = False  # it changed when the server left its reference
