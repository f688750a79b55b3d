"""How much of the past a session holds sample by sample that goes on for days."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Horizon:
    """What lies beyond it has been counted and summed up, and leaves the columns of its level.

    So the medians, intervals and clean-sample means of a level rest on what is held; counts, tokens, delivered time
    and the pooled accept length of a run are of all that ever came. Samples leave by the eighth part of a column, so
    that a little more is held than this.
    """

    seconds: float = 86_400.0  # before the newest sample, on the log's clock
    samples: int = 1_000_000  # the newest of a run, all ranks together: where a day has more
    level_samples: int = 1_000  # clean ones that a level keeps however old they are, so that its figures stay
    settled_samples: int = 100  # the same of a run that has long ended; its figures are worked out before


LIVE = Horizon()
