"""The timing core: cycles in, means out, on a device whose clock the test holds."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon_probe import cycles as core
from specmon_probe.cycles import Cycle, Cycles, Means
from tests.probe.device import FakeGpu


@dataclass
class Bench:
    """A core with everything that it is given."""

    interval: int = 4
    warm_up: int = 0
    every: int = 1
    gpu: FakeGpu = field(default_factory=FakeGpu)
    host_s: float = 0.0
    means: list[Means] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.core = Cycles(
            interval=self.interval,
            new_event=self.gpu.new_event,
            now_s=lambda: self.host_s,
            emit=self.means.append,
            warm_up=self.warm_up,
            every=self.every,
        )

    def cycle(
        self,
        running: int = 1,
        *,
        requests: object = "r",
        draft: float = 0.5,
        verify: float = 6.0,
        extend: float | None = 0.5,
        rest: float = 1.0,
        tokens: int | None = None,
    ) -> Cycle | None:
        cycle = self.core.begin(running, requests)
        for phase, ms in (("draft", draft), ("verify", verify), ("draft_extend", extend)):
            if ms is None:
                continue
            begin = self.core.mark()
            self.gpu.work(ms)
            if cycle is not None:
                self.core.span(cycle, phase, begin)
        self.gpu.work(rest)
        self.host_s += 0.008
        if cycle is not None:
            cycle.tokens = tokens
        return cycle

    def run(self, count: int, running: int = 1, **of_cycle: float) -> None:
        for _ in range(count):
            self.cycle(running, **of_cycle)  # type: ignore[arg-type]  # all of them are times here

    def prefill(self, ms: float = 80.0) -> None:
        self.core.break_chain()
        self.gpu.work(ms)


def test_means_are_per_cycle_and_add_up_to_less_than_the_cycle() -> None:
    bench = Bench()
    for verify in (5.0, 7.0, 5.0, 7.0):
        bench.cycle(verify=verify, tokens=2)
    bench.run(core.LAG + 1)
    (means,) = bench.means
    assert means == Means(
        cycles=4,
        running=1,
        ms={"draft": 0.5, "verify": 6.0, "draft_extend": 0.5},
        cycle_ms=8.0,
        accept_len=2.0,
    )


def test_one_cycle_of_three_is_timed_and_a_line_comes_as_often_as_if_all_were() -> None:
    bench = Bench(interval=40, every=3)
    timed = [bench.cycle(tokens=2) is not None for _ in range(120)]
    assert timed == [True, False, False] * 40
    assert [(means.cycles, means.cycle_ms, means.accept_len) for means in bench.means] == [(13, 8.0, 2.0)] * 2
    bench.run(60)
    assert bench.core.pooled < 60  # the events of cycles that are not timed come back as well
    pooled = bench.core.pooled
    bench.run(300)
    assert bench.core.pooled == pooled


@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_timed_cycle_ends_where_the_next_begins_though_that_one_is_not_timed(every: int) -> None:
    bench = Bench(interval=4 * every, every=every)
    for cycle in range(80 * every):
        bench.cycle(rest=1.0 if cycle % every == 0 else 50.0)
        if cycle % (every * 2) == 1:
            bench.prefill()  # behind a cycle that is not timed: nothing is lost by it
    assert {means.cycle_ms for means in bench.means} == {8.0}


def test_a_prefill_right_behind_a_timed_cycle_drops_it() -> None:
    bench = Bench(interval=12, every=3)
    for _ in range(60):
        bench.run(4)
        bench.prefill()
    assert bench.means
    assert {means.cycle_ms for means in bench.means} == {8.0}


def test_a_prefill_between_two_cycles_is_in_neither() -> None:
    bench = Bench(interval=8)
    for _ in range(10):
        bench.run(3)
        bench.prefill()
    bench.run(core.LAG + 1)
    # of every three cycles the last has no successor that follows at once
    assert [(means.cycles, means.cycle_ms) for means in bench.means] == [(8, 8.0)] * 2


def test_lines_are_of_one_batch_size_each() -> None:
    bench = Bench(interval=4)
    for _ in range(4):
        bench.run(3, running=1, verify=6.0)
        bench.run(3, running=8, verify=7.0)
    bench.run(core.LAG + 4, running=3)
    assert {(means.running, means.cycles, means.ms["verify"]) for means in bench.means} == {(1, 4, 6.0), (8, 4, 7.0)}


def test_the_same_number_of_other_requests_is_another_chain() -> None:
    bench = Bench(interval=2)
    for requests in "abcdefgh":  # each for one cycle: with a gap of unknown length behind it
        bench.cycle(requests=requests)
        bench.gpu.work(500)
    bench.run(8)
    assert bench.means
    assert {means.cycle_ms for means in bench.means} == {8.0}


def test_a_long_pause_of_the_host_breaks_the_chain() -> None:
    bench = Bench(interval=3)
    bench.run(3)
    bench.gpu.work(60_000)
    bench.host_s += core.LONGEST_S + 1
    bench.run(9)
    assert {means.cycle_ms for means in bench.means} == {8.0}


def test_cycles_of_before_a_quiet_time_do_not_enter_a_later_line() -> None:
    bench = Bench(interval=4)
    bench.run(4, verify=100.0)  # three of them complete: no line yet
    bench.prefill()
    bench.host_s += core.FRESH_S + 1
    bench.run(4 + core.LAG + 1)
    assert [means.ms["verify"] for means in bench.means] == [6.0]


def test_slow_cycles_are_told_before_the_line_is_full() -> None:
    bench = Bench(interval=40)
    for _ in range(20):
        bench.cycle()
        bench.host_s += 1.0
    assert [means.cycles for means in bench.means] == [10]


def test_warm_up_is_left_out() -> None:
    bench = Bench(interval=2, warm_up=10)
    bench.run(10, verify=900.0)
    assert bench.gpu.made == 30  # only those of the bench itself: the core made none
    bench.run(12)
    assert {means.ms["verify"] for means in bench.means} == {6.0}


def test_a_phase_that_some_cycles_lack_counts_as_nothing_in_those() -> None:
    bench = Bench(interval=4)
    for extend in (0.5, None, 0.5, None):
        bench.cycle(extend=extend)
    bench.run(core.LAG + 1)
    assert bench.means[0].ms["draft_extend"] == 0.25


def test_a_phase_that_never_was_is_not_there() -> None:
    bench = Bench(interval=4)
    for _ in range(9):
        bench.cycle(extend=None)
    assert set(bench.means[0].ms) == {"draft", "verify"}


def test_tokens_that_come_late_are_waited_for_and_belong_to_their_own_cycle() -> None:
    bench = Bench(interval=4)
    launched: list[Cycle] = []
    for index in range(16):
        cycle = bench.cycle()
        assert cycle is not None
        cycle.waits_for_tokens = True
        launched.append(cycle)
        if index >= 2:  # the scheduler handles a result two cycles after its launch
            launched[index - 2].tokens = 1 if index - 2 < 4 else 4
    assert [means.accept_len for means in bench.means] == [1.0, 4.0]


def test_tokens_that_never_come_leave_accept_length_out() -> None:
    bench = Bench(interval=4)
    for _ in range(core.ACCEPT_LAG + 6):
        cycle = bench.cycle()
        assert cycle is not None
        cycle.waits_for_tokens = True
    assert [means.accept_len for means in bench.means] == [None]


def test_accept_length_is_per_request() -> None:
    bench = Bench(interval=4)
    for _ in range(9):
        bench.cycle(8, tokens=20)
    assert bench.means[0].accept_len == 2.5


def test_nothing_is_asked_of_the_device_before_its_time() -> None:
    bench = Bench()
    bench.gpu.reached_ms = 0.0
    for _ in range(50):
        bench.cycle()
        bench.gpu.reached_ms = bench.gpu.queued_ms - 3 * 8.0  # the host is three cycles ahead
    assert bench.gpu.queries > 0
    assert bench.gpu.early_queries == 0
    assert bench.means


def test_a_device_that_hangs_is_neither_waited_for_nor_flooded() -> None:
    bench = Bench()
    bench.gpu.reached_ms = 0.0
    bench.run(1000)
    assert bench.means == []
    assert bench.core.pooled <= core.MOST_PENDING * 7
    hung = bench.gpu.queued_ms
    bench.gpu.reached_ms = float("inf")
    bench.run(100)
    assert bench.means
    assert {means.cycle_ms for means in bench.means} == {8.0}, f"a cycle across the {hung} ms"


def test_events_are_used_again() -> None:
    bench = Bench()
    bench.run(30)
    after_30 = bench.gpu.made
    bench.run(3000)
    assert bench.gpu.made == after_30
    assert bench.core.pooled == after_30


def test_levels_are_bounded() -> None:
    bench = Bench(interval=1000)
    for running in range(1, 3 * core.MOST_LEVELS):
        bench.run(2, running=running)
    assert len(bench.core._levels) <= core.MOST_LEVELS


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["cycle", "prefill", "idle"]), st.integers(1, 3), st.floats(0.1, 50)), max_size=120
    )
)
def test_whatever_happens_phases_fit_into_cycles_and_no_cycle_is_counted_twice(
    steps: list[tuple[str, int, float]],
) -> None:
    bench = Bench(interval=5)
    asked = 0
    for what, running, ms in steps:
        if what == "cycle":
            bench.cycle(running, verify=ms, rest=0.0)
            asked += 1
        elif what == "prefill":
            bench.prefill(ms)
        else:
            bench.core.break_chain()
            bench.gpu.work(1000 * ms)
            bench.host_s += ms
    assert sum(means.cycles for means in bench.means) <= asked
    for means in bench.means:
        assert sum(means.ms.values()) == pytest.approx(means.cycle_ms)
