"""When news are drawn: soon enough to be true, and seldom enough to be cheap."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

QUIET_S = 0.5


@dataclass(slots=True)
class Pace:
    """News wait for a beat, so that what comes close together shares a picture; after a quiet moment they do not.

    All times are seconds on one steady clock. Of news in an unbroken stream a picture is due with every beat.
    """

    beat_s: float
    _taken_at: float = field(default=-math.inf)

    def take(self, at: float) -> None:
        """A picture is taken at `at`: what comes from then on is in the next one."""
        self._taken_at = at

    def due(self, came_at: float) -> float:
        """When a picture of news is to be taken of which the first came at `came_at`, after the last picture."""
        return came_at if came_at - self._taken_at >= QUIET_S else came_at + self.beat_s

    @property
    def taken_at(self) -> float:
        """When the last picture was taken; news that came while it was drawn may be as old as that."""
        return self._taken_at
