"""How much the samples of a level wander while nothing has changed: as recorded, and as seen live."""

from __future__ import annotations

import math
from collections import deque
from enum import Enum, auto

from specmon.analysis.longrun import FEWEST_SAMPLES, long_run_sigma

FLOOR_SIGMA = 0.005  # of ln(C): no server is so steady that less would be believed
CLEARLY_LARGER = 1.4  # live over recorded: two estimates of one figure, of 128 and 200 samples, rarely differ by more
_FEWEST_TO_DOUBT = 128  # live samples that may overrule a recorded figure
_HELD = 512


class NoiseSource(Enum):
    """Where the sigma in use comes from."""

    RECORDED = auto()
    ASSUMED = auto()  # nobody recorded one, and too little was seen so far
    LIVE = auto()


class NoiseLevel:
    """The long-run standard deviation of ln(C) to judge by, learned anew as samples come."""

    __slots__ = ("_due", "_recent", "_seen", "recorded", "sigma", "source")

    def __init__(self, recorded: float | None, assumed: float) -> None:
        self.source = NoiseSource.ASSUMED if recorded is None else NoiseSource.RECORDED
        self.sigma = max(assumed if recorded is None else recorded, FLOOR_SIGMA)
        self.recorded = recorded
        self._recent: deque[float] = deque(maxlen=_HELD)
        self._seen = 0
        self._due = FEWEST_SAMPLES

    def add(self, x: float) -> bool:
        """Take the ln(C / C_ref) of a sample; True when the sigma in use has changed."""
        self._recent.append(x)
        self._seen += 1
        if self._seen < self._due:
            return False
        self._due = min(2 * self._seen, self._seen + _HELD // 2)
        return self._learn()

    def begin_again(self) -> None:
        """The level has moved: samples of before and after do not make one series. The sigma in use stays."""
        self._recent.clear()
        self._seen = 0
        self._due = FEWEST_SAMPLES

    def _learn(self) -> bool:
        count = len(self._recent)
        live = long_run_sigma(self._recent)
        if live is None:
            return False
        before = self.sigma
        if self.recorded is None:
            self.source, self.sigma = NoiseSource.LIVE, max(cautious(live, count), FLOOR_SIGMA)
        elif count >= _FEWEST_TO_DOUBT:
            recorded = max(self.recorded, FLOOR_SIGMA)
            is_larger = live > CLEARLY_LARGER * recorded
            self.source = NoiseSource.LIVE if is_larger else NoiseSource.RECORDED
            self.sigma = cautious(live, count) if is_larger else recorded
        return self.sigma != before


def cautious(sigma: float, count: int) -> float:
    """An estimate from `count` samples, raised by what it falls short by when neighbours share half (AR(1) 0.5)."""
    return sigma * (1 + 2 / math.sqrt(count))
