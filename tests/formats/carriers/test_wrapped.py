"""Statistics lines that a screen has broken: whatever its width, the figures are those of the whole lines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any  # what JSON holds

import pytest

from specmon.monitor.session import Session
from specmon.monitor.summarise import Input, summarise
from specmon.reports import to_json
from specmon.sources.events import Chunk, Connected

_STAMP = "2026-04-05 10:00:"
_SGLANG = [
    f"[{_STAMP}{2 * i:02d} TP0] Decode batch, #running-req: 4, #token: 1000, token usage: 0.02, accept len: 2.00, "
    f"accept rate: 0.50, cuda graph: True, gen throughput (token/s): {160 + i}.00, #queue-req: 3"
    for i in range(6)
]
_VLLM = [
    line
    for i in range(6)
    for line in (
        f"(APIServer pid=7) INFO 04-05 10:00:{10 * i:02d} [loggers.py:271] Engine 000: Avg prompt throughput: 0.5 "
        f"tokens/s, Avg generation throughput: {40 + i}.0 tokens/s, Running: 12 reqs, Waiting: 2 reqs, GPU KV cache "
        "usage: 1.0%, Prefix cache hit rate: 0.0%",
        f"(APIServer pid=7) INFO 04-05 10:00:{10 * i:02d} [metrics.py:120] SpecDecoding metrics: Mean acceptance "
        "length: 2.00, Accepted throughput: 20.00 tokens/s, Drafted throughput: 60.00 tokens/s, Accepted: 200 tokens, "
        "Drafted: 600 tokens, Per-position acceptance rate: 0.600, 0.300, 0.100, Avg Draft acceptance rate: 33.3%",
    )
]


def _decode_of(text: str) -> Any:
    session = summarise([Input("x", io.BytesIO(text.encode()))])
    (server,) = json.loads(to_json(session))["servers"]
    return server["role"], server["lines"]["unparsed"], [run["decode"] for run in server["runs"]]


def _broken(lines: list[str], columns: int) -> str:
    pieces = (line[at : at + columns].rstrip() for line in lines for at in range(0, len(line), columns))
    return "".join(f"{piece}\n" for piece in pieces)


@pytest.mark.parametrize("lines", [_SGLANG, _VLLM], ids=["sglang", "vllm"])
@pytest.mark.parametrize("columns", [72, 80, 90, 97, 100, 101, 107, 120, 132, 138, 144, 148, 160, 163, 178, 190])
def test_lines_broken_by_a_screen_read_like_whole_ones(lines: list[str], columns: int) -> None:
    assert _decode_of(_broken(lines, columns)) == _decode_of("".join(f"{line}\n" for line in lines))


def test_a_traceback_behind_a_cut_line_is_no_rest_of_it() -> None:
    cut = "\n".join([*_SGLANG[:3], _SGLANG[3][:90], "Traceback (most recent call last):", '  File "/x.py", line 1'])
    role, unparsed, (run,) = _decode_of(cut + "\n")
    assert (role, unparsed, run["samples"]) == ("speculative", 1, 3)


def test_short_lines_behind_a_broken_one_are_read_in_linear_time() -> None:
    text = (_SGLANG[0][:90] + "\n" + "1, \n" * 5000) * 4
    summarise([Input("x", io.BytesIO(text.encode()))])


@pytest.mark.parametrize("name", ["hard-tail-two-files.log", "hard-powershell-utf16.log", "hard-grep-two-files.log"])
@pytest.mark.parametrize("size", [1, 2, 7, 61, 1000])
def test_cuts_do_not_matter_below_these_carriers(name: str, size: int) -> None:
    data = (Path(__file__).parents[2] / "cases" / "logs" / name).read_bytes()
    session = Session(mode="replay")
    session.add("0:x", "x")
    session.feed("0:x", Connected(0.0, 0))
    size = max(size, 2) if "utf16" in name else size
    for at in range(0, len(data), size):
        session.feed("0:x", Chunk(0.0, at, data[at : at + size]))
    session.finish()
    assert to_json(session) == to_json(summarise([Input("x", io.BytesIO(data))]))
