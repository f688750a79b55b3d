"""A log gives the same figures however it was carried: every carrier around a real start and its decode lines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from specmon.formats.carriers.unwrap import COLOUR_SCAN, PLAIN_SCAN, Unwrapper
from specmon.monitor.summarise import Input, summarise
from specmon.reports import to_json

from .wrappers import WRAPS

_DATA = Path(__file__).resolve().parents[2] / "data"
_LOGS = {
    "a start and its decode lines": _DATA / "sglang" / "15-sglang-startup-then-first-decode.log",
    "a launch record broken over lines": _DATA / "sglang" / "26-sglang-server-args-wrapped-two-ranks.log",
    "a crash with its traceback": _DATA / "sglang" / "0.5.16-crash-oom.log",
    "two lives": _DATA / "sglang" / "64-derived-restart-in-one-file.log",
}

# What these put before or behind a break gets into the middle of the key that is broken there.
_CHANGE_BREAKS = ("bullets", "indented with blank lines", "CRLF and BOM")


def server_of(text: str) -> dict[str, Any]:
    """The only server of a log, as the JSON document has it."""
    document = json.loads(to_json(summarise([Input("x.log", io.BytesIO(text.encode()))])))
    (server,) = document["servers"]
    assert isinstance(server, dict)
    return server


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_bytes().decode().split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("wrap", "log"),
    [(wrap, log) for wrap in WRAPS for log in _LOGS if "broken" not in log or wrap not in _CHANGE_BREAKS],
)
def test_carried_log_gives_the_figures_of_the_bare_one(wrap: str, log: str) -> None:
    lines = lines_of(_LOGS[log])
    bare, carried = server_of("".join(f"{line}\n" for line in lines)), server_of(WRAPS[wrap](lines))
    for key in ("stream", "role", "engine", "runs", "notices"):
        assert carried[key] == bare[key], key
    assert carried["lines"]["samples"] == bare["lines"]["samples"]
    assert carried["lines"]["unparsed"] == bare["lines"]["unparsed"]
    assert carried["lines"]["total"] == WRAPS[wrap](lines).count("\n")


@pytest.mark.parametrize(
    ("line", "text", "names"),
    [
        (b"spec-1      | [2026-01-01 10:00:00] x", b"[2026-01-01 10:00:00] x", ("spec-1",)),
        (b"spec-1  |", b"", ("spec-1",)),
        (b"[pod/spec-0/server] x", b"x", ("spec-0", "spec-0/server")),
        (b"Apr 05 20:02:51 gpu01 python3[123]: x", b"x", ("python3", "python3[123]", "gpu01 python3[123]")),
        (b"(SGLangEngine pid=43033, ip=10.0.0.1) x", b"x", ("SGLangEngine", "SGLangEngine pid=43033",
                                                          "SGLangEngine pid=43033 ip=10.0.0.1")),
        (b"3: x", b"x", ("3",)),
        (b"[2026-01-01 10:00:00] [INFO] Decode batch", b"[2026-01-01 10:00:00] Decode batch", ()),
        (b"[2026-01-01 10:00:00 TP0] [sglang] [INFO] Decode batch", b"[2026-01-01 10:00:00 TP0] Decode batch", ()),
    ],
)  # fmt: skip
def test_carrier_is_taken_off_and_its_label_kept(line: bytes, text: bytes, names: tuple[str, ...]) -> None:
    envelope = Unwrapper().open(line)
    assert envelope.text == text
    assert (envelope.label.names if envelope.label else ()) == names
    assert PLAIN_SCAN.search(b"\n" + line)
    assert COLOUR_SCAN.search(b"\n\x1b[36m" + line)


@pytest.mark.parametrize(
    "line",
    [
        b"[2026-01-01 10:00:00 TP0] Decode batch. #running-req: 1, ",
        b"(APIServer pid=10267) INFO 11-30 15:41:36 [metrics.py:120] SpecDecoding metrics: ",
        b"(EngineCore_DP0 pid=1) INFO 11-30 15:41:36 [core.py:1] x",
        b"0.06.563.693 I slot print_timing: id  3 | task 1 | eval time = 1 ms",
        b"slot print_timing: id  0 | task 1 | ",
        b"[04/30/2025-09:56:49] [TRT-LLM] [I] iter = 198, global_rank = 0",
        b'{"type":"log","time":5334002,"level":"info","msg":"slot print_timing"}',
        b'{"asctime": "2026-11-30 15:51:32,798", "message": "Engine 000: "}',
        b"  File \"/x/scheduler.py\", line 2769, in run_scheduler_process",
        b"100%|####| 23/23 [00:09<00:00,  2.45it/s]",
        b"  0%|          | 0/23 [00:00<?, ?it/s]",
        b"2025-12-16 21:40:42 INFO 147907 [scheduler_metrics_mixin.py:287] Decode batch. ",
        b"INFO:     127.0.0.1:40052 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        b"gpu-node-1:31402:31467 [0] NCCL INFO NCCL_CROSS_NIC set by environment to 2.",
        b"",
    ],
)  # fmt: skip
def test_line_of_an_engine_is_no_carriers(line: bytes) -> None:
    assert Unwrapper().open(line).text == line
    assert not PLAIN_SCAN.search(b"\n" + line)


def test_child_of_a_router_is_told_by_its_port_which_stays_for_the_dialect() -> None:
    line = b"[53409] 15.44.253.775 I slot print_timing: id  0 | task 689 | n_decoded = 140"
    envelope = Unwrapper().open(line)
    assert envelope.text == line
    assert envelope.label is not None
    assert envelope.label.names == ("53409",)


def test_hidden_line_of_the_journal_is_told_with_its_mend() -> None:
    lines = lines_of(_LOGS["two lives"])
    hidden = "Jun 24 15:38:02 gpu01 python3[4711]: [1.3K blob data]\n"
    server = server_of(WRAPS["journalctl"](lines) + hidden)
    (notice,) = [notice for notice in server["notices"] if notice["kind"] == "blob_data"]
    assert "journalctl -a" in notice["text"]
    exported = WRAPS["journalctl json"](lines) + '{"__REALTIME_TIMESTAMP":"1","_PID":"4711","MESSAGE":null}\n'
    assert "blob_data" in {notice["kind"] for notice in server_of(exported)["notices"]}


@pytest.mark.parametrize(
    "piece",
    [
        b"(" * 400, b"- " * 400, b"> " * 400, b"a" * 400 + b" ", b"a-" * 300 + b" |", b"2026-01-01T10:00:00Z " * 40,
        b'{"log":"' * 60, b"[pod/" + b"a/" * 200, b"(A pid=1) " * 60, b"0: " * 200, b"\x1b[36m" * 100,
        b"[2026-01-01 10:00:00 " + b"TP0 " * 100, b"\\" * 400, b"[" * 2000, b"spec-1 | " * 100,
    ],
)  # fmt: skip
def test_repetition_of_a_carriers_signs_is_read_in_linear_time(piece: bytes) -> None:
    data = (piece * (100_000 // len(piece)) + b"\n") * 2 + (piece + b"\n") * (50_000 // len(piece))
    summarise([Input("x", io.BytesIO(data))])
