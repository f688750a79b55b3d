"""One sample line for each form that vLLM's releases and modes give a record."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from specmon.events import Block, Drafted, Retracted
from specmon.formats.vllm import VllmDialect

_TABLE = Path(__file__).parents[2] / "data" / "vllm" / "lines.txt"
_LINES = re.findall(r"^(V\d\d) \[.*\]\n(.*)\n=> (.*)$", _TABLE.read_text(encoding="utf-8"), re.MULTILINE)


def _read(*lines: str) -> tuple[Block, Block]:
    parser = VllmDialect().open()
    data = "".join(line.replace("␛", "\x1b") + "\n" for line in lines).encode()
    return parser.feed(data, 0), parser.finish()


def _lines(kind: str) -> list[object]:
    return [
        pytest.param(line, dict(re.findall(r"(\w+)=(\S*)", said)), id=number)
        for number, line, said in _LINES
        if said.split()[0] == kind
    ]


def _same(found: float, expected: str) -> bool:
    wanted = float(expected)
    return math.isnan(found) if math.isnan(wanted) else math.isclose(found, wanted, rel_tol=5e-4, abs_tol=1e-9)


def test_table_is_read_whole() -> None:
    assert len(_LINES) == _TABLE.read_text(encoding="utf-8").count("\n=> ")


@pytest.mark.parametrize(("line", "said"), _lines("engine"))
def test_engine_line_is_a_sample(line: str, said: dict[str, str]) -> None:
    fed, finished = _read(line)
    # Where nothing speaks against speculation the line waits for its draft line, at most to the end.
    (block,) = [block for block in (fed, finished) if len(block.decode)]
    decode = block.decode
    assert len(decode) == 1
    assert fed.recognised == 1
    assert not fed.unparsed
    assert fed.clipped == int(said.get("clipped", "0"))
    for name, column in (
        ("running", decode.running),
        ("tok_s", decode.tok_s),
        ("prompt", decode.prompt_tok_s),
        ("queue", decode.queue),
        ("usage", decode.usage),
        ("process", decode.process),
        ("at", decode.at),
        ("window", decode.window_s),
    ):
        if name in said:
            assert _same(column[0], said[name]), name
    if "rank" in said:
        assert block.ranks[decode.rank[0]] == said["rank"].replace("_", " ")
    retractions = [event.requests for event in block.events if isinstance(event, Retracted)]
    assert retractions == ([int(said["preemptions"])] if "preemptions" in said else [])


@pytest.mark.parametrize(("line", "said"), _lines("draft"))
def test_draft_line_alone_gives_its_counts(line: str, said: dict[str, str]) -> None:
    fed, _ = _read(line)
    (event,) = fed.events
    assert isinstance(event, Drafted)
    assert not len(fed.decode)
    for name, value in (
        ("accept", event.accept_len),
        ("rounds", event.rounds),
        ("proposed", event.proposed),
        ("accepted", event.accepted),
    ):
        assert _same(value, said[name]), name
    assert len(event.by_position) == int(said["positions"])
    assert event.rank == said.get("rank", "").replace("_", " ")


@pytest.mark.parametrize(("line", "said"), _lines("step"))
def test_iteration_line_is_a_step_and_no_sample(line: str, said: dict[str, str]) -> None:
    fed, finished = _read(line)
    assert not len(fed.decode) + len(finished.decode)
    assert len(fed.steps) == 1
    assert fed.steps.running[0] == int(said["running"])
    assert fed.steps.decode_ms[0] == float(said["ms"])
    assert fed.ranks[fed.steps.rank[0]] == said["rank"].replace("_", " ")


@pytest.mark.parametrize(("line", "kind"), [(line, said.split()[1]) for _, line, said in _LINES if "event " in said])
def test_rare_line_is_an_event(line: str, kind: str) -> None:
    fed, finished = _read(line)
    assert [event.kind for event in fed.events] == [kind]
    assert not len(fed.decode) + len(finished.decode)


@pytest.mark.parametrize("line", [line for _, line, said in _LINES if said == "unparsed"])
def test_line_that_lacks_a_figure_is_counted_as_unparsed(line: str) -> None:
    fed, finished = _read(line)
    assert list(fed.unparsed) == [0]
    assert not len(fed.decode) + len(finished.decode)


@pytest.mark.parametrize("line", [line for _, line, said in _LINES if said == "nothing"])
def test_other_line_says_nothing(line: str) -> None:
    fed, finished = _read(line)
    assert not fed.events
    assert not fed.unparsed
    assert not len(fed.decode) + len(fed.steps) + len(finished.decode)


@pytest.mark.parametrize("line", [line for _, line, said in _LINES if said.split()[0] in ("engine", "draft")])
def test_pending_line_is_no_half_figure(line: str) -> None:
    for cut in range(0, len(line), 7):
        parser = VllmDialect().open()
        data = line[:cut].encode()
        blocks = [parser.feed(data, 0), parser.finish()]
        for block in blocks:
            assert not block.unparsed
            assert all(f"{value:.1f} tokens" in line for value in block.decode.tok_s)
            assert all(f"Running: {value} reqs" in line for value in block.decode.running)
