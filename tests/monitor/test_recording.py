"""What a life of a server is worth as a reference, and what speaks against it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from specmon.analysis.longrun import long_run_sigma
from specmon.monitor.recording import Recording, recording_of
from specmon.monitor.session import Session
from specmon.sources.events import Chunk

from .lines import decode, decodes, launch, plain, prefill, ready, server_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STEADY = launch(0) + ready(5) + prefill(6) + decodes(6, 42)


def recorded(log: str, **options: object) -> Recording:
    return recording_of(server_of(log), now=NOW, **options)  # type: ignore[arg-type]  # keyword arguments of a table


def test_steady_baseline_is_recorded_with_its_figures() -> None:
    found = recorded(STEADY)
    assert found.faults == ()
    (level,) = found.session.level
    assert (level.running, level.n, level.tok_s, level.cycle_ms) == (1, 41, 100.0, 10.0)
    assert level.tok_s_ci95 == (100.0, 100.0)
    assert level.context_tokens == (300.0, 300.0)
    assert (found.engine, found.model, found.session.run) == ("sglang", "/models/kimi", 1)
    assert found.fingerprint.flags is not None
    assert found.fingerprint.env is None


def test_sigma_is_the_long_run_one_of_the_cycle() -> None:
    speeds = [round(100 + step * 7919 % 13 / 10, 2) for step in range(80)]
    log = launch(0) + "".join(decode(step, tok_s) for step, tok_s in enumerate(speeds))
    (level,) = recorded(log).session.level
    expected = long_run_sigma([math.log(1000 / tok_s) for tok_s in speeds[1:]])
    assert level.sigma == pytest.approx(expected, rel=1e-5)


def test_sigma_of_several_ranks_is_that_of_one_rank_at_a_time() -> None:
    speeds = [round(100 + step * 7919 % 13 / 10, 2) for step in range(80)]
    log = launch(0, dp_size=2) + "".join(
        decode(step, tok_s, tag=f"DP{rank} TP{rank}") for step, tok_s in enumerate(speeds) for rank in (0, 1)
    )
    (level,) = recorded(log).session.level
    expected = long_run_sigma([math.log(1000 / tok_s) for tok_s in speeds[1:]])
    assert level.sigma == pytest.approx(expected, rel=1e-5)
    assert level.tok_s == pytest.approx(2 * 100.6, abs=0.2)
    assert level.n == 2 * 79


def test_sigma_needs_more_samples_than_a_speed() -> None:
    (level,) = recorded(launch(0) + decodes(6, 20)).session.level
    assert level.sigma is None


@pytest.mark.parametrize(
    ("log", "part"),
    [
        (launch(0) + decodes(6, 8), "1 running: 7 clean samples of 8, 3 more are needed"),
        (launch(0) + decodes(6, 40, accept=2.5), "speculative server"),
        (
            STEADY + plain(50, "Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: boom"),
            "the run crashed",
        ),
        ("".join(decode(second, graph=second % 2 == 0) for second in range(30)), "with CUDA graphs and some without"),
        (launch(0) + decodes(1, 30) + decodes(20, 30, 50.0), "its speed moved while it was measured"),
        (
            "".join(decodes(60 * step, 6, running=step + 1) for step in range(8)),
            "spread over 8 levels (1 to 8 running)",
        ),
        (decodes(0, 30, tag="DP1 TP1"), "lines of DP0"),
        (launch(0) + ready(5), "it has no decode sample"),
        ("hello\n", "no line of an LLM server is in it"),
    ],
)
def test_what_is_not_worth_recording_is_told_with_its_reason(log: str, part: str) -> None:
    found = recorded(log)
    assert any(part in fault for fault in found.faults), found.faults


def test_level_that_is_not_fit_is_left_out_beside_one_that_is() -> None:
    found = recorded(STEADY + decodes(100, 5, 700.0, running=8))
    assert found.faults == ()
    assert [level.running for level in found.session.level] == [1]
    assert found.left_out == ("8 running: 4 clean samples of 5, 6 more are needed",)


def test_level_that_is_asked_for_is_the_only_one() -> None:
    log = STEADY + decodes(100, 20, 700.0, running=8)
    assert [level.running for level in recorded(log, running=8).session.level] == [8]
    assert recorded(log, running=3).faults == ("it has no decode sample at 3 running",)


def test_force_takes_what_has_a_speed_at_all() -> None:
    few = launch(0) + decodes(6, 4)
    assert recorded(few).session.level == ()
    assert recorded(few).can_be_forced
    found = recorded(few, is_forced=True)
    assert found.faults
    assert [level.n for level in found.session.level] == [3]


def test_force_takes_no_level_that_is_not_fit_where_another_is() -> None:
    found = recorded(STEADY + decodes(100, 5, 700.0, running=8), is_forced=True)
    assert [level.running for level in found.session.level] == [1]


@pytest.mark.parametrize("log", [launch(0) + decodes(6, 40, accept=2.5), launch(0) + ready(5), ""])
def test_speculative_server_and_a_log_without_a_speed_cannot_be_forced(log: str) -> None:
    assert not recorded(log, is_forced=True).can_be_forced


@pytest.mark.parametrize(
    ("is_utc", "zone", "note"), [(False, None, "tells no zone"), (True, UTC, "the capture says is UTC")]
)
def test_time_is_the_logs_own(is_utc: bool, zone: object, note: str) -> None:
    found = recorded(STEADY, is_utc=is_utc)
    assert found.session.started_at == datetime(2026, 2, 26, 16, 40, tzinfo=zone)  # type: ignore[arg-type]  # UTC or None
    assert found.session.recorded_at == datetime(2026, 2, 26, 16, 40, 22, tzinfo=zone)  # type: ignore[arg-type]
    assert note in found.recorded_at_note


def test_time_has_the_zone_that_the_log_tells() -> None:
    lines = [f"2026-02-26T16:40:{second:02d}.000+08:00 {decode(second).partition('] ')[2]}" for second in range(30)]
    found = recorded("".join(lines))
    assert found.session.recorded_at == datetime(2026, 2, 26, 16, 40, 29, tzinfo=timezone(timedelta(hours=8)))
    assert found.recorded_at_note == "the newest sample, by the log's clock"


def test_log_without_a_date_takes_the_moment_of_recording_and_says_so() -> None:
    lines = [decode(second).replace("2026-02-26 ", "") for second in range(30)]
    found = recorded("".join(line.partition("] ")[2] for line in lines))
    assert found.session.recorded_at == NOW
    assert found.session.started_at is None
    assert "this machine's clock" in found.recorded_at_note


def test_variables_that_the_log_proves_are_a_part_of_the_environment() -> None:
    line = "gpu01:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL\n"
    found = recorded(launch(0) + line + decodes(6, 20))
    assert found.fingerprint.env == {"NCCL_PROTO": "LL"}
    assert found.fingerprint.env_is_partial


def test_run_that_the_log_does_not_have_is_told() -> None:
    session = Session(run=3, is_watched=False)
    server = session.add("1", "a.log")
    session.feed("1", Chunk(0.0, 0, STEADY.encode()))
    session.finish()
    (fault,) = recording_of(server, now=NOW).faults
    assert "so there is no --run 3" in fault
