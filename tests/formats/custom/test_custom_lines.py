"""From the lines of a custom format to blocks: units, times, what follows from what, what a log cannot tell."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import (
    Block,
    Clock,
    Covers,
    Crashed,
    EnvironmentSet,
    Launched,
    Ready,
    Retracted,
    StopRequested,
    ZoneChanged,
)
from specmon.formats.custom.dialect import CustomDialect
from specmon.formats.custom.model import FormatModel
from specmon.formats.custom.moments import Moments, written

DECODE = (
    r"(?:t=(?P<time>\S+) )?(?:r=(?P<rank>\S+) )?B=(?P<running>\S+) R=(?P<tok_s>\S+)"
    r"(?: A=(?P<accept_len>\S+))?(?: kv=(?P<usage>\S+)%)?"
)


def dialect(*patterns: dict[str, Any], **rest: Any) -> CustomDialect:
    given = patterns or ({"name": "decode", "kind": "decode", "regex": DECODE},)
    samples = [{"line": "x", "pattern": one["name"]} for one in given]
    model = {"schema": 1, "name": "x", "covers": "time", "pattern": list(given), "sample": samples, **rest}
    return CustomDialect(FormatModel.model_validate(model), "x.toml")


def block_of(text: str, *patterns: dict[str, Any], **rest: Any) -> Block:
    return dialect(*patterns, **rest).open().feed(text.encode(), 0)


@pytest.mark.parametrize(
    ("text", "tok_s"),
    [("75.9", 75.9), ("1,234.5", 1234.5), ("1e3", 1000.0), ("0", 0.0), (".5", 0.5), ("+7", 7.0)],
)
def test_figures_are_read_as_people_write_them(text: str, tok_s: float) -> None:
    assert list(block_of(f"B=1 R={text}\n").decode.tok_s) == [tok_s]


@pytest.mark.parametrize("text", ["fast", "1,2", "--7", "12x", "1e999"])
def test_what_is_no_figure_makes_the_line_unparsed(text: str) -> None:
    block = block_of(f"B=1 R={text}\n")
    assert (len(block.decode), list(block.unparsed), block.recognised) == (0, [0], 1)


@pytest.mark.parametrize("text", ["nan", "N/A", "-", "inf"])
def test_a_figure_that_the_server_withholds_is_neither_a_sample_nor_unparsed(text: str) -> None:
    block = block_of(f"B=1 R={text}\n")
    assert (len(block.decode), len(block.unparsed), block.recognised) == (0, 0, 1)


def test_absent_is_never_zero() -> None:
    block = block_of("B=1 R=75.9\nB=1 R=75.9 A=2.10 kv=50%\n", unit={"usage": 0.01})
    assert math.isnan(block.decode.accept_len[0])
    assert math.isnan(block.decode.usage[0])
    assert (block.decode.accept_len[1], block.decode.usage[1]) == (2.10, 0.5)


def test_a_factor_may_be_a_fraction_because_a_sixtieth_has_no_end() -> None:
    assert list(block_of("B=1 R=12,000\n", unit={"tok_s": "1/60"}).decode.tok_s) == [200.0]


def test_the_last_line_counts_only_when_it_cannot_be_half_a_figure() -> None:
    assert len(block_of("B=1 R=75").decode) == 0
    assert len(block_of("B=1 R=75 done").decode) == 1


def test_progress_bars_and_colours_do_not_hide_a_line() -> None:
    block = block_of("10%\r50%\rB=1 R=75.9\n\x1b[32mB=1\x1b[0m R=70\r\n")
    assert list(block.decode.tok_s) == [75.9, 70.0]


@pytest.mark.parametrize(
    ("regex", "constants", "line", "tok_s"),
    [
        (r"B=(?P<running>\d+) r=(?P<tok_s_per_request>\S+)", {}, "B=4 r=20", 80.0),
        (r"B=(?P<running>\d+) tpot=(?P<ms_per_token>\S+)", {}, "B=4 tpot=12.5", 320.0),
        (r"n=(?P<tokens>\d+) in (?P<window_s>\S+)s", {"running": 2}, "n=500 in 5.0s", 100.0),
        (r"B=(?P<running>\d+) C=(?P<cycle_ms>\S+) A=(?P<accept_len>\S+)", {}, "B=2 C=20 A=2", 200.0),
        (r"B=(?P<running>\d+) C=(?P<cycle_ms>\S+) a=(?P<accepted_per_cycle>\S+)", {}, "B=2 C=20 a=1", 200.0),
        (r"B=(?P<running>\d+) step=(?P<cycle_ms>\S+)", {}, "B=1 step=16", 62.5),
    ],
)
def test_throughput_follows_from_other_figures(regex: str, constants: dict[str, int], line: str, tok_s: float) -> None:
    block = block_of(line + "\n", {"name": "d", "kind": "decode", "regex": regex, "set": constants})
    assert list(block.decode.tok_s) == [tok_s]


def test_accept_length_follows_from_counts_of_drafts() -> None:
    regex = r"B=(?P<running>\d+) R=(?P<tok_s>\d+) (?P<accepted>\d+)/(?P<drafted>\d+) in (?P<drafts>\d+)"
    block = block_of("B=1 R=75 110/200 in 100\n", {"name": "d", "kind": "decode", "regex": regex})
    assert list(block.decode.accept_len) == [2.1]


def test_the_first_pattern_that_is_found_counts_and_ignored_lines_are_nobody_else_s() -> None:
    skip = {"name": "skip", "kind": "ignore", "regex": "^warm-up"}
    decode = {"name": "decode", "kind": "decode", "regex": DECODE}
    assert list(block_of("warm-up B=1 R=3\nB=1 R=75\n", skip, decode).decode.tok_s) == [75.0]


@pytest.mark.parametrize(
    ("covers", "cover"),
    [("cycles", Covers.WINDOW), ("time", Covers.TICK), ("request", Covers.REQUEST), ("step", Covers.STEP)],
)
def test_what_a_line_covers_becomes_the_engine_s_habit(covers: str, cover: Covers) -> None:
    pattern = {"name": "d", "kind": "decode", "regex": DECODE, "set": {"cycles": 50, "tokens": 100}}
    block = block_of("B=1 R=75\n", pattern, covers=covers)
    assert (block.habits.covers, block.habits.cycles_per_sample) == (cover, 50)


def test_only_a_format_that_could_show_acceptance_proves_a_baseline_by_its_absence() -> None:
    bare = {"name": "d", "kind": "decode", "regex": r"B=(?P<running>\d+) R=(?P<tok_s>\d+)"}
    assert block_of("B=1 R=75\n").habits.tells_acceptance
    assert not block_of("B=1 R=75\n", bare).habits.tells_acceptance
    assert not block_of("B=1 R=75\n", bare).habits.tells_prefill


def test_rank_numbers_become_tags_and_sharing_ranks_add_up() -> None:
    block = block_of("r=0 B=1 R=75\nr=DP3 B=1 R=75\n", ranks="add_up")
    assert [block.ranks[index] for index in block.decode.rank] == ["RANK0", "DP3"]
    assert [event.kind for event in block.events] == ["ranks_add_up", "ranks_add_up"]


def test_events_of_a_server_s_life() -> None:
    def pattern(kind: str, regex: str) -> dict[str, str]:
        return {"name": kind, "kind": kind, "regex": regex}

    block = block_of(
        "boot model=kimi spec=off tp=8\nup\nput back 3\nNCCL_PROTO=LL\n"
        "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\nterm\ndied: -9\n",
        pattern("launch", r"^boot model=(?P<model>\S+) spec=(?P<algorithm>\S+) tp=(?P<tp_size>\d+)"),
        pattern("ready", "^up$"),
        pattern("retraction", r"^put back (?P<requests>\d+)"),
        pattern("environment", r"^(?P<variable>[A-Z_]+)=(?P<value>\S+)$"),
        pattern("stop", "^term"),
        pattern("crash", r"^died: (?P<exit_code>-?\d+)"),
    )
    launch, ready, retracted, variable, stop, crash = block.events
    assert isinstance(launch, Launched)
    assert dict(launch.flags) == {"model_path": "kimi", "speculative_algorithm": None, "tp_size": 8}
    assert isinstance(ready, Ready)
    assert isinstance(retracted, Retracted)
    assert retracted.requests == 3
    assert isinstance(variable, EnvironmentSet)
    assert (variable.name, variable.value) == ("NCCL_PROTO", "LL")  # the token after it is dropped
    assert isinstance(stop, StopRequested)
    assert isinstance(crash, Crashed)
    assert crash.exit_code == -9


@pytest.mark.parametrize(
    ("layout", "text", "shown", "clock"),
    [
        ("iso", "2026-02-26T16:41:43.250", "2026-02-26 16:41:43.25", Clock.DATED),
        ("iso", "2026-02-26 16:41:43+02:00", "2026-02-26 16:41:43", Clock.DATED),
        ("epoch", "1772123456.5", "2026-02-26 16:30:56.5", Clock.DATED),
        ("epoch_ms", "1772123456500", "2026-02-26 16:30:56.5", Clock.DATED),
        ("uptime", "12.5", "12.5", Clock.UPTIME),
        ("%d/%b/%Y %H:%M:%S", "26/Feb/2026 16:41:43", "2026-02-26 16:41:43", Clock.DATED),
        ("%b %d %H:%M:%S", "Feb 29 16:41:43", "02-29 16:41:43", Clock.YEARLESS),
        ("%H:%M:%S.%f", "16:41:43.250", "16:41:43.25", Clock.TIME_OF_DAY),
    ],
)
def test_times_are_read_by_preset_or_layout(layout: str, text: str, shown: str, clock: Clock) -> None:
    moments = Moments(layout, None)
    assert moments.clock is clock
    assert written(moments.read(text.encode()), clock) == shown


def test_stamps_without_a_date_go_on_past_midnight_and_those_without_a_year_past_new_year() -> None:
    clock = Moments("%H:%M:%S", None)
    assert clock.read(b"00:00:01") < clock.read(b"23:59:59") < clock.read(b"00:00:01")
    yearless = Moments("%m-%d %H:%M:%S", None)
    assert yearless.read(b"12-31 23:59:59") + 2 == yearless.read(b"01-01 00:00:01")


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01 00:00:00", "99:99:99"])
def test_what_is_no_time_is_missing(text: str) -> None:
    for layout in ("iso", "epoch", "uptime", "%H:%M:%S", "%d/%b/%Y"):
        assert math.isnan(Moments(layout, None).read(text.encode()))


def test_a_zone_is_told_where_the_stamps_have_none() -> None:
    block = block_of("t=2026-02-26T16:41:43 B=1 R=2\n", time={"zone": "+01:00"})
    assert block.clock is Clock.DATED
    assert block.events == (ZoneChanged(0, utc_offset_s=3600),)
    assert not block_of("B=1 R=2\n", time={"zone": "+01:00"}).events


@settings(max_examples=60)
@given(
    text=st.text(alphabet="BRAtr=.0123456789 \n\r\x1b[m%,eEn/a-", max_size=120),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
def test_no_text_raises_and_no_cut_changes_what_is_said(text: str, cuts: list[int]) -> None:
    lines = text.encode().splitlines(keepends=True)
    lines = [line for line in lines if line.endswith(b"\n")]
    whole = dialect().open().feed(b"".join(lines), 0)
    parser, found, offset = dialect().open(), [], 0
    edges = sorted({min(cut, len(lines)) for cut in cuts} | {0, len(lines)})
    for begin, end in pairwise(edges):
        part = b"".join(lines[begin:end])
        block = parser.feed(part, offset)
        found += list(zip(block.decode.offset, block.decode.tok_s, strict=True))
        offset += len(part)
    assert found == list(zip(whole.decode.offset, whole.decode.tok_s, strict=True))
