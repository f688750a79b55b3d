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


@pytest.mark.parametrize("path", _LOGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [150_000, 300_000])
def test_whole_genuine_logs_say_the_same_on_arrays_however_they_are_cut(path: Path, size: int) -> None:
    # With launch records, progress bars, warnings and tracebacks; blocks end anywhere between lines.
    lines = path.read_bytes().splitlines(keepends=True) * 8
    quick, plain = SglangDialect().open(), SglangDialect().open()
    assert isinstance(quick, Skimming)
    start = sorted_bytes = 0
    block: list[bytes] = []
    for number, line in enumerate(lines):
        block.append(line)
        if len(block) * 150 > size or number == len(lines) - 1:
            text = b"".join(block)
            skimmed = quick.skim(text)
            said = quick.feed(text, start) if skimmed is None else quick.feed_skimmed(skimmed, text, start)
            assert _said(said) == _said(plain.feed(text, start))
            sorted_bytes += 0 if skimmed is None else len(text) - len(skimmed.rest)
            start += len(text)
            block.clear()
    assert sorted_bytes > start / 10


_USAGE = "#token: 4096, token usage: 0.21"
_BODIES = {
    "occupancy": "Decode batch, #running-req: 2, {usage}, cuda graph: True, gen throughput (token/s): 91.{n:02d}, "
    "#queue-req: 0, fwd occupancy: 97.{n:02d}%",
    "no occupancy": "Decode batch, #running-req: 2, {usage}, cuda graph: True, gen throughput (token/s): 91.{n:02d}, "
    "#queue-req: 0, fwd occupancy: nan%",
    "two pools": "Decode batch, #running-req: 2, #full token: 40{n:02d}, full token usage: 0.{n:02d}, "
    "#swa token: 20{n:02d}, swa token usage: 0.50, gen throughput (token/s): 91.20, #queue-req: {n}",
    "old pools": "Decode batch. #running-req: 2, #token: full=12{n:02d}, swa=45, token usage: full=0.{n:02d}, "
    "swa=0.05, gen throughput (token/s): 150.{n:02d}, #queue-req: 0",
    "retraction": "Decode batch, #running-req: 2, {usage}, accept len: 2.{n:02d}, accept rate: 0.50, "
    "pre-allocated usage: 0.05, #prealloc-req: 1, #transfer-req: {n}, #retracted-req: 0, cuda graph: True, "
    "gen throughput (token/s): 702.15, #queue-req: 0",
    "unknown names": "Decode batch, #running-req: 2, {usage}, cuda graph: True, gen throughput (token/s): 91.{n:02d}, "
    "#queue-req: 0, est. decode TFLOPS/s (per GPU): 0.{n:02d}, est. read BW (GB/s per GPU): 812.30",
    "forward count": "Decode batch [{n:04d}], #running-req: 2, {usage}, gen throughput (token/s): 91.50, "
    "#queue-req: 0, ",
    "prefill of pools": "Prefill batch, #new-seq: 1, #new-token: 2{n:02d}, #cached-token: 0, "
    "full token usage: 0.{n:02d}, swa token usage: 0.30, #running-req: 0, #queue-req: 0",
    "exponents": "Decode batch, #running-req: 2, {usage}, gen throughput (token/s): 1.{n:02d}e+02, #queue-req: 0",
    "fractions of requests": "Decode batch, #running-req: 2.{n:02d}, {usage}, gen throughput (token/s): 91.5, "
    "#queue-req: 0",
    "cut columns": "Decode batch, #running-req: 2, #token: 40{n:02d}, token usaccept rate: 0.{n:02d}, "
    "gen throughput (token/s): 91.5, #queue-req: 0",
    "two records": "Decode batch, #running-req: 2, {usage}, gen throughput (token/s): 91."
    "[2026-02-26 16:40:{n:02d} TP1] Decode batch, #running-req: 3, {usage}, gen throughput (token/s): 80.{n:02d}, "
    "#queue-req: 0",
}


@pytest.mark.parametrize("stamp", ["", ".{n:03d}", ",{n:03d}"], ids=["seconds", "milliseconds", "comma"])
@pytest.mark.parametrize("name", _BODIES)
def test_each_layout_says_the_same_on_arrays(name: str, stamp: str) -> None:
    lines = [
        f"[2026-02-26 16:40:{n % 60:02d}{stamp.format(n=n)} DP{n % 3} TP0] "
        f"{_BODIES[name].format(n=n % 60, usage=_USAGE)}"
        for n in range(999)
    ]
    noise = f"[2026-02-26 16:41:00{stamp.format(n=7)}] Finish: obj=GenerateReqInput(rid='0', text='please explain')"
    block = "".join(f"{line}\n{noise}\n" for line in lines).encode()
    quick, plain = SglangDialect().open(), SglangDialect().open()
    assert isinstance(quick, Skimming)
    skimmed = quick.skim(block)
    if skimmed is not None:
        assert _said(quick.feed_skimmed(skimmed, block, 7)) == _said(plain.feed(block, 7))
    is_learnt = skimmed is not None and len(skimmed.decode) + len(skimmed.prefill) > 900
    assert is_learnt is (name not in ("exponents", "fractions of requests", "cut columns", "two records"))


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
