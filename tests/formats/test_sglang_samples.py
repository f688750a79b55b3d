"""One sample line for each form that SGLang's releases, modes and carriers give a record."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from specmon.events import (
    Block,
    Crashed,
    EnvironmentSet,
    Graph,
    GraphCaptured,
    Launched,
    LogEvent,
    Ready,
    Retracted,
)
from specmon.formats.sglang import SglangDialect

_TABLE = Path(__file__).parents[1] / "data" / "sglang" / "samples.txt"
_SAMPLES = re.findall(r"^(S\d\d) \[(.*)\]\n(.*)\n=> (.*)$", _TABLE.read_text(encoding="utf-8"), re.MULTILINE)


def _read(line: str) -> Block:
    return SglangDialect().open().feed(line.replace("␠", " ").encode() + b"\n", 0)


def _said(expectation: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", expectation.split("(")[0]))


def _rank(said: dict[str, str]) -> set[str]:
    return {f"{tag.upper()}{said[tag]}" for tag in ("dp", "pp", "tp", "ep") if said.get(tag, "None") != "None"}


def _only_event(block: Block) -> LogEvent:
    (event,) = block.events
    return event


def _samples(kind: str) -> list[object]:
    return [
        pytest.param(line, _said(expectation), id=number)
        for number, _, line, expectation in _SAMPLES
        if expectation.split()[0] == kind
    ]


def test_all_forty_samples_are_in_the_table() -> None:
    assert [number for number, *_ in _SAMPLES] == [f"S{index:02}" for index in range(1, 41)]


@pytest.mark.parametrize(("line", "said"), _samples("decode"))
def test_decode_line_is_a_sample(line: str, said: dict[str, str]) -> None:
    block = _read(line)
    decode = block.decode
    assert len(decode) == 1
    assert block.recognised == 1
    assert not block.events
    assert not block.unparsed
    assert set(block.ranks[decode.rank[0]].split()) == _rank(said)
    for name, column in (
        ("running", decode.running),
        ("tput", decode.tok_s),
        ("accept", decode.accept_len),
        ("rate", decode.accept_rate),
        ("token", decode.context_tokens),
        ("usage", decode.usage),
        ("queue", decode.queue),
    ):
        if (expected := said.get(name)) == "None":
            assert math.isnan(column[0]), name
        elif expected is not None:
            assert column[0] == float(expected), name
    graph = {"True": Graph.TRUE, "False": Graph.FALSE, "None": Graph.UNKNOWN}
    if "graph" in said:
        assert decode.graph[0] == graph[said["graph"]]
    if "ms" in said:
        assert decode.at[0] % 1 == pytest.approx(int(said["ms"]) / 1000, abs=1e-6)


@pytest.mark.parametrize(("line", "said"), _samples("prefill"))
def test_prefill_line_is_a_prefill_batch(line: str, said: dict[str, str]) -> None:
    block = _read(line)
    prefill = block.prefill
    assert (len(prefill), len(block.decode), len(block.unparsed)) == (1, 0, 0)
    assert prefill.new_tokens[0] == float(said["newtok"])
    assert set(block.ranks[prefill.rank[0]].split()) == _rank(said)
    for name, column in (("cached", prefill.cached_tokens), ("running", prefill.running), ("queue", prefill.queue)):
        if name in said:
            assert column[0] == float(said[name]), name


@pytest.mark.parametrize(("line", "said"), _samples("server_args"))
def test_launch_line_gives_its_flags(line: str, said: dict[str, str]) -> None:
    event = _only_event(_read(line))
    assert isinstance(event, Launched)
    assert event.is_complete
    names = {
        "model": "model_path",
        "algo": "speculative_algorithm",
        "steps": "speculative_num_steps",
        "topk": "speculative_eagle_topk",
        "draft_tokens": "speculative_num_draft_tokens",
        "interval": "decode_log_interval",
    }
    assert {name: str(event.flags[names.get(name, name)]) for name in said} == said


def test_ready_line_is_ready() -> None:
    (sample,) = _samples("ready")
    assert isinstance(_only_event(_read(sample.values[0])), Ready)  # type: ignore[attr-defined]  # ParameterSet


@pytest.mark.parametrize(("line", "said"), _samples("crash"))
def test_failure_is_a_crash(line: str, said: dict[str, str]) -> None:
    event = _only_event(_read(line))
    assert isinstance(event, Crashed)
    assert event.cause == said.get("kind", "exception")
    assert event.exit_code == (int(said["code"]) if "code" in said else None)
    assert set(event.rank.split()) == _rank(said)


@pytest.mark.parametrize(("line", "said"), _samples("retract"))
def test_retraction_counts_its_requests(line: str, said: dict[str, str]) -> None:
    event = _only_event(_read(line))
    assert isinstance(event, Retracted)
    assert (event.rank, event.requests) == ("TP0", int(said["n"]))


@pytest.mark.parametrize(("line", "said"), [*_samples("graph_end"), *_samples("graph_begin")])
def test_capture_line_is_a_graph(line: str, said: dict[str, str]) -> None:
    event = _only_event(_read(line))
    assert isinstance(event, GraphCaptured)
    assert event.is_end is (" end." in line)
    assert event.stage == ("verify" if "verify" in line else "")
    assert set(event.rank.split()) == _rank(said)


@pytest.mark.parametrize(("line", "said"), _samples("access"))
def test_answered_request_is_counted(line: str, said: dict[str, str]) -> None:
    assert said == {"status": "200"}
    answers = _read(line).answers
    assert answers.count == 1
    assert answers.last_at is not None


@pytest.mark.parametrize(("line", "said"), _samples("nccl_env"))
def test_nccl_line_proves_a_variable(line: str, said: dict[str, str]) -> None:
    event = _only_event(_read(line))
    assert isinstance(event, EnvironmentSet)
    assert {event.name: event.value} == said


@pytest.mark.parametrize(("line", "said"), _samples("other"))
def test_text_of_a_user_is_no_statistics_line(line: str, said: dict[str, str]) -> None:
    block = _read(line)
    assert (len(block.decode), len(block.unparsed), len(block.events)) == (0, 0, 0)
