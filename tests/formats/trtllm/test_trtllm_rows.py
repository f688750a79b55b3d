"""Rows of TensorRT-LLM's iteration log: which of them are samples, and what time a step took."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import AcceptanceUntold, Block, Clock, Launched, RanksAddUp, WindowSpoiled
from specmon.formats.trtllm import TrtLlmDialect
from specmon.formats.trtllm.iteration import read_row

_STATES = "states = {'num_ctx_requests': %d, 'num_ctx_tokens': %d, 'num_generation_tokens': %d}"


def _row(
    number: int,
    *,
    rank: int = 0,
    scheduled: int = 2,
    host: str = "9.5ms",
    device: str = "8.0ms",
    context: int = 0,
    generated: int = 4,
    share: str = "0/1",
) -> str:
    return (
        f"[08/04/2026-19:08:13] [TRT-LLM] [I] [_torch][RANK {rank}] iter = {number}, global_rank = {rank}, "
        f"rank = {rank}, num_scheduled_requests = {scheduled}, kv_cache_util = 0.125, "
        f"currank_total_requests = {share}, "
        f"host_step_time = {host}, prev_device_step_time = {device}, timestamp = 2026-08-04 19:08:13, "
        + _STATES
        % (context, context * 100, generated)
    )


def _blocks(*lines: str) -> list[Block]:
    parser = TrtLlmDialect().open()
    return [parser.feed(("\n".join(lines) + "\n").encode(), 0), parser.finish()]


def _samples(*lines: str) -> list[tuple[int, int, float, float]]:
    return [
        (d.iteration[i], d.running[i], round(d.tok_s[i], 3), round(d.cycle_ms[i], 6))
        for d in (block.decode for block in _blocks(*lines))
        for i in range(len(d))
    ]


@pytest.mark.parametrize(
    ("text", "scheduled", "host_ms", "device_ms"),
    [
        (
            "iter = 198, global_rank = 0, rank = 0, currank_total_requests = 0/0, elapsed_time = 0.005162129s, "
            "timestamp = 2025-04-30 09:56:49, num_scheduled_requests: 10, " + _STATES % (0, 0, 16),
            10,
            5.162129,
            math.nan,
        ),
        (
            "iter = 4, global_rank = 0, rank = 0, currank_total_requests = 1/8, host_step_time = 7.412195205688477ms, "
            "prev_device_step_time = 11.969311714172363ms, timestamp = 2025-08-04 19:08:13, "
            "num_scheduled_requests: 16, " + _STATES % (0, 0, 16),
            16,
            7.412195205688477,
            11.969311714172363,
        ),
        (
            "iter = 4, global_rank = 0, rank = 0, num_scheduled_requests = 16, kv_cache_util = N/A, "
            "currank_total_requests = 1/8, host_step_time = 7.4ms, prev_device_step_time = N/A, "
            "timestamp = 2026-08-04 19:08:13, "
            "states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 64, "
            "'cached_kv_tokens': 63821}, "
            "num_active = 16, num_fetched = 0, num_dummy = 0, num_unscheduled = 0",
            16,
            7.4,
            math.nan,
        ),
    ],
    ids=["April 2025", "mid 2025", "2026"],
)
def test_fields_are_found_by_name(text: str, scheduled: int, host_ms: float, device_ms: float) -> None:
    row = read_row(text.encode())
    assert row is not None
    assert row.scheduled == scheduled
    assert row.host_ms == pytest.approx(host_ms)
    assert row.device_ms == device_ms or (math.isnan(row.device_ms) and math.isnan(device_ms))


def test_step_time_is_the_device_time_of_the_next_row() -> None:
    rows = _row(1, device="N/A"), _row(2, device="4.0ms"), _row(3, device="5.0ms")
    assert _samples(*rows) == [(1, 2, 500.0, 4.0), (2, 2, 400.0, 5.0), (3, 2, 210.526, 9.5)]


def test_own_time_stands_in_when_the_next_row_is_not_the_next_step() -> None:
    assert _samples(_row(1), _row(3, device="5.0ms"))[0] == (1, 2, 210.526, 9.5)
    assert _samples(_row(1), _row(2, device="N/A"))[0] == (1, 2, 210.526, 9.5)


def test_requests_are_counted_and_not_padded_tokens() -> None:
    assert _samples(_row(1, scheduled=10, generated=16, host="0.005s"))[0][1:] == (10, 2000.0, 5.0)


def test_repeated_step_counts_once_and_the_fuller_row_counts() -> None:
    old = _row(7).replace("num_scheduled_requests = 2, ", "")
    assert [sample[0] for sample in _samples(old, _row(7), _row(8))] == [7, 8]
    assert [sample[0] for sample in _samples(_row(7), old, _row(8))] == [7, 8]


def test_row_without_its_batch_is_unparsed() -> None:
    first, rest = _blocks(_row(7).replace("num_scheduled_requests = 2, ", ""), _row(8))
    assert list(first.unparsed) == [0]
    assert len(rest.decode) == 1


def test_prompts_alone_are_no_sample_but_a_prefill() -> None:
    first, rest = _blocks(_row(1, context=2, generated=0), _row(2, context=1), _row(3))
    assert list(first.prefill.new_tokens) == [200.0, 100.0]
    assert [*first.decode.iteration, *rest.decode.iteration] == [2, 3]


def test_host_time_behind_an_idle_step_is_spoiled_and_a_device_time_is_not() -> None:
    idle = _row(1, scheduled=0, generated=0)
    spoiled = [e for block in _blocks(idle, _row(2), _row(4)) for e in block.events if isinstance(e, WindowSpoiled)]
    timed = [e for block in _blocks(idle, _row(2), _row(3)) for e in block.events if isinstance(e, WindowSpoiled)]
    assert (len(spoiled), len(timed)) == (1, 0)


def test_ranks_repeat_each_other_unless_they_share_the_requests() -> None:
    same = _blocks(_row(1), _row(1, rank=1), _row(2), _row(2, rank=1))
    other = _blocks(_row(1), _row(1, rank=1, scheduled=5), _row(2), _row(2, rank=1, scheduled=5))
    assert not [event for block in same for event in block.events if isinstance(event, RanksAddUp)]
    assert len([event for block in other for event in block.events if isinstance(event, RanksAddUp)]) == 1
    assert set(same[0].ranks) == {"", "RANK0", "RANK1"}


@pytest.mark.parametrize("stamp", ["2026-08-04 19:08:13", "08-04-2026 19:08:13", "nonsense"])
def test_time_is_the_rows_own_else_the_loggers(stamp: str) -> None:
    first, rest = _blocks(_row(1).replace("2026-08-04 19:08:13", stamp))
    assert first.clock is Clock.DATED
    assert list(rest.decode.at) == [1785870493.0]


def test_version_is_one_launch_however_many_processes_say_it() -> None:
    version = "[TensorRT-LLM] TensorRT-LLM version: 1.2.0rc3"
    block, _ = _blocks(version, version, _row(1), version)
    assert [event.version for event in block.events if isinstance(event, Launched)] == ["1.2.0rc3", "1.2.0rc3"]


@pytest.mark.parametrize(
    "line", ["iter = 5, loss = 0.3", 'prompt: "iter = 5, global_rank = 0, rank = 0, num_scheduled_requests = 1, x"']
)
def test_prose_is_no_row(line: str) -> None:
    assert _samples(line) == []


def test_acceptance_is_a_matter_of_habits() -> None:
    block, _ = _blocks(_row(1))
    assert not block.habits.tells_acceptance
    assert not any(isinstance(event, AcceptanceUntold) for event in block.events)


_LINES = [
    line.encode() + b"\n"
    for number in range(1, 8)
    for line in (_row(number, device=f"{number}.5ms"), _row(number, rank=1), "noise")
]


def _feed(edges: list[int]) -> str:
    parser, offset, blocks = TrtLlmDialect().open(), 0, []
    for begin, end in zip([0, *edges], [*edges, len(_LINES)], strict=True):
        text = b"".join(_LINES[begin:end])
        blocks.append(parser.feed(text, offset))
        offset += len(text)
    blocks.append(parser.finish())
    rows = [(d.offset[i], d.running[i], d.cycle_ms[i]) for d in (b.decode for b in blocks) for i in range(len(d))]
    return repr((rows, [event for block in blocks for event in block.events]))


_WHOLE = _feed([])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, len(_LINES)), max_size=12))
def test_cutting_between_lines_changes_nothing(edges: list[int]) -> None:
    assert _feed(sorted(edges)) == _WHOLE


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from([*_LINES, b"iter = 9, ", b"', 's = {"]), st.binary(max_size=40)), max_size=20)
)
def test_no_mix_of_lines_raises(parts: list[bytes]) -> None:
    parser = TrtLlmDialect().open()
    text = b"".join(parts)
    assert parser.feed(text, 0).end == len(text)
    assert parser.finish().lines == 0


def test_public_case_is_one_sample() -> None:
    text = (Path(__file__).parents[2] / "data" / "trtllm" / "53-trtllm-iter-log-padding.log").read_text()
    assert _samples(*text.splitlines()) == [(198, 10, 1937.185, 5.162129)]
