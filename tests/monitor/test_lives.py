"""States, and where one life ends and the next begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, RunState
from specmon.reports import to_json
from specmon.sources.events import Chunk

from .lines import decode, decodes, launch, plain, prefill, ready, server_of, session_of

SIGTERM = "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
CHILD = "Subprocess scheduler_0 (pid=1659) crashed with exit code -15. Triggering SIGQUIT for cleanup..."
SIGQUIT = "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
TRACEBACK = (
    'Scheduler hit an exception: Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: no\n'
)


def started(second: float, pid: int) -> str:
    """What uvicorn says of its process."""
    return plain(second, f"INFO:     Started server process [{pid}]")


@pytest.mark.parametrize(
    ("log", "state"),
    [
        (launch(0), RunState.STARTING),
        (launch(0) + prefill(5), RunState.STARTING),  # the warm-up request comes before the ready line
        (launch(0) + prefill(5) + ready(6), RunState.READY),
        (launch(0) + ready(6) + prefill(7), RunState.SERVING),
        (launch(0) + decodes(5, 2), RunState.SERVING),
        (decodes(0, 2), RunState.SERVING),
        (prefill(0), RunState.SERVING),
        (launch(0) + ready(1) + decodes(2, 2) + plain(9, TRACEBACK, "TP0"), RunState.CRASHED),
        (launch(0) + plain(9, TRACEBACK, "TP0"), RunState.CRASHED),
        (launch(0) + ready(1) + decodes(2, 2) + plain(9, SIGTERM), RunState.EXITED),
        (ready(1) + decodes(2, 2) + plain(9, SIGTERM) + plain(9, CHILD) + plain(9, SIGQUIT), RunState.EXITED),
        (ready(1) + decodes(2, 2) + plain(9, CHILD) + plain(9, SIGQUIT), RunState.EXITED),
        (ready(1) + decodes(2, 2) + plain(9, CHILD) + plain(9, SIGTERM), RunState.EXITED),
        (ready(1) + decodes(2, 2) + plain(9, CHILD.replace("-15", "-6")), RunState.CRASHED),
        (ready(1) + decodes(2, 2) + "^C\n" + plain(9, TRACEBACK, "TP0") + plain(9, SIGQUIT), RunState.EXITED),
        (ready(1) + decodes(2, 2) + "^C" + plain(9, TRACEBACK, "TP0"), RunState.EXITED),
        (ready(1) + decodes(2, 2) + plain(9, TRACEBACK, "TP0") + "^C\n", RunState.CRASHED),
        (ready(1) + decodes(2, 2) + plain(9, SIGTERM) + decodes(9, 2), RunState.SERVING),  # it drains first
        (plain(0, "Init torch distributed begin.", "TP0"), RunState.UNKNOWN),
    ],
)
def test_state_after_the_last_line(log: str, state: RunState) -> None:
    life = server_of(log).life
    assert life is not None
    assert life.state is state


def test_orderly_stop_is_one_exit_and_no_crash() -> None:
    server = server_of(ready(1) + decodes(2, 2) + plain(9, SIGTERM) + plain(9, CHILD) + plain(9, SIGQUIT))
    assert [happening.kind for happening in server.lives[0].happenings] == ["ready", "exit"]


@pytest.mark.parametrize(
    ("log", "samples"),
    [
        (ready(1) + decodes(2, 5) + ready(100) + decodes(101, 3), [5, 3]),  # killed and started again: no launch line
        (decodes(2, 30) + ready(100) + decodes(101, 3), [30, 3]),  # of a log that is read from the middle
        (launch(0) + decodes(1, 2) + ready(5) + decodes(6, 3), [5]),  # the warm-up
        (decodes(1, 8) + ready(9) + decodes(10, 3), [11]),  # the warm-up, its launch line out of view
        (started(0, 7) + ready(1) + decodes(2, 5) + started(90, 7) + ready(100) + decodes(101, 3), [5, 3]),  # container
        (started(0, 7) + started(0, 7) + ready(1) + ready(1) + decodes(2, 5), [5]),  # lines that come twice
    ],
)
def test_server_that_gets_ready_once_more_has_started_again(log: str, samples: list[int]) -> None:
    assert [life.statistics.samples for life in server_of(log).lives] == samples


def test_next_launch_ends_the_life_before() -> None:
    server = server_of(launch(0) + ready(5) + decodes(6, 5) + launch(100, tp_size=4) + ready(110) + decodes(111, 3))
    assert [life.state for life in server.lives] == [RunState.EXITED, RunState.SERVING]
    assert [life.statistics.samples for life in server.lives] == [5, 3]
    assert [life.index for life in server.lives] == [1, 2]


def test_end_of_a_server_before_the_launch_line_is_another_life() -> None:
    server = server_of(plain(0, "INFO:     Finished server process [10]") + launch(20))
    assert [life.state for life in server.lives] == [RunState.EXITED, RunState.STARTING]


def test_server_process_that_starts_after_samples_is_another_life() -> None:
    start = plain(30, "INFO:     Started server process [11]")
    server = server_of(decodes(0, 3) + start + ready(31) + decodes(32, 4))
    assert [life.statistics.samples for life in server.lives] == [3, 4]


def test_zone_that_no_clock_has_is_none() -> None:
    session = session_of(only=decodes(0, 2).replace(" TP0]", "+99:99]"))
    assert '"last_sample_at": "2026-02-26T16:40:00"' in to_json(session)


def test_key_typed_into_a_file_without_a_server_is_no_life() -> None:
    assert server_of("$ sleep 5\n^C\n").lives == []


def test_noise_before_the_launch_line_is_part_of_its_life() -> None:
    server = server_of(plain(0, "Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit") + launch(1))
    assert len(server.lives) == 1
    assert server.lives[0].launched_at is not None


def test_other_server_process_is_another_life_once_the_first_has_shown_itself() -> None:
    started = "INFO:     Started server process [{}]"
    early = plain(0, started.format(1)) + plain(1, started.format(2))
    assert len(server_of(early).lives) == 1
    assert len(server_of(plain(0, started.format(1)) + ready(1) + plain(60, started.format(2))).lives) == 2
    assert len(server_of(plain(0, started.format(1)) + ready(1) + plain(60, started.format(1))).lives) == 1


def test_clock_that_runs_back_begins_another_life() -> None:
    server = server_of(decodes(500, 3) + decodes(0, 3))
    assert len(server.lives) == 2
    assert server.history.lives.clock_steps == 1
    assert len(server_of(decodes(50, 3) + decodes(0, 3)).lives) == 1


def _foreign(second: float, pid: int) -> str:
    body = decode(second, tag="").split("] ", 1)[1]
    return f"{plain(second, '')[1:20]} INFO {pid} [scheduler.py:287] {body}"


def test_other_pid_in_the_prefix_is_another_life() -> None:
    assert len(server_of(_foreign(0, 11) + _foreign(1, 11) + _foreign(60, 12) + _foreign(61, 12)).lives) == 2


def test_pid_that_comes_back_is_a_second_process_of_one_server() -> None:
    server = server_of("".join(_foreign(second, 11 + second % 2) for second in range(12)))
    assert len(server.lives) == 1
    assert server.lives[0].statistics.samples == 12
    assert not server.history.chronicle.marks


@pytest.mark.parametrize(
    ("log", "role", "speculation"),
    [
        (launch(0), Role.BASELINE, "off"),
        (launch(0, speculative_algorithm="EAGLE3"), Role.SPECULATIVE, "unknown"),
        (decodes(0, 3), Role.BASELINE, "off"),
        (decodes(0, 3, accept=2.5), Role.SPECULATIVE, "active"),
        (decodes(0, 3, accept=1.0), Role.SPECULATIVE, "unknown"),  # 120 drafts are too few to say
        (decodes(0, 5, accept=1.0), Role.SPECULATIVE, "inactive"),
        (prefill(0), Role.UNKNOWN, "unknown"),
        (launch(0, speculative_algorithm="EAGLE") + decodes(1, 5, accept=1.02), Role.SPECULATIVE, "inactive"),
    ],
)
def test_role_and_speculation(log: str, role: Role, speculation: str) -> None:
    life = server_of(log).life
    assert life is not None
    assert (life.role, life.speculation) == (role, speculation)


def test_nothing_of_a_life_leaks_into_the_next() -> None:
    first = launch(0) + ready(5) + decodes(6, 40, 62.9)
    second = launch(100) + ready(105) + prefill(106) + decodes(107, 9, 88.8)
    joined, alone = server_of(first + second), server_of(second)
    assert joined.lives[1].figures() == alone.lives[0].figures()
    assert joined.lives[0].figures() == server_of(first).lives[0].figures()


def test_logged_interval_is_used() -> None:
    life = server_of(launch(0, decode_log_interval=10, speculative_algorithm="EAGLE") + decodes(5, 3, accept=2.0)).life
    assert life is not None
    assert life.figures().drafts == 30


_DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("engine", ["sglang", "vllm", "llamacpp", "trtllm"])
def test_session_without_figures_knows_the_same_lives_and_holds_no_sample(engine: str) -> None:
    for log in sorted((_DATA / engine).glob("*.log"), key=lambda path: path.stat().st_size)[:12]:
        measured, lean = Session(is_watched=False), Session(is_watched=False, is_measured=False)
        for session in (measured, lean):
            session.add("1", log.name)
            session.feed("1", Chunk(0.0, 0, log.read_bytes() * 2))
            session.finish("1")
        ours, theirs = lean.server("1"), measured.server("1")
        told = [
            [(life.launch, life.address, life.state, life.is_established) for life in server.lives]
            for server in (ours, theirs)
        ]
        assert told[0] == told[1], log.name
        assert not any(life.statistics.samples for life in ours.lives)
        assert ours.samples == theirs.samples
