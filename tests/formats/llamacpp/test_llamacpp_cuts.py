"""How the lines of a llama.cpp log are cut into blocks never changes what they say, and nothing makes it raise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import Block
from specmon.formats.llamacpp import LlamaCppDialect

_LOGS = Path(__file__).parents[2] / "data" / "llamacpp"
_NAMES = (
    "45-llamacpp-eagle3-new-format.log",
    "46-llamacpp-router-child-prefix-multiline.log",
    "47-llamacpp-two-tasks-tg3s.log",
)
_LINES = [line for name in _NAMES for line in (_LOGS / name).read_bytes().splitlines(keepends=True)]
_LINES += (_LOGS / "llamacpp-b11434-cpu-spec-draft-k4.log").read_bytes().splitlines(keepends=True)[:40]
_WORDS = st.sampled_from(
    [
        *_LINES,
        b"slot print_timing: id  0 | task 1 | ",
        b"       eval time =",
        b"n_accept  = 3\n",
        b"decoded  10 tokens in    0.100 seconds, speed:  100.000 t/s\n",
        b'{"type":"log","time":1,"level":"info","msg":"',
        b"INFO [ x] eval time = | id_slot=1 id_task=2",
        b"9" * 40,
        b"\n",
        b"\r",
        b"(",
    ]
)


def _said(blocks: list[Block]) -> str:
    decode = [
        (d.offset[i], d.at[i], d.running[i], d.tok_s[i], d.accept_len[i], d.tokens[i])
        for d in (block.decode for block in blocks)
        for i in range(len(d))
    ]
    prefill = [(p.offset[i], p.new_tokens[i]) for p in (block.prefill for block in blocks) for i in range(len(p))]
    events = [event for block in blocks for event in block.events]
    counts = [sum(block.recognised for block in blocks), sum(block.lines for block in blocks)]
    unparsed = [offset for block in blocks for offset in block.unparsed]
    return repr((decode, prefill, events, counts, unparsed))  # as text, since NaN equals nothing


def _feed(lines: list[bytes], edges: list[int]) -> str:
    parser, blocks, offset = LlamaCppDialect().open(), [], 0
    for begin, end in zip([0, *edges], [*edges, len(lines)], strict=True):
        text = b"".join(lines[begin:end])
        blocks.append(parser.feed(text, offset))
        offset += len(text)
    return _said([*blocks, parser.finish()])


_WHOLE = _feed(_LINES, [])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, len(_LINES)), max_size=20))
def test_cutting_between_lines_changes_nothing(edges: list[int]) -> None:
    assert _feed(_LINES, sorted(edges)) == _WHOLE


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(_WORDS, st.binary(max_size=40)), max_size=30))
def test_no_mix_of_lines_raises(parts: list[bytes]) -> None:
    lines = b"".join(parts).splitlines(keepends=True)
    lines = b"".join(lines).split(b"\n")
    whole = [line + b"\n" for line in lines]
    assert _feed(whole, []) == _feed(whole, list(range(len(whole))))


@pytest.mark.parametrize(
    "line",
    [b"slot print_timing: id  0 | task 1 | " * 4000, b"eval time =" + b" " * 60_000, b"[1] " * 20_000, b"{" * 60_000],
)
def test_long_lines_are_harmless(line: bytes) -> None:
    assert _rows_of(line) == 0


def _rows_of(line: bytes) -> int:
    parser = LlamaCppDialect().open()
    return len(parser.feed(line + b"\n", 0).decode) + len(parser.finish().decode)
