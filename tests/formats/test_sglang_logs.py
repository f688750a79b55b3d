"""Whole logs of SGLang servers: what is in them, and that neither the cut nor damage changes how they are read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import (
    Block,
    Crashed,
    CrashExplained,
    EnvironmentSet,
    LaunchContinued,
    Launched,
    LogEvent,
    PrefillColumns,
    SampleColumns,
    StopRequested,
)
from specmon.formats.sglang import SglangDialect
from specmon.sources.framing import LineFramer

_LOGS = Path(__file__).parents[1] / "data" / "sglang"


def _read(data: bytes, cuts: Iterable[int] = ()) -> list[Block]:
    framer, parser = LineFramer(), SglangDialect().open()
    edges = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    framed = [framer.feed(data[low:high], low) for low, high in itertools.pairwise(edges)]
    framed.append(framer.finish())
    return [parser.feed(block.data, block.offset) for block in framed if block is not None]


def _open(name: str) -> list[Block]:
    return _read((_LOGS / name).read_bytes())


def _events(blocks: list[Block]) -> list[LogEvent]:
    return [event for block in blocks for event in block.events]


def _sum(blocks: list[Block]) -> object:
    """All that blocks say together, independent of where one ends and the next begins. NaN becomes text."""

    def rows(block: Block, columns: SampleColumns | PrefillColumns) -> list[tuple[str, ...]]:
        filled = {field.name: column for field in fields(columns) if len(column := getattr(columns, field.name))}
        filled["rank"] = [block.ranks[index] for index in filled.get("rank", ())]
        return [tuple(map(str, row)) for row in zip(*filled.values(), strict=True)]

    last_answers = [block.answers.last_at for block in blocks if block.answers.last_at is not None]
    return (
        [row for block in blocks for row in rows(block, block.decode)],
        [row for block in blocks for row in rows(block, block.prefill)],
        _events(blocks),
        [offset for block in blocks for offset in block.unparsed],
        [sum(getattr(block, name) for block in blocks) for name in ("lines", "recognised", "clipped")],
        (sum(block.answers.count for block in blocks), last_answers[-1:]),
    )


@pytest.mark.parametrize(
    ("name", "lines", "samples", "prefills", "new_tokens"),
    [
        ("01-sglang-eagle3-first-sample-near-zero", 6, 5, 1, 28),
        ("02-sglang-baseline-bs1-steady", 4, 4, 0, 0),
        ("03-sglang-spec-prefill-interleaved", 9, 1, 8, 5967),
        ("05-ray-actor-prefix-comma-format", 7, 7, 0, 0),
        ("06-sglang-comma-prefill-with-input-throughput", 10, 1, 3, 608),
        ("07-sglang-jax-cache-miss-field", 9, 9, 0, 0),
        ("08-cri-k8s-prefix-scheduler-crash", 10, 0, 0, 0),
        ("10-sglang-baseline-slow-drift-bs8", 9, 9, 0, 0),
        ("12-sglang-custom-logger-spec-off-no-cudagraph", 3, 3, 0, 0),
        ("13-sglang-dp-attention-8-ranks", 8, 8, 0, 0),
        ("15-sglang-startup-then-first-decode", 24, 3, 2, 13),
        ("16-sglang-indented-cudagraph-false", 47, 19, 3, 27),
        ("18-sglang-terminal-clipped-columns", 9, 1, 5, 4480),
        ("19-sglang-npu-tp-ep-prefix-prefill-dip", 10, 3, 1, 54400),
        ("22-sglang-hybrid-swa-full-token", 3, 3, 0, 0),
        ("26-sglang-server-args-wrapped-two-ranks", 12, 0, 0, 0),
        ("27-sglang-pd-decode-fields-and-iter-id", 3, 3, 0, 0),
        ("57-nccl-info-env-lines", 7, 0, 0, 0),
        ("58-derived-crlf-bom-sglang", 4, 4, 0, 0),
        ("62-derived-partial-last-line", 6, 5, 1, 28),
        ("64-derived-restart-in-one-file", 19, 7, 2, 13),
        ("0.5.16-baseline-nocudagraph", 85, 29, 5, 2241),
        ("0.5.16-standalone-timer", 422, 141, 91, 27030),
        ("0.5.16-crash-oom", 44, 0, 0, 0),
        ("0.5.16-crash-baddraft", 60, 0, 0, 0),
        ("0.5.16-standalone-scheduler-killed", 48, 17, 1, 32),
    ],
)
def test_log_holds(name: str, lines: int, samples: int, prefills: int, new_tokens: int) -> None:
    blocks = _open(f"{name}.log")
    assert sum(block.lines for block in blocks) == lines
    assert sum(len(block.decode) for block in blocks) == samples
    assert sum(len(block.prefill) for block in blocks) == prefills
    assert sum(sum(block.prefill.new_tokens) for block in blocks) == new_tokens
    assert not any(block.unparsed for block in blocks)


@pytest.mark.parametrize("name", sorted(path.name for path in _LOGS.glob("*.log")))
def test_line_by_line_says_the_same_as_a_whole_file(name: str) -> None:
    data = (_LOGS / name).read_bytes()
    ends = [index + 1 for index, byte in enumerate(data) if byte == 10]
    assert _sum(_read(data, ends)) == _sum(_read(data))


_MIXED = b"".join(
    (_LOGS / name).read_bytes()
    for name in (
        "0.5.16-crash-baddraft.log",
        "26-sglang-server-args-wrapped-two-ranks.log",
        "12-sglang-custom-logger-spec-off-no-cudagraph.log",
        "18-sglang-terminal-clipped-columns.log",
        "64-derived-restart-in-one-file.log",
        "57-nccl-info-env-lines.log",
        "08-cri-k8s-prefix-scheduler-crash.log",
    )
)


@given(st.lists(st.integers(0, len(_MIXED)), max_size=12))
@settings(max_examples=40, deadline=None)
def test_any_cut_says_the_same(cuts: list[int]) -> None:
    assert _sum(_read(_MIXED, cuts)) == _sum(_read(_MIXED))


@given(st.binary(max_size=400), st.integers(0, len(_MIXED)), st.integers(0, 300), st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_damage_never_raises(junk: bytes, position: int, removed: int, cut: int) -> None:
    low = max(position - 600, 0)
    damaged = _MIXED[low:position] + junk + _MIXED[position + removed : position + 900]
    blocks = _read(damaged, [cut])
    assert sum(block.lines for block in blocks) == damaged.count(b"\n")
    assert _sum(blocks) == _sum(_read(damaged))


@given(st.binary(max_size=300))
def test_random_bytes_are_lines_and_nothing_more(data: bytes) -> None:
    blocks = _read(data)
    assert sum(block.lines for block in blocks) == data.count(b"\n")
    assert not any(len(block.decode) or len(block.prefill) for block in blocks)


def test_statistics_of_a_stop_stay_in_order() -> None:
    events = _events(_open("0.5.16-baseline-nocudagraph.log"))
    assert [event.kind for event in events] == [
        "launch", "process_started", "ready", "stop_requested", "stop_requested", "exit", "exit",
    ]  # fmt: skip
    told, child = events[3], events[4]
    assert isinstance(told, StopRequested)
    assert isinstance(child, StopRequested)  # killed by SIGTERM: it was told to end as well
    assert child.detail.endswith("exit code -15")


def test_signal_after_a_bare_traceback_is_the_same_end() -> None:
    log = (
        b"Traceback (most recent call last):\n"
        b'  File "<frozen runpy>", line 198, in _run_module_as_main\n  File "/x/sglang/launch_server.py", line 1\n'
        b"ValueError: no\n[2026-04-30 08:57:02] SIGQUIT received. signum=None, frame=None. It usually means\n"
    )
    assert [event.kind for event in SglangDialect().open().feed(log, 0).events] == ["crash", "exit"]
    stopped = log.replace(b"ValueError: no", b"KeyboardInterrupt")
    assert [event.kind for event in SglangDialect().open().feed(stopped, 0).events] == ["stop_requested", "exit"]


def test_exception_of_a_scheduler_is_one_crash() -> None:
    crashes = [event for event in _events(_open("0.5.16-crash-oom.log")) if isinstance(event, Crashed)]
    assert [crash.detail for crash in crashes] == ["Scheduler hit an exception"]


def test_a_scheduler_that_was_killed_is_a_crash_and_what_follows_is_its_exit() -> None:
    events = _events(_open("0.5.16-standalone-scheduler-killed.log"))
    assert [event.kind for event in events] == ["launch", "graph", "ready", "crash", "exit", "exit"]
    assert [event.detail for event in events if isinstance(event, Crashed)] == [
        "Subprocess scheduler_0 (pid=683) crashed with exit code -9"
    ]


def test_traceback_before_the_launch_line_is_a_crash() -> None:
    (crash,) = _events(_open("0.5.16-crash-baddraft.log"))
    assert isinstance(crash, Crashed)
    assert crash.detail.startswith("OSError: Repo id must be in the form")
    assert crash.at is None


def test_rank_of_a_crash_behind_a_kubernetes_prefix_is_told() -> None:
    (crash,) = _events(_open("08-cri-k8s-prefix-scheduler-crash.log"))
    assert (crash.kind, crash.rank) == ("crash", "TP2")


def test_wrapped_launch_record_goes_on_in_the_next_line() -> None:
    launch, rest, *_ = _events(_open("26-sglang-server-args-wrapped-two-ranks.log"))
    assert isinstance(launch, Launched)
    assert isinstance(rest, LaunchContinued)
    assert (launch.is_complete, rest.is_complete) == (False, False)
    assert launch.flags["port"] == 30001
    assert launch.flags["trust_remote_code"] is False
    assert "log_level_http" not in launch.flags
    assert dict(rest.flags) == {
        "log_level_http": None,
        "log_requests": False,
        "log_requests_level": 0,
        "show_time_cost": False,
        "enable_metrics": False,
    }


def test_launch_record_of_a_genuine_server_is_whole() -> None:
    launch = _events(_open("0.5.16-standalone-timer.log"))[0]
    assert isinstance(launch, Launched)
    assert launch.is_complete
    flags = launch.flags
    assert len(flags) == 442
    assert (flags["speculative_algorithm"], flags["speculative_num_steps"]) == ("STANDALONE", 3)
    assert (flags["mem_fraction_static"], flags["encoder_urls"], flags["context_length"]) == (0.6, [], 4096)
    assert str(flags["cuda_graph_config"]).startswith("CudaGraphConfig(decode=PhaseConfig(")
    assert flags["msprobe_dump_config"] is None


def test_processes_of_a_foreign_logger_are_told_apart() -> None:
    (block,) = _open("12-sglang-custom-logger-spec-off-no-cudagraph.log")
    assert list(block.decode.process) == [147907, 151972, 151972]
    assert block.decode.at[1] - block.decode.at[0] == 111


def test_ray_prefix_tells_the_process() -> None:
    (block,) = _open("05-ray-actor-prefix-comma-format.log")
    assert set(block.decode.process) == {43033}


def test_clipped_columns_are_read_as_far_as_they_can_be() -> None:
    (block,) = _open("18-sglang-terminal-clipped-columns.log")
    decode = block.decode
    assert block.clipped == 6
    assert (decode.running[0], decode.tok_s[0], decode.accept_rate[0]) == (45, 846.38, 0.32)
    assert math.isnan(decode.accept_len[0])
    assert math.isnan(decode.usage[0])
    assert math.isnan(decode.queue[0])


def test_line_without_its_bracket_keeps_time_and_rank() -> None:
    (block,) = _open("22-sglang-hybrid-swa-full-token.log")
    assert [block.ranks[index] for index in block.decode.rank] == ["TP0", "TP0", "TP0"]
    assert block.decode.at[1] - block.decode.at[0] == 1
    assert list(block.decode.usage) == [1.0, 1.0, 1.0]


def test_nccl_integer_loses_its_full_stop() -> None:
    (event,) = _events(_open("57-nccl-info-env-lines.log"))
    assert isinstance(event, EnvironmentSet)
    assert (event.name, event.value, event.process) == ("NCCL_CROSS_NIC", "2", 31402)


def test_exception_behind_a_crash_record_is_told() -> None:
    lines = [
        "[2026-03-01 11:00:00 TP0] Load weight begin. avail mem=138.87 GB",
        "  Warning: a line of somebody else",
        "[2026-03-01 11:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/sglang/srt/managers/scheduler.py", line 1, in run_scheduler_process',
        "    scheduler = Scheduler(",
        "ValueError: no memory is left for the KV cache",
        "",
        "[2026-03-01 11:00:09] Received sigquit from a child process. It usually means the child failed.",
    ]
    text = "".join(f"{line}\n" for line in lines).encode()
    for size in (1, 40, len(text)):
        framer, parser = LineFramer(), SglangDialect().open()
        details: list[str] = []
        for start in range(0, len(text), size):
            if (framed := framer.feed(text[start : start + size], start)) is not None:
                events = parser.feed(framed.data, framed.offset).events
                details += [event.detail for event in events if isinstance(event, CrashExplained)]
        assert details == ["ValueError: no memory is left for the KV cache"]
