"""Genuine servers (SGLang 0.5.16 on an H200) whose cycles three clocks timed at once.

In one run the probe and the server's own device timer were both on, and the log's throughput and accept length give
the cycle by the identity. In another the probe was switched on and off every 6 s.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path

import pytest

from specmon.analysis.figures import PhaseFigures
from specmon.formats.metricspage import read_series
from specmon.monitor.life import Life
from specmon.monitor.method import findings_of
from specmon.monitor.server import ServerMonitor

from .lines import server_of

DATA = Path(__file__).parents[1] / "data" / "metrics"


@cache
def server_with_both(name: str) -> ServerMonitor:
    server = server_of((DATA / f"sglang-0.5.16-{name}-both.log").read_text())
    with (DATA / f"sglang-0.5.16-{name}-both.metrics").open("rb") as lines:
        server.look_back(read_series(lines))
    return server


def life_of(server: ServerMonitor) -> Life:
    assert server.life is not None
    return server.life


def clocks(name: str, running: int) -> tuple[PhaseFigures, PhaseFigures]:
    """Of one level: what the device timer says, and what the probe says."""
    life = life_of(server_with_both(name))
    timer, probe = life.phases, life.logged_phases
    assert timer is not None
    assert probe is not None
    assert (timer.source, probe.source) == ("metrics", "probe")
    return timer.by_running[running], probe.by_running[running]


@pytest.mark.parametrize(("name", "phase"), [("baseline", "decode"), ("standalone", "verify")])
def test_probe_and_device_timer_agree_on_the_target_forward(name: str, phase: str) -> None:
    for running in (1, 8):
        timer, probe = clocks(name, running)
        assert probe.ms[phase] == pytest.approx(timer.ms[phase], rel=0.03)


@pytest.mark.parametrize(("name", "running"), [("baseline", 1), ("baseline", 8), ("standalone", 1)])
def test_cycle_of_the_probe_is_that_of_throughput_and_accept_length(name: str, running: int) -> None:
    _, probe = clocks(name, running)
    assert probe.cycle_ms == pytest.approx(probe.identity_cycle_ms, rel=0.03)


def test_forwards_of_the_device_timer_leave_a_residual_and_never_more_than_the_cycle() -> None:
    for name, running, least, most in (
        ("baseline", 1, 0.0, 0.05),
        ("baseline", 8, 0.0, 0.05),
        ("standalone", 1, 0.1, 0.3),
    ):
        timer, _ = clocks(name, running)
        assert timer.residual_ms is not None
        assert least <= timer.residual_ms <= most


def test_spans_of_the_drafts_do_not_agree_and_are_not_meant_to() -> None:
    """The probe's span holds the whole call with its sampling and tree; the timer's holds the forwards alone."""
    timer, probe = clocks("standalone", 1)
    assert 1.05 < probe.ms["draft"] / timer.ms["draft"] < 1.2
    assert 1.15 < probe.ms["draft_extend"] / timer.ms["draft_extend"] < 1.35


def test_cycle_at_eight_differs_because_only_five_samples_are_free_of_prefills() -> None:
    _, probe = clocks("standalone", 8)
    level = life_of(server_with_both("standalone")).figures().level_at(8)
    assert level is not None
    assert level.clean == 5
    assert probe.cycle_ms == pytest.approx(1.06 * (level.cycle_ms or 0), rel=0.02)


@pytest.mark.parametrize(("name", "running"), [("baseline", 1), ("baseline", 8), ("standalone", 1), ("standalone", 8)])
def test_token_counter_gives_what_the_client_got(name: str, running: int) -> None:
    client = json.loads((DATA / f"sglang-0.5.16-{name}-both.client.json").read_text())
    phase = next(each for each in client["phases"] if each["conc"] == running)
    counted = life_of(server_with_both(name)).counters.level(running)
    assert counted is not None
    assert counted.tok_s == pytest.approx(phase["window_tok_s"], rel=0.05)


@pytest.mark.parametrize("name", ["baseline", "standalone"])
def test_method_is_backed_by_the_probe_and_by_the_token_counter(name: str) -> None:
    found = findings_of(life_of(server_with_both(name)), 1, ())
    assert {each.state for each in found} == {"ok"}
    text = " ".join(each.text for each in found)
    assert "the probe measured" in text
    assert "the server's token counter gives" in text


@pytest.mark.parametrize(
    ("name", "lines", "phases"),
    [
        ("baseline", {1: (5000, 3.5, 3.8), 8: (2000, 3.5, 3.8)}, {"decode"}),
        ("standalone", {1: (3000, 6.5, 7.5)}, {"draft", "verify", "draft_extend"}),
    ],
)
def test_lines_of_the_probe_in_a_genuine_log_are_read(
    name: str, lines: dict[int, tuple[int, float, float]], phases: set[str]
) -> None:
    server = server_of(lzma.decompress((DATA / f"sglang-0.5.16-{name}-probe.log.xz").read_bytes()).decode())
    found = life_of(server).phases
    assert found is not None
    assert found.source == "probe"
    assert life_of(server).phases_refused.counts == {}
    for running, (cycles, least, most) in lines.items():
        level = found.by_running[running]
        assert level.cycles > cycles
        assert least < (level.cycle_ms or 0) < most
        assert set(level.ms) == phases
        assert level.residual_ms is not None
        assert 0 <= level.residual_ms < 0.02 * (level.cycle_ms or 0)
        assert level.cycle_ms == pytest.approx(level.identity_cycle_ms, rel=0.03)
