"""How long single decode steps take, from a log that times each of them (vLLM's iteration lines)."""

from __future__ import annotations

from collections.abc import Mapping

from specmon.analysis.figures import PhaseFigures

_MOST = 0.9  # of the steps must lie at levels whose cycle is known, before one figure stands for all of them


class StepTimes:
    """Sums of pure decode steps by the number of requests in them; steps that also read a prompt are not fed.

    vLLM times how long the engine waits for a step's result: forward pass, sampling and drafter, without
    scheduling [0.26 to 0.32].
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._sums: dict[int, float] = {}

    def add(self, running: int, step_ms: float) -> None:
        """Take one step in."""
        if step_ms == step_ms:
            self._counts[running] = self._counts.get(running, 0) + 1
            self._sums[running] = self._sums.get(running, 0.0) + step_ms

    @property
    def count(self) -> int:
        """Steps so far."""
        return sum(self._counts.values())

    def figures(self, cycles: Mapping[int, float]) -> PhaseFigures | None:
        """Mean times; `cycles` holds the cycle time that follows from the throughput, by running requests."""
        if not self._counts:
            return None
        by_running = {
            running: _figures(count, self._sums[running] / count, cycles.get(running))
            for running, count in sorted(self._counts.items())
        }
        total = self.count
        known = {running: count for running, count in self._counts.items() if running in cycles}
        identity = None
        if (covered := sum(known.values())) >= _MOST * total:
            identity = sum(cycles[running] * count for running, count in known.items()) / covered
        return _figures(total, sum(self._sums.values()) / total, identity, by_running)


def _figures(
    count: int, mean_ms: float, identity_ms: float | None, by_running: Mapping[int, PhaseFigures] | None = None
) -> PhaseFigures:
    return PhaseFigures(
        source="log",
        cycles=count,
        cycle_ms=mean_ms,
        ms={"decode": mean_ms},
        identity_cycle_ms=identity_ms,
        by_running=by_running or {},
    )
