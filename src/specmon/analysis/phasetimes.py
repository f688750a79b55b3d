"""Where the time of a cycle goes, from lines that tell it: the probe's, an instrumented server's, vLLM V0's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from specmon.analysis.figures import PhaseFigures
from specmon.events import PhasesRefused

_MOST = 0.9  # of the cycles must lie at levels whose cycle is known, before one figure stands for all of them
PhaseSource = Literal["metrics", "probe", "log", "custom"]


@dataclass(slots=True)
class _Sums:
    """Sums over cycles, so that their ratio is a mean per cycle."""

    cycles: float = 0.0
    timed_cycles: float = 0.0  # whose wall time is known
    cycle_ms: float = 0.0
    ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    phase_cycles: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # that a phase was told of

    def add(self, cycles: float, cycle_ms: float, ms: Mapping[str, float]) -> None:
        self.cycles += cycles
        if cycle_ms == cycle_ms:
            self.timed_cycles += cycles
            self.cycle_ms += cycles * cycle_ms
        for phase, value in ms.items():
            self.ms[phase] += cycles * value
            self.phase_cycles[phase] += cycles

    def figures(
        self, source: PhaseSource, identity_ms: float | None, by_running: Mapping[int, PhaseFigures] | None = None
    ) -> PhaseFigures:
        # Lines without a wall time leave the throughput's own cycle to compare the phases with.
        cycle_ms = self.cycle_ms / self.timed_cycles if self.timed_cycles else identity_ms
        return PhaseFigures(
            source=source,
            cycles=round(self.cycles),
            cycle_ms=cycle_ms,
            ms={phase: total / self.phase_cycles[phase] for phase, total in self.ms.items()},
            identity_cycle_ms=identity_ms,
            by_running=by_running or {},
        )


class PhaseTimes:
    """Sums by the number of running requests; None for lines that do not tell it."""

    def __init__(self) -> None:
        self._sums: dict[PhaseSource, dict[int | None, _Sums]] = {}

    def add(
        self, source: PhaseSource, running: int | None, cycles: float, cycle_ms: float, ms: Mapping[str, float]
    ) -> None:
        """Take a line in: means per cycle over so many cycles."""
        self._sums.setdefault(source, {}).setdefault(running, _Sums()).add(cycles, cycle_ms, ms)

    @property
    def is_told(self) -> bool:
        """Some line has come."""
        return bool(self._sums)

    def figures(
        self, source: PhaseSource, cycles: Mapping[int, float], main_cycle_ms: float | None
    ) -> PhaseFigures | None:
        """Means of one source. `cycles` holds C of the throughput by running requests; lines that do not tell those
        are set against the main level's."""
        levels = self._sums.get(source)
        if not levels:
            return None
        by_running = {
            running: sums.figures(source, cycles.get(running))
            for running, sums in sorted((key, sums) for key, sums in levels.items() if key is not None)
        }
        total = _Sums()
        known, covered = 0.0, 0.0
        for running, sums in levels.items():
            _join(total, sums)
            usual = main_cycle_ms if running is None else cycles.get(running)
            if usual is not None:
                known += usual * sums.cycles
                covered += sums.cycles
        identity = known / covered if covered and covered >= _MOST * total.cycles else None
        return total.figures(source, identity, by_running)


class RefusedLines:
    """How many lines gave no phases, by the reason, and what the last of each said."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.details: dict[str, str] = {}

    def add(self, event: PhasesRefused) -> None:
        """Count a line."""
        self.counts[event.reason] = self.counts.get(event.reason, 0) + 1
        self.details[event.reason] = event.detail


def _join(total: _Sums, part: _Sums) -> None:
    total.cycles += part.cycles
    total.timed_cycles += part.timed_cycles
    total.cycle_ms += part.cycle_ms
    for phase, value in part.ms.items():
        total.ms[phase] += value
        total.phase_cycles[phase] += part.phase_cycles[phase]
