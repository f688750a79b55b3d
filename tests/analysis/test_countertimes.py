"""Phases, throughput and totals from series of counters."""

from __future__ import annotations

import pytest

from specmon.analysis.countertimes import CounterTimes
from specmon.scrape import Scrape
from tests.analysis.pages import sglang, times_of, times_of_files


def ms_of(times: CounterTimes, running: int) -> dict[str, float]:
    phases = times.phases({}, None)
    return {} if phases is None or running not in phases.by_running else dict(phases.by_running[running].ms)


# What one looked up by hand in the same files: the range of windows of 8 s, and the client's own tok/s.
@pytest.mark.parametrize(
    ("server", "running", "by_hand", "client_tok_s"),
    [
        ("baseline", 1, {"decode": (3.56, 3.63)}, 263.7),
        ("baseline", 8, {"decode": (3.66, 3.66)}, 2011),
        ("standalone", 1, {"draft": (0.34, 0.34), "verify": (5.8, 6.3), "draft_extend": (0.28, 0.31)}, 268.6),
        ("standalone", 8, {"draft": (0.37, 0.37), "verify": (7.5, 7.8), "draft_extend": (0.36, 0.36)}, 1852),
    ],
)
def test_genuine_series_give_the_phases_that_were_found_by_hand_within_two_per_cent(
    server: str, running: int, by_hand: dict[str, tuple[float, float]], client_tok_s: float
) -> None:
    times = times_of_files(f"sglang-0.5.16-{server}-timer.metrics-series.txt")
    ms = ms_of(times, running)
    assert ms.keys() == by_hand.keys()
    for phase, (least, most) in by_hand.items():
        assert least * 0.98 <= ms[phase] <= most * 1.02
    level = times.level(running)
    assert level is not None
    assert level.tok_s == pytest.approx(client_tok_s, rel=0.02)
    assert (times.resets, times.overfull) == (0, 0)


def steady(
    count: int, *, per_pass_ms: float = 3.6, running: float = 4, first: float = 0, passes: float = 0
) -> list[Scrape]:
    """A baseline with a pass every 4 ms, looked at every 2 s."""
    return [
        sglang(
            first + 2 * n,
            passes=passes + 500 * n,
            tokens=(passes + 500 * n) * running,
            running=running,
            seconds={"decode": (passes + 500 * n) * per_pass_ms / 1000, "extend": 0.1 * n},
        )
        for n in range(count)
    ]


def test_steady_load_gives_ms_a_pass_and_tokens_a_second() -> None:
    times = times_of(*steady(6))
    assert ms_of(times, 4) == {"decode": pytest.approx(3.6)}
    level = times.level(4)
    assert level is not None
    assert level.tok_s == pytest.approx(1000)
    assert level.seconds == 8  # of 10: idle time may have begun after the last look but one


def test_reset_of_the_counters_loses_the_step_and_nothing_else() -> None:
    times = times_of(*steady(6, passes=90_000), *steady(6, first=12, per_pass_ms=3.6))
    assert times.resets == 1
    assert ms_of(times, 4) == {"decode": pytest.approx(3.6)}
    assert times.totals is not None
    assert times.totals.tokens == 2 * 5 * 500 * 4


def test_step_next_to_idle_time_is_left_out() -> None:
    busy = steady(6)
    idle = [
        sglang(at, passes=2500, tokens=10_000, running=0, seconds={"decode": 9.0, "extend": 0.5}) for at in (12, 14)
    ]
    after = [
        # idle for 1.9 of 2 s: counted, this would be a server at a twentieth of its speed
        sglang(16, passes=2525, tokens=10_100, running=4, seconds={"decode": 9.09, "extend": 0.6}),
        *steady(4, first=18, passes=3025),
    ]
    level = times_of(*busy, *idle, *after).level(4)
    assert level is not None
    assert level.tok_s == pytest.approx(1000)


def test_mixed_batch_sizes_belong_to_no_level() -> None:
    pages = [sglang(2 * n, passes=500 * n, tokens=1250 * n, running=n % 2 + 2) for n in range(8)]
    times = times_of(*pages)
    assert times.level(2) is None
    assert times.level(3) is None


