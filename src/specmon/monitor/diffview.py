"""What differs between two sets of conditions, as a screen shows it."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.references.difference import Difference


@dataclass(frozen=True, slots=True)
class DiffTable:
    """One pair of conditions."""

    before: str  # what the left values are of: "reference nccl-tuned"
    now: str
    rows: tuple[Difference, ...] = ()  # what matters first
    note: str = ""  # what is not known, so that a missing row proves nothing

    @property
    def matter(self) -> int:
        """Rows that are known to change decode speed."""
        return sum(row.weight == "matters" for row in self.rows)
