"""Long blocks of SGLang's lines are sorted on arrays; what is said of them is what the patterns say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specmon.events import Block
from specmon.formats import Skimming
from specmon.formats.sglang import SglangDialect
from specmon.formats.sglang.skim import may_be_read

_TABLE = Path(__file__).parents[1] / "data" / "sglang" / "samples.txt"
_SAMPLES = re.findall(r"^S\d\d \[.*\]\n(.*)\n=> ", _TABLE.read_text(encoding="utf-8"), re.MULTILINE)
_LOGS = sorted((Path(__file__).parents[1] / "cases" / "logs").glob("sglang*.log"))
_USUAL = re.compile(rb"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[ \]]")


def _said(block: Block) -> tuple[object, ...]:
    columns = [
        [getattr(each, name).tolist() for name in each.__slots__ if len(getattr(each, name))]
        for each in (block.decode, block.prefill)
    ]
    counts = (block.start, block.end, block.lines, block.recognised, block.clock, block.ranks, block.clipped)
    return repr(columns), counts, block.events, block.answers, block.unparsed.tolist()


@pytest.mark.parametrize("path", _LOGS, ids=lambda path: path.stem)
def test_usual_lines_of_genuine_logs_say_the_same_on_arrays(path: Path) -> None:
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if _USUAL.match(line)]
    # As a long one, which is what arrays are for; launch records are for the patterns.
    block = b"".join(line for line in lines if b"server_args=" not in line) * 20
    quick, plain = SglangDialect().open(), SglangDialect().open()
    assert isinstance(quick, Skimming)
    skimmed = quick.skim(block)
    assert skimmed is not None
    assert skimmed.rest.count(b"\n") < block.count(b"\n") / 2
    assert _said(quick.feed_skimmed(skimmed, block, 1000)) == _said(plain.feed(block, 1000))


@pytest.mark.parametrize("line", _SAMPLES)
def test_no_line_that_the_parser_reads_is_left_out_by_its_beginning(line: str) -> None:
    raw = line.replace("␠", " ").encode()
    head = re.match(rb"\[20.{17}(?: [A-Z_]{2,12}\d{1,6}){0,8}\] ", raw)
    block = SglangDialect().open().feed(raw + b"\n", 0)
    if head is not None and (block.events or len(block.decode) or len(block.prefill) or block.unparsed):
        assert may_be_read(raw[head.end() :][:8])


@pytest.mark.parametrize(
    "body", ["Detokenizer watchdog timeout (self.", "Scheduler hit an exception: x", "SIGTERM received", "WARNING: x"]
)
def test_words_that_may_begin_an_event_are_looked_at(body: str) -> None:
    assert may_be_read(body.encode()[:8])


def test_a_request_record_is_not_looked_at() -> None:
    assert not may_be_read(b"Finish: ")
