"""The rules that keep a sample out of a level's figures, in the order in which they are tried."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from specmon.events import Covers


class Rule(IntEnum):
    """Why a sample counts or does not; the value is what a verdict column holds."""

    CLEAN = 0
    FIRST_AFTER_START = 1
    AFTER_PREFILL = 2
    AFTER_IDLE = 3
    BATCH_CHANGED = 4
    RETRACTION = 5
    CYCLE_OUTLIER = 6
    WARM_UP = 7
    SUPERSEDED = 8  # was clean until its level moved: figures count only what came after

    @property
    def word(self) -> str:
        """As reports write it: "after_prefill"."""
        return self.name.lower()


EXCLUDING = tuple(Rule)[1:8]

# For what is done with every line: a look-up of an enumeration's member takes as long as many a rule (Python 3.11).
CLEAN, CYCLE_OUTLIER = Rule.CLEAN, Rule.CYCLE_OUTLIER
WINDOW, REQUEST, STEP, TICK = Covers.WINDOW, Covers.REQUEST, Covers.STEP, Covers.TICK

OUTLIER_FACTOR = 1.5  # of the level's median cycle; one-sided, since a window can only be diluted
OUTLIER_NEEDS = 5  # clean samples before one can be called an outlier
MOVED_AFTER = 5  # outliers in a row that mean another level of speed
IDLE_FACTOR = 3.0  # of the window that a line should cover
FINE_S = 0.001  # what stamps with a fraction tell time by
STEADY_SHARE = 0.05  # by how much the number of requests may differ


@dataclass(frozen=True, slots=True)
class Cadence:
    """How an engine's statistics lines are timed, and what the user asked for."""

    cycles_per_sample: int = 40  # decode_log_interval
    ready_at: float | None = None
    warm_up_s: float = 0.0
    covers: Covers = Covers.WINDOW

    @property
    def is_by_clock(self) -> bool:
        """Lines come by the clock, whatever ran; the usual gap between them is what to expect."""
        return self.covers is TICK


def resolution_s(before: float, at: float) -> float:
    """How much longer the time between two stamps may be than the time between their lines.

    The stamps themselves tell it, since one log may hold both kinds: what falls on a whole second may be cut to it.
    """
    return 1.0 if before % 1 == 0 or at % 1 == 0 else FINE_S


def changes_batch(running: int, before: int) -> bool:
    """Rule 4: the batch is not the one of the previous sample (5 % are allowed, so none below 20 requests)."""
    return running == 0 or abs(running - before) > STEADY_SHARE * before
