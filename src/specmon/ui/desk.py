"""What a screen asks of the session behind it beside its picture: references, the diff of conditions, the sweep."""

from __future__ import annotations

from typing import Protocol

from specmon.monitor.diffview import DiffTable
from specmon.monitor.shelfview import Recorded, Shelf
from specmon.monitor.sweepview import SweepPicture


class Desk(Protocol):
    """Answers for one session. Whatever raises SpecmonError says in a sentence what the user can do."""

    async def references(self) -> Shelf:
        """What is stored, read anew."""
        ...

    def choose(self, key: str | None) -> None:
        """Hold the session against a reference of the last answer; None: against none."""
        ...

    async def record(self, name: str) -> Recorded:
        """Write the baseline that runs down as a new reference."""
        ...

    async def add_session(self, key: str) -> Recorded:
        """The baseline that runs as one more session of a stored reference."""
        ...

    def sweep(self) -> SweepPicture:
        """Every setting and every load of the logs seen, as they stand now."""
        ...

    def diffs(self) -> tuple[DiffTable, ...]:
        """Which conditions differ; the very same answer while none of them changes."""
        ...