@pytest.mark.parametrize("missing", [2, 3])
def test_page_without_a_series_breaks_the_window_and_counts_nothing_twice(missing: int) -> None:
    pages = steady(8)
    pages[missing] = Scrape(pages[missing].at, tuple(s for s in pages[missing].samples if "_seconds_" not in s.name))
    times = times_of(*pages)
    assert ms_of(times, 4) == {"decode": pytest.approx(3.6)}
    pages[missing] = Scrape(pages[missing].at, tuple(s for s in pages[missing].samples if "running" in s.name))
    times = times_of(*pages)
    assert ms_of(times, 4) == {"decode": pytest.approx(3.6)}
    assert times.totals is not None
    assert times.totals.tokens == 7 * 500 * 4


def test_more_gpu_time_than_time_is_refused() -> None:
    times = times_of(*steady(6, per_pass_ms=4.2))
    assert times.phases({}, None) is None
    assert times.overfull == 1


def speculative(count: int, *, gauges: list[float], batch: float, eager: float = 0.0) -> list[Scrape]:
    """Accept length 2.5; 200 cycles a second."""
    return [
        sglang(
            2 * n,
            passes=400 * n * (1 - eager),
            eager=400 * n * eager,
            tokens=400 * n * batch * 2.5,
            running=gauges[n % len(gauges)],
            seconds={"eagle_draft": 0.14 * n, "target_verify": 1.6 * n, "eagle_draft_extend": 0.12 * n, "decode": 9},
            answered=990 * n * batch,
            verifies=396 * n * batch,
        )
        for n in range(1, count)
    ]


@pytest.mark.parametrize(
    ("gauges", "batch", "level"),
    [
        ([1, 0], 1, 1),  # 0 is a look between two requests
        ([8, 7, 7, 6], 7.9, 8),  # so is a smaller batch
        ([8, 8], 8, 8),
        ([8, 3], 5.5, None),
        ([0, 0], 1, None),
    ],
)
def test_batch_size_of_a_speculative_server_follows_from_gauge_and_accept_length(
    gauges: list[float], batch: float, level: int | None
) -> None:
    times = times_of(*speculative(9, gauges=gauges, batch=batch))
    phases = times.phases({}, None)
    found = [] if phases is None else list(phases.by_running)
    assert found == ([] if level is None else [level])
    if level:
        assert ms_of(times, level) == {
            "draft": pytest.approx(0.35),
            "verify": pytest.approx(4.0),
            "draft_extend": pytest.approx(0.3),
        }
        assert times.totals is not None
        assert times.totals.accept_len == pytest.approx(2.5)


def test_speculative_server_without_cuda_graphs_tells_no_phases() -> None:
    assert times_of(*speculative(9, gauges=[1], batch=1, eager=0.5)).phases({}, None) is None


def test_residual_is_what_the_forwards_leave_of_the_cycle_by_throughput() -> None:
    phases = times_of(*speculative(9, gauges=[1], batch=1)).phases({1: 4.9}, 4.9)
    assert phases is not None
    level = phases.by_running[1]
    assert (level.source, level.cycle_ms, level.identity_cycle_ms) == ("metrics", 4.9, 4.9)
    assert level.residual_ms == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("stem", "tokens", "rounds", "accept_len", "by_position"),
    [
        ("vllm-0.32.0-cpu-spec-draft2l-k3-near-zero-accept", 7272, 6928, 1.0423, (0.0281, 0.0074, 0.0068)),
        ("vllm-0.32.0-cpu-baseline-json-formatter", None, None, None, None),
        ("llamacpp-b11434-cpu-spec-draft-k4", 8248, 5537, 1.4699, (0.2146, 0.0992, 0.0811, 0.0751)),
        ("llamacpp-b11434-cpu-baseline", None, None, None, None),
    ],
)
def test_pages_before_and_after_give_tokens_drafts_and_acceptance(
    stem: str,
    tokens: float | None,
    rounds: float | None,
    accept_len: float | None,
    by_position: tuple[float, ...] | None,
) -> None:
    totals = times_of_files(f"{stem}.metrics-before.txt", f"{stem}.metrics-after.txt").totals
    assert totals is not None
    assert totals.tokens
    assert tokens in (None, totals.tokens)
    assert (totals.rounds or None) == rounds
    assert totals.accept_len == (None if accept_len is None else pytest.approx(accept_len, abs=1e-4))
    if by_position is not None:
        assert totals.by_position == pytest.approx(by_position, abs=1e-4)
        # the sum check: accepted at each position adds up to the accept length less the bonus token
        assert sum(totals.by_position or ()) == pytest.approx(totals.accept_len - 1 if totals.accept_len else 0)


def test_one_page_gives_no_totals() -> None:
    assert times_of_files("vllm-0.32.0-cpu-spec-draft2l-k3-near-zero-accept.metrics-after.txt").totals is None
