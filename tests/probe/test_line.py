"""What the probe writes is what specmon reads: both sides of the line are held together here."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import PhasesTimed
from specmon.formats.phases import PhaseReader
from specmon_probe.cycles import Means
from specmon_probe.line import write

SPECULATIVE = Means(40, 1, {"draft": 0.61, "verify": 28.7, "draft_extend": 0.41}, 29.9, 2.12)
BASELINE = Means(40, 1, {"decode": 15.7}, 15.9, None)


def read(line: str, prefix: str = "[2026-11-30 16:07:43 DP0 TP0] ") -> PhasesTimed:
    (event,) = PhaseReader().read(f"{prefix}{line}\n".encode(), 0)
    assert isinstance(event, PhasesTimed)
    return event


@pytest.mark.parametrize(
    ("means", "line"),
    [
        (
            SPECULATIVE,
            "specmon-phase v1 cycles=40 running=1 draft_ms=0.610 verify_ms=28.700 draft_extend_ms=0.410 "
            "cycle_ms=29.900 accept_len=2.12",
        ),
        (BASELINE, "specmon-phase v1 cycles=40 running=1 decode_ms=15.700 cycle_ms=15.900"),
        (
            Means(12, 8, {"draft": 0.58, "verify": 6.63}, 7.33, None, own_verify=False),
            "specmon-phase v1 cycles=12 running=8 draft_ms=0.580 verify_ms=6.630 cycle_ms=7.330 "
            "verify_is=target_forward",
        ),
    ],
)
def test_line_is_the_documented_one(means: Means, line: str) -> None:
    assert write(means) == line


@settings(deadline=None)
@given(
    st.integers(1, 10_000),
    st.integers(1, 4096),
    st.dictionaries(st.sampled_from(["draft", "verify", "draft_extend", "decode"]), st.floats(0.1, 99_999), min_size=1),
    st.floats(0, 99_999),
    st.one_of(st.none(), st.floats(1, 64)),
    st.booleans(),
)
def test_specmon_reads_what_the_probe_writes(
    cycles: int, running: int, ms: dict[str, float], rest_ms: float, accept_len: float | None, own_verify: bool
) -> None:
    cycle_ms = sum(ms.values()) + rest_ms  # phases lie inside the cycle
    event = read(write(Means(cycles, running, ms, cycle_ms, accept_len, own_verify)))
    assert event.source == "probe"
    assert (event.cycles, event.running) == (cycles, running)
    assert event.cycle_ms == pytest.approx(cycle_ms, abs=0.0006)
    assert set(event.ms) == set(ms)
    for phase, value in ms.items():
        assert event.ms[phase] == pytest.approx(value, abs=0.0006)


def test_a_phase_that_is_left_out_is_unknown_to_specmon_and_not_zero() -> None:
    assert "draft_extend" not in read(write(BASELINE)).ms
    assert not math.isnan(read(write(BASELINE)).cycle_ms)
