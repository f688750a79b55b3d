"""A ranking as it is shown: cells that are words already, and what stands around them."""

from __future__ import annotations

from dataclasses import dataclass

# In the order of the table. The first is the run's name, the last is the verdict; between them stand numbers.
SWEEP_HEADINGS = ("run", "steps", "draft", "accept", "cycle ms", "tok/s", "break-even", "speed-up", "95 %", "verdict")


@dataclass(frozen=True, slots=True)
class SweepLine:
    """One row of the table."""

    place: int  # counted from 1, the fastest first
    cells: tuple[str, ...]  # as SWEEP_HEADINGS
    verdict: str  # faster, slower, equal, not comparable, cannot tell
    sentence: str
    ties: tuple[int, ...] = ()  # places of the rows whose order to this one is not known


@dataclass(frozen=True, slots=True)
class SweepView:
    """A whole ranking."""

    opening: str  # what is ranked against what, or why nothing is
    lines: tuple[SweepLine, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader must know beside the table

    @property
    def has_ties(self) -> bool:
        """Some order is not known."""
        return any(line.ties for line in self.lines)


LEVEL_HEADINGS = (
    *("running", "clean", "base tok/s", "spec tok/s", "accept", "cycle ms", "break-even", "speed-up", "95 %"),
    "verdict",
)


@dataclass(frozen=True, slots=True)
class SweepPicture:
    """All settings of the logs, and every number of running requests of the two that stand side by side."""

    sweep: SweepView
    levels: tuple[tuple[str, ...], ...] = ()  # cells as LEVEL_HEADINGS
    pair: tuple[str, str] = ("", "")  # the names that the levels are of
    markdown: str = ""  # the same to hand on


def tie_text(line: SweepLine) -> str:
    """The places that a row ties with."""
    return ", ".join(map(str, line.ties))
