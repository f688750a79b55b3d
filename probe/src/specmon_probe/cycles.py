"""The timing core: device events of decode cycles, read late, summed by batch size.

It knows nothing of SGLang and nothing of torch: events come from a function, the clock is an argument. Nothing here
waits for the device. An event is asked only when several younger cycles have been launched, and a cycle whose events
are not there yet is simply asked again later.

A cycle lasts from its start to the start of the next one of the same requests. So a cycle is counted only if another
follows it at once; a prefill, another batch size, other requests or a pause break the chain, and the cycle before the
break is dropped.

One cycle of every three is timed, because each event costs the device about 2 µs. Three has no divisor in common with
the usual intervals of SGLang's own statistics, so that the cycles that print those are timed as often as the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

LAG = 4  # younger cycles before a cycle's events are asked for the first time
ACCEPT_LAG = 12  # younger cycles after which a cycle is read without its accepted tokens
MOST_PENDING = 64  # cycles whose events are out; with more the device hangs, and measuring stops until it goes on
READS = 2  # cycles read at a time: a steady trickle instead of a pause each statistics line
MOST_LEVELS = 256  # batch sizes that are summed at the same time
LONGEST_S = 5.0  # between two starts; longer was a pause: a weight update, a debugger
FRESH_S = 10.0  # a line covers no more than this, and nothing that is older
EVERY = 3  # one cycle of so many is timed
WARM_UP = 16  # cycles left out at first: SGLang's own warm-up request, kernels that compile on their first use


class Event(Protocol):
    """A device event, as `torch.cuda.Event(enable_timing=True)` is one."""

    def record(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_time(self, end_event: Event, /) -> float:
        """Milliseconds from this event to the other."""
        ...


@dataclass(eq=False)
class Cycle:
    """One cycle under way."""

    running: int
    requests: object  # what tells these requests from others; equal for the same ones
    begun_s: float  # the host's clock
    start: Event
    own_verify: bool = True
    spans: list[tuple[str, Event, Event]] = field(default_factory=list)
    following: Event | None = None  # the start of the cycle that followed at once
    owns_following: bool = False  # that cycle is not timed itself, so its event is given back with this one's
    waits_for_tokens: bool = False
    tokens: int | None = None  # made in this cycle, bonus tokens included
    is_in_span: bool = False


@dataclass(frozen=True)
class Means:
    """What a line tells: means per cycle."""

    cycles: int
    running: int
    ms: dict[str, float]
    cycle_ms: float
    accept_len: float | None  # None: not speculative, or not known of every cycle
    own_verify: bool = True  # False: "verify" is the target's forward alone


class _Level:
    """Sums over the cycles of one batch size."""

    __slots__ = ("cycle_ms", "cycles", "first_s", "last_s", "ms", "own_verify", "tokens")

    def __init__(self, begun_s: float) -> None:
        self.cycles = 0
        self.cycle_ms = 0.0
        self.ms: dict[str, float] = {}
        self.tokens: int | None = 0
        self.own_verify = True
        self.first_s = self.last_s = begun_s


class Cycles:
    """Takes cycles in, gives means out."""

    def __init__(
        self,
        *,
        interval: int,
        new_event: Callable[[], Event],
        now_s: Callable[[], float],
        emit: Callable[[Means], None],
        warm_up: int = WARM_UP,
        every: int = EVERY,
    ) -> None:
        self._interval = max(1, interval // every)  # a line for `interval` cycles, whether timed or not
        self._every = every
        self._turn = 0
        self._new_event = new_event
        self._now_s = now_s
        self._emit = emit
        self._skipped = warm_up
        self._free: list[Event] = []
        self._pending: deque[Cycle] = deque()  # in launch order; the last one may still lack its successor
        self._last: Cycle | None = None  # the newest, as long as the chain is whole
        self._levels: dict[int, _Level] = {}

    @property
    def pooled(self) -> int:
        """Events that exist: in flight and free."""
        return len(self._free) + sum(1 + cycle.owns_following + 2 * len(cycle.spans) for cycle in self._pending)

    def begin(self, running: int, requests: object, *, own_verify: bool = True) -> Cycle | None:
        """A cycle starts on the current stream. None if it is not timed."""
        if self._skipped > 0:
            self._skipped -= 1
            return None
        self._read()
        if len(self._pending) >= MOST_PENDING:
            self.break_chain()
            return None
        now_s = self._now_s()
        is_timed = self._turn == 0
        self._turn = (self._turn + 1) % self._every
        last, self._last = self._last, None
        if last is not None and not (
            last.running == running and last.requests == requests and now_s - last.begun_s < LONGEST_S
        ):
            last = None
        if last is None and not is_timed:
            return None
        start = self.mark()
        if last is not None:
            last.following = start
            last.owns_following = not is_timed
        if not is_timed:
            return None
        self._last = cycle = Cycle(running, requests, now_s, start, own_verify)
        self._pending.append(cycle)
        return cycle

    def mark(self) -> Event:
        """Record an event on the current stream."""
        event = self._free.pop() if self._free else self._new_event()
        event.record()
        return event

    def span(self, cycle: Cycle, phase: str, begin: Event) -> None:
        """A phase of the cycle ends here; it began at an event from `mark`."""
        cycle.spans.append((phase, begin, self.mark()))

    def break_chain(self) -> None:
        """Something that is no decode cycle runs now: nothing that follows belongs to the last cycle."""
        self._last = None

    def _read(self) -> None:
        pending = self._pending
        for _ in range(READS):
            behind = len(pending)
            if behind <= LAG:
                return
            oldest = pending[0]
            if oldest.following is None:
                # Its start was recorded before those of younger cycles; once it is over, so are its spans.
                newest = oldest.spans[-1][2] if oldest.spans else oldest.start
                if not newest.query():
                    return
            elif not oldest.following.query() or (
                oldest.waits_for_tokens and oldest.tokens is None and behind <= ACCEPT_LAG
            ):
                return
            else:
                self._add(oldest, oldest.start.elapsed_time(oldest.following))
            pending.popleft()
            self._free.append(oldest.start)
            if oldest.following is not None and oldest.owns_following:
                self._free.append(oldest.following)
            for _, begin, end in oldest.spans:
                self._free.append(begin)
                self._free.append(end)

    def _add(self, cycle: Cycle, cycle_ms: float) -> None:
        level = self._levels.get(cycle.running)
        if level is not None and cycle.begun_s - level.last_s > FRESH_S:
            level = None  # from before a quiet time: the line's stamp would lie about it
        elif level is not None and cycle.begun_s - level.first_s > FRESH_S:
            self._close(cycle.running, level)
            level = None
        if level is None:
            if len(self._levels) >= MOST_LEVELS:
                self._levels.clear()
            level = self._levels[cycle.running] = _Level(cycle.begun_s)
        level.cycles += 1
        level.last_s = cycle.begun_s
        level.cycle_ms += cycle_ms
        level.own_verify = cycle.own_verify
        for phase, begin, end in cycle.spans:
            level.ms[phase] = level.ms.get(phase, 0.0) + begin.elapsed_time(end)
        level.tokens = None if level.tokens is None or cycle.tokens is None else level.tokens + cycle.tokens
        if level.cycles >= self._interval:
            del self._levels[cycle.running]
            self._close(cycle.running, level)

    def _close(self, running: int, level: _Level) -> None:
        cycles = level.cycles
        self._emit(
            Means(
                cycles=cycles,
                running=running,
                ms={phase: total / cycles for phase, total in level.ms.items()},
                cycle_ms=level.cycle_ms / cycles,
                accept_len=None if level.tokens is None else level.tokens / (cycles * running),
                own_verify=level.own_verify,
            )
        )
