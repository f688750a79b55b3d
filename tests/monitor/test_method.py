"""Independent figures against the log's: clients, stamps, phases."""

from __future__ import annotations

import pytest

from specmon.clients.result import ClientResult
from specmon.monitor.life import Life
from specmon.monitor.method import ClientEvidence, client_finding, findings_of

from .lines import decode, decodes, launch, server_of


def evidence(
    client_tok_s: float,
    log_tok_s: float | None,
    *,
    accept_len: float | None = 2.1,
    is_same_time: bool = True,
    rate: float | None = None,
) -> ClientEvidence:
    result = ClientResult("aiperf", "r.json", client_tok_s, duration_s=100.0, request_rate=rate)
    return ClientEvidence("key", result, log_tok_s, accept_len, is_same_time)


@pytest.mark.parametrize(
    ("found", "state", "part"),
    [
        (evidence(74.0, 75.0), "ok", "aiperf got 74.0 tok/s, the log delivers 75.0 tok/s in the same time (−1.3 %)"),
        (evidence(79.0, 75.0), "ok", "(+5.3 %)"),  # within 5 % and a second of 100
        (evidence(35.0, 74.0), "failed", "counts chunks, not tokens: its 35.0 tok/s × accept length 2.10 = 73.5"),
        (evidence(35.0, 74.0, is_same_time=False), "failed", "usage.completion_tokens"),
        (evidence(35.0, 74.0, accept_len=None), "unknown", "somebody else"),
        (evidence(60.0, 74.0, accept_len=1.05, rate=2.0), "unknown", "2 requests a second at most"),
        (evidence(60.0, 74.0), "unknown", "somebody else"),
        (evidence(60.0, 74.0, is_same_time=False), "unknown", "--since, --until"),
        (evidence(90.0, 74.0, is_same_time=False), "unknown", "--since, --until"),
        (evidence(90.0, 74.0), "failed", "no client can get more than the server makes"),
        (evidence(90.0, None), "unknown", "nothing to compare it with"),
    ],
)
def test_client_is_held_against_what_was_delivered(found: ClientEvidence, state: str, part: str) -> None:
    finding = client_finding(found)
    assert finding.state == state
    assert part in finding.text


@pytest.mark.parametrize("accept_len", [1.2, 2.1, 4.0])
def test_client_that_counts_chunks_gets_the_log_divided_by_the_accept_length(accept_len: float) -> None:
    assert client_finding(evidence(100 / accept_len, 100.0, accept_len=accept_len)).state == "failed"
    assert client_finding(evidence(100.0, 100.0, accept_len=accept_len)).state == "ok"


def life_of(text: str) -> Life:
    life = server_of(text).life
    assert life is not None
    return life


def test_counted_lines_over_stamps_confirm_the_printed_throughput() -> None:
    (finding,) = findings_of(life_of(launch(0) + decodes(1, 200, 100.0)), 1, ())
    assert finding.state == "ok"
    assert "counted lines give 7,960 tokens in 79 s by the stamps" in finding.text


def test_idle_time_is_no_contradiction() -> None:
    text = launch(0) + decodes(1, 100, 100.0) + decode(200, 0.4) + decodes(201, 100, 100.0)
    (finding,) = findings_of(life_of(text), 1, ())
    assert finding.state == "ok"


@pytest.mark.parametrize("accept", [None, 2.5])
def test_another_interval_than_assumed_is_found_out(accept: float | None) -> None:
    """Lines of 10 cycles, of which nothing says so: they come four times as often as lines of 40 would."""
    window = 10 * (accept or 1.0) / 100
    lines = "".join(decode(1 + step * window, 100.0, accept=accept) for step in range(400))
    (finding,) = findings_of(life_of(lines), 1, ())
    assert finding.state == "failed"
    assert "decode_log_interval" in finding.text
    (told,) = findings_of(life_of(launch(0, decode_log_interval=10) + lines), 1, ())
    assert told.state == "ok"


def test_short_log_says_nothing_by_whole_second_stamps() -> None:
    assert findings_of(life_of(launch(0) + decodes(1, 12, 100.0)), 1, ()) == []


def test_measured_phases_are_held_against_the_cycle() -> None:
    def probed(cycle_ms: float) -> str:
        body = f"specmon-phase v1 cycles=40 running=1 decode_ms={cycle_ms - 0.2:.3f} cycle_ms={cycle_ms:.3f}"
        return f"[2026-02-26 16:40:05] {body}\n"

    for cycle_ms, state in ((10.1, "ok"), (10.8, "unknown"), (13.0, "failed")):
        found = findings_of(life_of(launch(0) + decodes(1, 12, 100.0) + probed(cycle_ms)), 1, ())
        assert [finding.state for finding in found] == [state]
        assert "the throughput gives 10.00 ms" in found[0].text
