"""Phase lines stand in the log of any engine: the probe's own, and those that a custom format describes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.events import LogEvent, PhasesRefused, PhasesTimed
from specmon.formats.custom import load_format
from specmon.formats.phases import PhaseReader
from specmon.formats.reader import LogReader

SPECULATIVE = (
    "specmon-phase v1 cycles=40 running=1 draft_ms=0.610 verify_ms=28.700 draft_extend_ms=0.410 "
    "cycle_ms=29.900 accept_len=2.12"
)
BASELINE = "specmon-phase v1 cycles=40 running=1 decode_ms=15.700 cycle_ms=15.900"
SGLANG = (
    "[2026-02-26 16:40:00 TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, accept len: 2.10, "
    "accept rate: 0.55, cuda graph: True, gen throughput (token/s): 75.90, #queue-req: 0"
)
EXAMPLE = Path(__file__).resolve().parents[2] / "fixtures" / "formats" / "labserve.toml"


def read(text: str, reader: PhaseReader | None = None) -> list[LogEvent]:
    return (reader or PhaseReader()).read(text.encode(), 100)


def only(text: str) -> PhasesTimed:
    (event,) = read(text)
    assert isinstance(event, PhasesTimed)
    return event


def test_a_probe_line_gives_means_per_cycle_with_their_weight() -> None:
    event = only(f"other\n[2026-02-26 16:40:00 TP0] {SPECULATIVE}\n")
    assert (event.offset, event.source, event.cycles, event.running) == (106, "probe", 40, 1)
    assert (event.cycle_ms, dict(event.ms)) == (29.9, {"draft": 0.61, "verify": 28.7, "draft_extend": 0.41})


def test_a_phase_that_is_not_there_is_not_zero() -> None:
    assert dict(only(BASELINE + "\n").ms) == {"decode": 15.7}


def test_unknown_keys_are_skipped_whatever_their_values() -> None:
    line = "specmon-phase v1 cycles=40 running=1 gpu=x mood=-3 decode_ms=15.7 later_ms=nan cycle_ms=15.9 verify_is=a_b"
    assert dict(only(line + "\n").ms) == {"decode": 15.7}


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        ("specmon-phase v2 cycles=40 running=1 decode_ms=15.7 cycle_ms=15.9", "version", "2"),
        (SPECULATIVE[:60], "cut", ""),  # in the middle of a figure
        (SPECULATIVE[: SPECULATIVE.index(" cycle_ms")], "cut", ""),
        ("specmon-phase v1 cycles=40 cycle_ms=15.9", "cut", ""),
        (f"{SPECULATIVE[:57]} {SPECULATIVE}", "cut", ""),  # half a line with the next one behind it
        ("specmon-phase v1 cycles=40 running=1 decode_ms=15.7 decode_ms=1.0 cycle_ms=15.9", "cut", ""),
        ("specmon-phase v1 cycles=0 running=1 decode_ms=1 cycle_ms=2", "cut", ""),
        (SPECULATIVE[: SPECULATIVE.index("9.900")], "sum", ""),  # a cycle of 2 ms
        ("specmon-phase v1 cycles=40 running=1 verify_ms=15.7 draft_ms=0.6 cycle_ms=15.9", "sum", ""),
        ("specmon-phase v1 cycles=40 running=1 decode_ms=-1 cycle_ms=15.9", "figure", "decode_ms=-1"),
        ("specmon-phase v1 cycles=40 running=1 decode_ms=nan cycle_ms=15.9", "figure", "decode_ms=nan"),
        ("specmon-phase v1 cycles=40 running=1 decode_ms=15.7 cycle_ms=inf", "figure", "cycle_ms=inf"),
        ("specmon-phase v1 cycles=40 running=1 decode_ms=15. cycle_ms=15.9", "figure", "decode_ms=15."),
        ("specmon-phase v1 cycles=40 running=1 decode_ms= cycle_ms=15.9", "figure", "decode_ms="),
    ],
)
def test_a_line_that_cannot_be_right_gives_no_figure_and_its_reason(line: str, reason: str, detail: str) -> None:
    (event,) = read(line + "\n")
    assert event == PhasesRefused(100, reason=reason, detail=detail)


def test_rounding_alone_refuses_nothing() -> None:
    assert dict(only("specmon-phase v1 cycles=40 running=1 decode_ms=16.0 cycle_ms=15.9\n").ms) == {"decode": 16.0}


@given(st.integers(0, len(SPECULATIVE) - 1))
def test_a_line_cut_anywhere_gives_the_right_figures_or_none(end: int) -> None:
    for event in read(SPECULATIVE[:end] + "\n"):
        if isinstance(event, PhasesTimed):
            assert dict(event.ms) == {"draft": 0.61, "verify": 28.7, "draft_extend": 0.41}
            assert event.cycle_ms == pytest.approx(29.9, rel=0.03)  # `29` is all that a cut can leave of it


@pytest.mark.parametrize(
    "text",
    [
        SPECULATIVE,  # the line is pending: its last figure may be half a figure
        "specmon-phase vx decode_ms=15.7\n",
        "a word on specmon-phase v1\n",
        f'{{"prompt": "what is {BASELINE}"}}\n',
        "x" * 500 + BASELINE + "\n",
    ],
)
def test_what_is_no_whole_probe_line_says_nothing(text: str) -> None:
    assert read(text) == []


def test_lines_of_a_custom_format_are_read_beside_the_probe_s() -> None:
    reader = PhaseReader([load_format(EXAMPLE.read_text(), "labserve.toml").reader])
    text = f"{BASELINE}\ntimers x40 bs=1 draft=610us verify=26000us extend=410us cycle=27.68ms\n"
    probe, custom = read(text, reader)
    assert isinstance(probe, PhasesTimed)
    assert isinstance(custom, PhasesTimed)
    assert (probe.source, custom.source) == ("probe", "custom")
    assert dict(custom.ms) == pytest.approx({"draft": 0.61, "verify": 26.0, "draft_extend": 0.41})


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_phases_keep_their_place_in_an_engine_s_log(cut: int) -> None:
    lines = [f"{line}\n".encode() for line in (SPECULATIVE, SGLANG, SPECULATIVE, SGLANG)]
    reader = LogReader()
    first, rest = b"".join(lines[:cut]), b"".join(lines[cut:])
    portions = (reader.feed(first, 0) if first else []) + (reader.feed(rest, len(first)) if rest else [])
    portions += reader.finish()
    found = [event.offset for portion in portions for event in portion.block.events if event.kind == "phases"]
    assert found == [0, len(lines[0]) + len(lines[1])]
    assert {portion.engine for portion in portions} - {None} == {"sglang"}
