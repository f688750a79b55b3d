"""Requests that tell how fast they run before they end: the live speed of an engine that reports whole requests.

It is no sample: it enters no figure but the one that is shown as live.
"""

from __future__ import annotations

from dataclasses import dataclass

LIVE_FOR_S = 10.0  # llama.cpp tells progress every 3 s; a request that is silent for three times that is not running
_MOST = 4096  # requests, before those that are silent are let go


@dataclass(frozen=True, slots=True)
class LiveSpeed:
    """What the requests that are under way generate together."""

    tok_s: float
    requests: int


class Underway:
    """The newest figure of each request that has not ended, with the time of its arrival on the session's clock."""

    def __init__(self) -> None:
        self._newest: dict[tuple[int, ...], tuple[float, float]] = {}
        self.arrived_at: float | None = None

    def progressed(self, request: tuple[int, ...], tok_s: float, arrived_at: float | None) -> None:
        """A request says how fast it is; of a line that was written before anybody looked nobody knows the age."""
        if arrived_at is None or not 0 <= tok_s < float("inf"):
            self._newest.pop(request, None)
            return
        self._newest[request] = tok_s, arrived_at
        if len(self._newest) > _MOST:  # whose end was in no line
            fresh = {each: told for each, told in self._newest.items() if arrived_at - told[1] <= LIVE_FOR_S}
            self._newest = fresh
        self.arrived_at = arrived_at

    def ended(self, request: tuple[int, ...]) -> None:
        """A request has come to its end or was given up."""
        self._newest.pop(request, None)

    def clear(self) -> None:
        """Nothing is being served."""
        self._newest.clear()

    def speed(self, now: float) -> LiveSpeed | None:
        """The sum over the requests that told their speed of late; None when there is none."""
        fresh = [tok_s for tok_s, arrived_at in self._newest.values() if now - arrived_at <= LIVE_FOR_S]
        return LiveSpeed(sum(fresh), len(fresh)) if fresh else None
