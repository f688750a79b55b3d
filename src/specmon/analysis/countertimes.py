"""Figures from a series of readings of a server's counters: phases of a cycle, throughput by batch size, totals.

The time of a phase is the growth of SGLang's device timer over the growth of its count of decode passes, within a
window of steady load. Nothing is taken from a window that holds idle time, a reset or passes of another kind.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from specmon.analysis.counters import Reading
from specmon.analysis.figures import PhaseFigures
from specmon.analysis.phasehistory import PhaseHistory, PhaseWindow
from specmon.analysis.phasetimes import PhaseTimes
from specmon.events import MISSING

_PHASES = {"eagle_draft": "draft", "target_verify": "verify", "eagle_draft_extend": "draft_extend"}
_WINDOW_S = 8.0  # after which a stretch of steady load is a window of its own
_LONGEST_STEP_S = 60.0  # between two looks, from which nobody knows the load between them
_FEWEST_STEPS = 2  # of a window whose batch size only the gauge tells
_IS_WHOLE_WITHIN = 0.02  # of a baseline's tokens a pass: that many requests, all the time
_IS_LEVEL_WITHIN = 0.10  # of requests a pass that follow from an accept length
_GAUGE_WITHIN = 0.25  # a look often meets a request that has ended and whose successor is in its prefill
_EAGER_UP_TO = 0.01  # of a speculative server's passes: without graphs its categories mean something else
_FEWEST_ROUNDS = 100  # that an accept length is made of
_SUM_WITHIN = 1.02  # GPU seconds for each second


@dataclass(frozen=True, slots=True)
class CounterLevel:
    """Steady load at one batch size."""

    tokens: float
    seconds: float

    @property
    def tok_s(self) -> float:
        """Delivered, all replicas together; prefills that fell between decode passes are in the time."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """What grew between the first reading and the last, resets left out. None: the server does not count it."""

    tokens: float | None = None
    rounds: float | None = None
    accept_len: float | None = None
    proposed: float | None = None
    accepted: float | None = None
    by_position: tuple[float, ...] | None = None  # share of rounds that accepted at each draft position


@dataclass(slots=True)
class _Growth:
    """Between two readings, or over several such steps."""

    seconds: float = 0.0
    passes: float = 0.0
    eager: float = 0.0
    tokens: float = 0.0
    answered: float = 0.0
    rounds: float = 0.0
    ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # of GPU time, by category
    gauges: list[float] = field(default_factory=list)
    capacity: float = 1.0  # clocks that count GPU time beside each other: replicas times stages
    steps: int = 0
    is_speculative: bool = False

    def add(self, step: _Growth) -> None:
        for name in ("seconds", "passes", "eager", "tokens", "answered", "rounds", "steps"):
            setattr(self, name, getattr(self, name) + getattr(step, name))
        for category, value in step.ms.items():
            self.ms[category] += value
        self.gauges += step.gauges
        self.capacity = step.capacity
        self.is_speculative = step.is_speculative


class CounterTimes:
    """Takes readings in the order in which they were made."""

    def __init__(self) -> None:
        self.resets = 0
        self.overfull = 0  # windows whose GPU time is more than their time
        self.refused: dict[str, int] = {}  # pages and figures that gave nothing, by the reason
        self._last: Reading | None = None
        self._pending: _Growth | None = None  # idle time may begin in it
        self._is_after_idle = False
        self._stretch: _Growth | None = None
        self._times = PhaseTimes()
        self.history = PhaseHistory()  # on the clock of whoever looked
        self._levels: dict[int, CounterLevel] = {}
        self._sums: dict[str, float] = {}
        self._positions: list[float] = []
        self._known: dict[str, float] = {}  # the newest value of each counter
        self._known_positions: tuple[float, ...] = ()
        self._began_unused = False  # no token was made before the first reading, so what is absent there is 0

    @property
    def has_readings(self) -> bool:
        """Some page was read."""
        return self._last is not None

    @property
    def is_told(self) -> bool:
        """Some window told phases."""
        return self._times.is_told

    def refuse(self, reason: str, count: int = 1) -> None:
        """A page, or a figure of one, that is none."""
        self.refused[reason] = self.refused.get(reason, 0) + count

    def add(self, reading: Reading) -> None:
        """Take a reading in."""
        before, self._last = self._last, reading
        if before is None:
            self._began_unused = reading.tokens == 0
            self._know(reading)
            return
        if reading.falls_below(before):
            self.resets += 1
            self._break()
            self._know(reading)
            return
        self._count(reading)
        step = _step(before, reading)
        if step is None:
            self._break()
        elif step.passes <= 0:
            self._break()  # the step before may hold the beginning of the idle time
            self._is_after_idle = True
        elif self._is_after_idle:
            self._is_after_idle = False
        else:
            if self._pending is not None:
                self._take(self._pending)
            self._pending = step

    def finish(self) -> None:
        """No reading follows."""
        self._break()

    # -- out -------------------------------------------------------------------------------------

    def phases(self, cycles: Mapping[int, float], main_cycle_ms: float | None) -> PhaseFigures | None:
        """Mean GPU time of each phase; the cycle is that of the throughput, `cycles` by running requests."""
        return self._times.figures("metrics", cycles, main_cycle_ms)

    def level(self, running: int) -> CounterLevel | None:
        """Steady load at a number of running requests (of one replica)."""
        return self._levels.get(running)

    @property
    def totals(self) -> CounterTotals | None:
        """None before two readings."""
        if not self._sums:
            return None
        rounds, accepted = self._sums.get("rounds"), self._sums.get("accepted")
        answered = self._sums.get("answered")
        accept_len = None
        if rounds:
            if accepted is not None:
                accept_len = 1 + accepted / rounds
            elif answered is not None:
                accept_len = answered / rounds
        return CounterTotals(
            tokens=self._sums.get("tokens"),
            rounds=rounds,
            accept_len=accept_len,
            proposed=self._sums.get("proposed"),
            accepted=accepted,
            by_position=tuple(each / rounds for each in self._positions) if rounds and self._positions else None,
        )

    # -- inside ----------------------------------------------------------------------------------

    def _count(self, reading: Reading) -> None:
        for name, value in reading.totals().items():
            if (first := self._known.get(name, 0.0 if self._began_unused else None)) is not None:
                self._sums[name] = self._sums.get(name, 0.0) + value - first
        earlier = self._known_positions
        if reading.by_position and (earlier or self._began_unused):
            for position, value in enumerate(reading.by_position):
                if position == len(self._positions):
                    self._positions.append(0.0)
                self._positions[position] += value - (earlier[position] if position < len(earlier) else 0.0)
        self._know(reading)

    def _know(self, reading: Reading) -> None:
        self._known.update(reading.totals())
        self._known_positions = reading.by_position or self._known_positions

    def _break(self) -> None:
        """The load before and after has nothing to do with each other; what is pending may be partly idle."""
        self._pending = None
        self._close()

    def _take(self, step: _Growth) -> None:
        level = None if step.is_speculative else _whole(step.tokens / step.passes, _IS_WHOLE_WITHIN)
        if not step.is_speculative and level is None:
            self._close()
            return
        if self._stretch is not None and not _goes_on(self._stretch, step):
            self._close()
        if self._stretch is None:
            self._stretch = _Growth()
        self._stretch.add(step)
        if self._stretch.seconds >= _WINDOW_S:
            self._close()

    def _close(self) -> None:
        window, self._stretch = self._stretch, None
        if window is None or (window.is_speculative and window.eager > _EAGER_UP_TO * window.passes):
            return
        running = _running(window)
        if running is None:
            return
        known = self._levels.get(running, CounterLevel(0.0, 0.0))
        self._levels[running] = CounterLevel(known.tokens + window.tokens, known.seconds + window.seconds)
        names = _PHASES if window.is_speculative else {"decode": "decode"}
        spent = {phase: window.ms[name] for name, phase in names.items() if name in window.ms}
        if math.fsum(spent.values()) > 1000 * _SUM_WITHIN * window.seconds * window.capacity:
            self.overfull += 1
        elif spent:
            ms = {phase: value / window.passes for phase, value in spent.items()}
            self._times.add("metrics", running, window.passes, MISSING, ms)
            if self._last is not None and self._last.at is not None:
                self.history.add("metrics", running, PhaseWindow(self._last.at, window.passes, None, ms))


def _step(before: Reading, after: Reading) -> _Growth | None:
    """The growth between two readings; None when it tells nothing of a load."""
    if before.at is None or after.at is None or before.passes is None or after.passes is None:
        return None
    if before.tokens is None or after.tokens is None or not 0 < after.at - before.at <= _LONGEST_STEP_S:
        return None
    seconds, earlier = after.seconds or {}, before.seconds or {}
    if {*_PHASES, "decode"} & (seconds.keys() ^ earlier.keys()):
        return None  # a series that appears or is missing: nobody knows where it began
    return _Growth(
        seconds=after.at - before.at,
        passes=after.passes - before.passes,
        eager=after.eager_passes - before.eager_passes,
        tokens=after.tokens - before.tokens,
        answered=(after.answered_tokens or 0.0) - (before.answered_tokens or 0.0),
        rounds=(after.rounds or 0.0) - (before.rounds or 0.0),
        ms={name: 1000 * (value - earlier[name]) for name, value in seconds.items() if name in earlier},
        gauges=[each for each in (before.running, after.running) if each is not None],
        capacity=float(after.replicas * after.stages),
        steps=1,
        is_speculative=bool(after.rounds) or any(name in seconds for name in _PHASES),
    )


def _goes_on(stretch: _Growth, step: _Growth) -> bool:
    """Whether the load of a step is that of the stretch before it."""
    if stretch.is_speculative != step.is_speculative:
        return False
    if not step.is_speculative:
        return round(stretch.tokens / stretch.passes) == round(step.tokens / step.passes)
    return _is_steady([*stretch.gauges, *step.gauges])


def _is_steady(gauges: list[float]) -> bool:
    top = max(gauges, default=0.0)
    # With one request after the other, 0 is a look between two of them.
    return top <= 1 or min(gauges) >= top - max(1.0, _GAUGE_WITHIN * top)


def _running(window: _Growth) -> int | None:
    """The requests of one replica that a pass holds."""
    per_pass = window.tokens / window.passes
    if not window.is_speculative:
        return _whole(per_pass, _IS_WHOLE_WITHIN)
    top = max(window.gauges, default=0.0)
    if top == 0 or not _is_steady(window.gauges):
        return None
    if top <= 1:
        return 1
    if window.steps < _FEWEST_STEPS:
        return None
    if window.rounds >= _FEWEST_ROUNDS and window.answered:
        return _whole(per_pass * window.rounds / window.answered, _IS_LEVEL_WITHIN)
    return round(top) if min(window.gauges) == top else None


def _whole(value: float, within: float) -> int | None:
    """The whole number above 0 that a mean stands for; None between two of them."""
    nearest = round(value)
    return nearest if nearest and abs(value - nearest) <= within * nearest else None
