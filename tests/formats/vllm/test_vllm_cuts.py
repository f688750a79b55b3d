"""How a stream is cut into blocks never changes what vLLM's parser says in all, and no input makes it fail."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import Block
from specmon.formats.vllm import VllmDialect

_DATA = Path(__file__).parents[2] / "data" / "vllm"
_LINES = [
    line.replace("␛", "\x1b").encode()
    for line in re.findall(r"^V\d\d \[.*\]\n(.*)\n=> ", (_DATA / "lines.txt").read_text(encoding="utf-8"), re.MULTILINE)
]
_LOGS = sorted(path.name for path in _DATA.glob("*.log"))
_PIECES = [
    *_LINES,
    b"Traceback (most recent call last):",
    b'  File "/opt/bin/vllm", line 8, in <module>',
    b"    main()",
]
_PIECES += [
    b'  File "/opt/vllm/serve.py", line 1, in main',
    b"ValueError: no",
    b"bar: 10%\rbar: 100%",
    b"",
    b"\x00\xff{",
]


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _said(blocks: Iterable[Block]) -> dict[str, object]:
    """All that blocks say together; ranks by name, because their numbers are a matter of the parser."""
    samples, steps, events = [], [], []
    lines = recognised = clipped = answers = 0
    unparsed: list[int] = []
    for block in blocks:
        decode = block.decode
        for i in range(len(decode)):
            row = [block.ranks[decode.rank[i]], decode.by_position[i], decode.process[i]]
            row.append(_plain(decode.window_s[i]))
            for column in (decode.offset, decode.at, decode.running, decode.tok_s, decode.prompt_tok_s, decode.queue):
                row.append(_plain(column[i]))
            for column in (decode.usage, decode.accept_len, decode.drafts, decode.drafted, decode.accepted):
                row.append(_plain(column[i]))
            samples.append(row)
        for i in range(len(block.steps)):
            step = block.steps
            steps.append((block.ranks[step.rank[i]], step.offset[i], _plain(step.at[i]), step.running[i]))
        events += [repr(event) for event in block.events]
        lines += block.lines
        recognised += block.recognised
        clipped += block.clipped
        answers += block.answers.count
        unparsed += block.unparsed
    return {
        "samples": samples,
        "steps": steps,
        "events": events,
        "counts": (lines, recognised, clipped, answers),
        "unparsed": unparsed,
    }


def _read(data: bytes, cuts: Iterable[int] = ()) -> dict[str, object]:
    parser = VllmDialect().open()
    blocks = []
    for start, end in itertools.pairwise([0, *sorted({*cuts} - {0, len(data)}), len(data)]):
        blocks.append(parser.feed(data[start:end], start))
    return _said([*blocks, parser.finish()])


def _ends(data: bytes) -> list[int]:
    return [match.end() for match in re.finditer(b"\n", data)]


@pytest.mark.parametrize("name", _LOGS)
def test_genuine_log_line_by_line_says_the_same(name: str) -> None:
    data = (_DATA / name).read_bytes()
    assert _read(data, _ends(data)) == _read(data)


@pytest.mark.parametrize("name", _LOGS)
def test_foreign_prefix_changes_no_figure(name: str) -> None:
    """Behind a prefix every line takes the careful way, which must say what the quick one says."""
    data = (_DATA / name).read_bytes()
    samples = _read(data)["samples"]
    carried = _read(re.sub(rb"^(?=[(I])", b"web-1  | ", data, flags=re.MULTILINE))["samples"]
    assert isinstance(samples, list)
    assert isinstance(carried, list)
    assert [row[:4] + row[5:] for row in carried] == [row[:4] + row[5:] for row in samples]  # all but offsets


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_any_mix_of_lines_says_the_same_however_it_is_cut(pieces: list[bytes], places: list[int]) -> None:
    data = b"".join(piece + b"\n" for piece in pieces)
    ends = _ends(data)
    assert _read(data, [ends[place] for place in places if place < len(ends)]) == _read(data)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_PIECES), st.integers(0, 400), st.binary(max_size=8)), max_size=12))
def test_no_torn_or_spoiled_line_raises(parts: list[tuple[bytes, int, bytes]]) -> None:
    data = b"".join(piece[:cut] + noise + piece[cut + len(noise) :] + b"\n" for piece, cut, noise in parts)
    ends = _ends(data)
    assert _read(data, ends) == _read(data)


@pytest.mark.parametrize(
    "line",
    [
        b"Engine 000: " * 20_000,
        b"SpecDecoding metrics: " * 10_000,
        b"(" * 200_000,
        "█ ".encode() * 60_000,
        "█ ".encode() * 60_000 + b"version 0.32.0",
        b"INFO 11-30 15:41:36 [" * 10_000,
        b"non-default args: {" + b"'a': [" * 30_000,
        b"Initializing a V1 LLM engine (v1) with config: " + b"model=A(" * 20_000,
        b"\x1b[0m" * 50_000,
        b"usage: vllm " * 20_000,
        b"Avg prompt throughput: 1.0 tokens/s, " * 6_000,
        b"{" * 100_000 + b"Running: 1",
        b"a\rRunning: 1 reqs\r" * 12_000,
        b"vllm: error: " * 20_000,
    ],
    ids=lambda line: line[:24].decode("utf-8", "replace"),
)
def test_one_long_line_is_read_in_one_go(line: bytes) -> None:
    assert _read(line + b"\n")["counts"] is not None
