"""A server's metrics held against its log: as evidence of the method, and as notices where the two cannot be one."""

from __future__ import annotations

import pytest

from specmon.monitor.life import Life
from specmon.monitor.method import Finding, findings_of
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.scrape import PageRefused, Scrape
from tests.analysis.pages import scrape, sglang

from .lines import decodes, server_of

PASSES_S = 250  # a pass every 4 ms, and so 250 tok/s at one request


def looks(count: int, *, decode_ms: float = 3.6, passes_s: float = PASSES_S, first: float = 0.0) -> list[Scrape]:
    """A baseline that serves one request, looked at every 2 s."""
    return [
        sglang(
            first + 2 * n,
            passes=2 * n * passes_s,
            tokens=2 * n * passes_s,
            seconds={"decode": 2 * n * passes_s * decode_ms / 1000},
        )
        for n in range(count)
    ]


def server_with(*pages: Scrape | PageRefused, log: str | None = None) -> ServerMonitor:
    server = server_of(decodes(0, 40, PASSES_S) if log is None else log)
    server.look_back(pages)
    return server


def life_of(server: ServerMonitor) -> Life:
    assert server.life is not None
    return server.life


def told(server: ServerMonitor, kind: str) -> list[str]:
    return [notice.text for notice in notices_of(server, is_finished=True) if notice.kind == kind]


def counted(server: ServerMonitor) -> list[Finding]:
    return [each for each in findings_of(life_of(server), 1, ()) if "server's" in each.text]


@pytest.mark.parametrize(
    ("passes_s", "state", "part"),
    [
        (250, "ok", "the server's token counter gives 250.0 tok/s in 8 s at 1 running, the log delivers 250.0 tok/s"),
        (240, "ok", "(−4.0 %)"),
        (225, "unknown", "the two need not be from the same time"),
        (125, "failed", "See that the metrics are of this server"),
    ],
)
def test_token_counter_is_held_against_what_the_log_delivers(passes_s: float, state: str, part: str) -> None:
    (found,) = counted(server_with(*looks(6, passes_s=passes_s)))
    assert found.state == state
    assert part in found.text


def test_too_little_steady_load_is_no_evidence() -> None:
    assert counted(server_with(*looks(3))) == []


def test_acceptance_by_counters_alone_does_not_back_the_throughput() -> None:
    before = scrape("vllm:generation_tokens_total 0\nvllm:spec_decode_num_drafts_total 0")
    after = scrape(
        "vllm:generation_tokens_total 2400\nvllm:spec_decode_num_drafts_total 1000\n"
        "vllm:spec_decode_num_accepted_tokens_total 1400"
    )
    (found,) = counted(server_with(before, after, log=decodes(0, 40, 250, accept=2.4)))
    assert found.state == "unknown"
    assert "an accept length of 2.400, the log 2.400 (0.0 %), and no throughput" in found.text


def test_residual_is_what_the_forwards_leave_of_the_cycle_of_the_log() -> None:
    phases = life_of(server_with(*looks(6))).phases
    assert phases is not None
    assert phases.source == "metrics"
    assert phases.by_running[1].residual_ms == pytest.approx(0.4)  # 4 ms by 250 tok/s


def test_metrics_of_a_slower_server_do_not_fit_the_log_and_say_so() -> None:
    (text,) = told(server_with(*looks(6, decode_ms=7.5, passes_s=125)), "phases_disagree")
    assert "The phases add up to 7.50 ms, more than the 4.00 ms of a whole cycle" in text
    assert "See that both files belong together" in text


def test_more_gpu_time_than_time_is_a_notice_and_no_phase() -> None:
    server = server_with(*looks(6, decode_ms=4.2))
    (text,) = told(server, "metrics_refused")
    assert text.startswith(
        "1 window of the metrics not used: the server counts more GPU time than the time that passed"
    )
    assert life_of(server).phases is None


def test_refused_pages_are_counted_by_their_reason() -> None:
    pages = looks(6)
    bad = Scrape(3.0, pages[1].samples, refused_figures=1)
    server = server_with(*pages[:2], PageRefused(3.0, "html"), PageRefused(3.5, "html"), bad, *pages[2:])
    assert [text.split(":")[0] for text in told(server, "metrics_refused")] == [
        "2 metrics pages not used",
        "1 metrics page not used",
    ]
    assert life_of(server).phases is not None  # the good ones are


def test_resets_within_one_life_are_left_out_of_its_totals() -> None:
    server = server_of(decodes(0, 10, PASSES_S))
    server.look_back([*looks(6, first=100), *looks(6, first=200), *looks(4, first=300)])
    totals = life_of(server).counters.totals
    assert totals is not None
    assert totals.tokens == (5 + 5 + 3) * 2 * PASSES_S  # one life: the resets are left out, the rest is its own


def test_server_without_a_line_takes_no_metrics() -> None:
    server = server_of("")
    server.look_back(looks(6))
    server.look(looks(1)[0])
    assert server.life is None
