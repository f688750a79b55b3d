"""How long drafting takes, from counters that a server has kept since its start (llama.cpp's statistics lines)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.analysis.figures import PhaseFigures
from specmon.events import DraftsTimed


@dataclass(frozen=True, slots=True)
class _Reading:
    """A counter line, and what the requests that had ended by then came to."""

    line: DraftsTimed
    requests: int
    cycles: float  # of all requests: tokens less accepted drafts


class DraftTimes:
    """Draft time a cycle. Several drafters are asked one after the other in each cycle, so their times add up."""

    def __init__(self) -> None:
        self._first: dict[str, _Reading] = {}
        self._last: dict[str, _Reading] = {}

    def add(self, line: DraftsTimed, *, requests: int, cycles: float) -> None:
        """Take a counter line in; `requests` and `cycles` are those of the samples so far."""
        reading = _Reading(line, requests, cycles)
        self._first.setdefault(line.drafter, reading)
        self._last[line.drafter] = reading

    @property
    def is_told(self) -> bool:
        """Some counter line has come."""
        return bool(self._last)

    def figures(self, cycle_ms: float | None, identity_cycle_ms: float | None) -> PhaseFigures | None:
        """What the counters come to beside the mean cycle of the same requests; None without a counter line."""
        if not self._last:
            return None
        since = {} if self._counts_seen_requests() else self._first
        if since and all(self._first[name] is reading for name, reading in self._last.items()):
            # One look at counters that began before the log did: only their own calls tell how many cycles.
            return self._by_calls(cycle_ms, identity_cycle_ms)
        spent, calls, slots, cycles = 0.0, 0, 0, 0.0
        for name, last in self._last.items():
            first = since.get(name)
            spent += last.line.draft_ms - (first.line.draft_ms if first else 0.0)
            drafted = last.line.draft_calls - (first.line.draft_calls if first else 0)
            accepted = last.line.accept_calls - (first.line.accept_calls if first else 0)
            if accepted > slots:
                calls, slots = drafted, accepted
            cycles = max(cycles, last.cycles - (first.cycles if first else 0.0))
        # Slots that decode together are drafted for in one call and share its time.
        cycles *= min(1.0, calls / slots) if slots else 1.0
        return _figures(spent, cycles, cycle_ms, identity_cycle_ms)

    def _counts_seen_requests(self) -> bool:
        """The counters hold no request that ended before the log, so they count from 0."""
        return all(last.line.requests <= last.requests for last in self._last.values())

    def _by_calls(self, cycle_ms: float | None, identity_cycle_ms: float | None) -> PhaseFigures | None:
        lines = [last.line for last in self._last.values()]
        spent = math.fsum(line.draft_ms for line in lines)
        return _figures(spent, max(line.draft_calls for line in lines), cycle_ms, identity_cycle_ms)


def _figures(
    spent_ms: float, cycles: float, cycle_ms: float | None, identity_cycle_ms: float | None
) -> PhaseFigures | None:
    if not (cycles > 0 and spent_ms >= 0):
        return None
    return PhaseFigures(
        source="log",
        cycles=round(cycles),
        cycle_ms=cycle_ms,
        ms={"draft": spent_ms / cycles},
        identity_cycle_ms=identity_cycle_ms,
    )
