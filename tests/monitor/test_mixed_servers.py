"""Several servers in one log without labels: told, and not guessed at."""

from __future__ import annotations

import pytest

from specmon.monitor.notices import notices_of
from specmon.monitor.session import Session

from .lines import decode, feed, launch, ready

_SGLANG = launch(0) + ready(5)


def _vllm(second: int, *, pid: int = 7, engine: int = 0, name: str = "APIServer") -> str:
    return (
        f"({name} pid={pid}) INFO 02-26 16:{40 + second // 60}:{second % 60:02} [loggers.py:123] Engine {engine:03}: "
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 95.5 tokens/s, Running: 1 reqs, "
        "Waiting: 0 reqs, "
        "GPU KV cache usage: 0.5%, Prefix cache hit rate: 0.0%\n"
    )


def _told(log: str) -> list[str]:
    session = Session()
    session.add("1", "/logs/a.log")
    feed(session, "1", log)
    session.finish()
    (server,) = session.servers
    return [notice.text for notice in notices_of(server, is_finished=True) if notice.kind == "mixed_servers"]


def test_two_engines_that_alternate_are_told_with_the_way_out() -> None:
    (text,) = _told(_SGLANG + "".join(decode(second) + _vllm(second) for second in range(10, 70, 10)))
    assert "sglang and vllm alternate" in text
    assert "split this one" in text


@pytest.mark.parametrize("rounds", [1, 2])
def test_engines_that_follow_each_other_are_no_mixture(rounds: int) -> None:
    one_day = _SGLANG + "".join(decode(second) for second in (10, 11, 12)) + _vllm(20) + _vllm(30)
    assert not _told(one_day * rounds)


@pytest.mark.parametrize("gap_s", [0, 5])
def test_processes_that_take_turns_at_one_rank_are_told(gap_s: int) -> None:
    (text,) = _told("".join(_vllm(second, pid=11) + _vllm(second + gap_s, pid=22) for second in range(0, 90, 10)))
    assert "Processes 11, 22 write the statistics lines of Engine 000 by turns" in text
    assert "grep 'pid=11)'" in text


@pytest.mark.parametrize(
    "log",
    [
        "".join(_vllm(second, pid=11) + _vllm(second, pid=22, engine=1) for second in range(0, 90, 10)),  # two ranks
        "".join(_vllm(second, pid=11) for second in range(0, 50, 10))
        + "".join(_vllm(second, pid=22) for second in range(50, 90, 10)),  # a restart
    ],
)
def test_processes_of_one_server_are_not(log: str) -> None:
    assert not _told(log)
