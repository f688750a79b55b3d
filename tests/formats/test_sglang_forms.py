"""Forms of a line that decide whether it is a sample, is unparsed, or is nothing at all."""

from __future__ import annotations

import math

import pytest

from specmon.events import Block, Crashed, Exited, GraphCaptured, Launched, StopRequested
from specmon.formats.sglang import SglangDialect

_FIELDS = "#running-req: 1, #token: 9, token usage: 0.01, gen throughput (token/s): 89.02, #queue-req: 0"
_STAMP = "[2026-04-30 08:57:02 TP0] "


def _read(*lines: str, end: str = "\n") -> Block:
    return SglangDialect().open().feed(("\n".join(lines) + end).encode(), 0)


@pytest.mark.parametrize(
    "line",
    [
        "Decode batch, #running-req: 1, gen throughput (token/s): 89.02, #queue-req: 0",
        "Decode batch, #running-req: 1, gen throughput (token/s): 89.02",
        "Decode batch, #running-req: 1, gen throughput (token/s): 89.02 ",
        "Decode batch, #running-req: 1, gen throughput (token/s): 89.02, #queue",
        "Decode batch, gen throughput (token/s): 89.02, #queue-req: 0, #running-req: 1",
        "Decode batch, #running-req: 1, new field: x, gen throughput (token/s): 89.02, #queue-req: 0",
        "Decode batch. #running-req: 1, #token: full=12, swa=4, token usage: full=0.1, swa=0.0, "
        "gen throughput (token/s): 89.02, #queue-req: 0",
        "Decode batch, #running-req: 1, cuda graph: True, gen throughput (token/s): 89.02, #queue-req: 0\x1b[0m",
    ],
)
def test_running_and_throughput_make_a_sample(line: str) -> None:
    block = _read(_STAMP + line)
    assert list(block.decode.tok_s) == [89.02]
    assert list(block.decode.running) == [1]
    assert not block.unparsed


@pytest.mark.parametrize(
    "line",
    [
        "Decode batch, #running-req: 1, #token: 4096, token usage: 0.00, cuda graph: True",
        "Decode batch, #token: 4096, gen throughput (token/s): 89.02, #queue-req: 0",
        "Decode batch, #running-req: 1, gen throughput (token/s): 89.0[2026-04-30 08:57:02] x",
        "Decode batch, #run",
        "Decode batch,",
        "Prefill batch, #new-seq: 1, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0",
        "Prefill batch, #new-seq: 1, #new-tok",
    ],
)
def test_statistics_line_without_its_figures_is_unparsed(line: str) -> None:
    block = _read("noise", _STAMP + line)
    assert list(block.unparsed) == [6]
    assert (len(block.decode), len(block.prefill)) == (0, 0)


def test_nan_is_neither_a_sample_nor_unparsed() -> None:
    block = _read(_STAMP + "Decode batch, #running-req: 1, gen throughput (token/s): nan, #queue-req: 0")
    assert (len(block.decode), len(block.unparsed), block.recognised) == (0, 0, 1)


def test_nan_of_an_optional_field_is_missing() -> None:
    block = _read(
        _STAMP + "Decode batch, #running-req: 1, accept len: nan, gen throughput (token/s): 5.00, #queue-req: 0"
    )
    assert math.isnan(block.decode.accept_len[0])


@pytest.mark.parametrize(
    ("line", "samples"),
    [
        ("Decode batch, #running-req: 1, gen throughput (token/s): 89.02, #queue-req: 0", 1),
        ("Decode batch, #running-req: 1, gen throughput (token/s): 89.02", 0),
        ("Decode batch, #running-req: 1, gen thr", 0),
    ],
)
def test_pending_last_line_counts_only_when_its_figure_is_whole(line: str, samples: int) -> None:
    block = _read(_STAMP + line, end="")
    assert (len(block.decode), len(block.unparsed), block.lines) == (samples, 0, 0)


def test_bracket_with_its_time_further_in_is_read() -> None:
    block = _read(*["[2020-abcdefgh 2026-04-30 08:57:02] Decode batch, " + _FIELDS] * 2)
    assert list(block.decode.at) == [1777539422.0] * 2


def test_launch_record_cut_inside_a_text_takes_no_other_line() -> None:
    block = _read(
        _STAMP + "server_args=ServerArgs(model_path='m', chat_template='{% if",
        "node-0:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL",
    )
    assert [event.kind for event in block.events] == ["launch", "environment"]


def test_usage_is_that_of_the_fuller_pool() -> None:
    pools = "#full token: 9, full token usage: 0.10, #swa token: 9, swa token usage: 0.99"
    block = _read(_STAMP + f"Decode batch, #running-req: 1, {pools}, gen throughput (token/s): 5.00, #queue-req: 4")
    assert list(block.decode.usage) == [0.99]


def test_coloured_level_hides_no_start_and_no_end() -> None:
    level = "\x1b[32mINFO\x1b[0m:     "
    block = _read(
        "[2026-04-30 08:57:02] " + level + "Started server process [\x1b[36m177326\x1b[0m]",
        "[2026-04-30 08:57:03] " + level + 'a:1 - "\x1b[1mGET /health HTTP/1.1\x1b[0m" \x1b[32m200 OK\x1b[0m',
        "[2026-04-30 08:57:04] " + level + "Shutting down",
        "[2026-04-30 08:57:05 TP0] \x1b[33mDecode batch, #running-req: 1, gen throughput (token/s): 9.00\x1b[0m",
    )
    assert [event.kind for event in block.events] == ["process_started", "exit"]
    assert list(block.decode.tok_s) == [9.0]


@pytest.mark.parametrize(
    ("first", "running", "unparsed"),
    [
        ("Decode batch, #running-req: 7, #token: 4", [3], 1),
        ("Decode batch, #running-req: 7, gen throughput (token/s): 50.0", [3], 1),
        ("Decode batch, #running-req: 7, gen throughput (token/s): 50.00, #queue-req: 0", [7, 3], 0),
    ],
)
def test_record_written_into_another_takes_nothing_from_it(first: str, running: list[int], unparsed: int) -> None:
    second = "[2026-04-30 08:57:02 TP1] Decode batch, #running-req: 3, gen throughput (token/s): 80.00, #queue-req: 0"
    block = _read(_STAMP + first + second)
    assert (list(block.decode.running), len(block.unparsed)) == (running, unparsed)
    assert block.decode.tok_s[-1] == 80.0
    assert block.ranks[block.decode.rank[-1]] == "TP1"


def test_records_that_lost_their_line_ends_are_read_in_linear_time() -> None:
    record = _STAMP + "Decode batch, #running-req: 1, gen throughput (token/s): 80.00, #queue-req: 0"
    assert len(_read(record * 8000).decode) == 8000


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-04-30 08:57:02] ",
        "[2026-04-30 08:57:02] [INFO] ",
        "[2026-04-30 08:57:02] INFO: ",
        "[2026-04-30 08:57:02] INFO - ",
        "[2026-04-30 08:57:02,000] [INFO] [scheduler.py:12] ",
        "[2026-04-30 08:57:02,000][sglang.srt.managers.scheduler][INFO] - ",
        "\x1b[32m[2026-04-30 08:57:02] [INFO]\x1b[0m ",
        "    [2026-04-30 08:57:02 TP0] ",
        "(SchedulerActor pid=123, ip=10.0.0.1) [2026-04-30 08:57:02 TP0] ",
        "\x1b[36m(SGLangEngine pid=43033)\x1b[0m [2026-04-30 08:57:02 TP0] ",
        "2026-06-24T17:38:02.436246479+02:00 stderr F [2026-04-30 08:57:02 TP0] ",
        "sglang-1  | [2026-04-30 08:57:02 TP0] ",
        "Apr 05 20:02:51 host python3[123]: [2026-04-30 08:57:02 TP0] ",
        "2026-04-30 08:57:02,531 - __main__ - INFO - [2026-04-30 08:57:02 TP0] ",
        "2026-04-30 08:57:02,000 - sglang.srt.managers.scheduler - INFO - ",
        "2026-04-30 08:57:02 INFO 151972 [metrics_reporter.py:287] ",
        "2026-04-30 08:57:02 TP0] ",
        "  0%|          | 0/23 [00:00<?, ?it/s][2026-04-30 08:57:02 TP0] ",
        "  0%|   | 0/23 [00:00<?, ?it/s]\r 10%|█  | 2/23 [00:00<?, ?it/s]\r[2026-04-30 08:57:02 TP0] ",
        '{"levelname": "INFO", "asctime": "2026-04-30 08:57:02", "message": "',
    ],
)
def test_body_is_found_behind_a_prefix(prefix: str) -> None:
    body = "Decode batch, #running-req: 1, #token: 9, token usage: 0.01, gen throughput (token/s): 89.02, #queue-req: 0"
    block = _read(prefix + body + ('"}' if prefix.startswith("{") else ""))
    assert list(block.decode.tok_s) == [89.02]
    assert list(block.decode.queue) == [0]
    assert list(block.decode.at) == [1777539422.0]


@pytest.mark.parametrize(
    "line",
    [
        _STAMP + "Receive: obj=GenerateReqInput(text='[2026-04-30 08:57:02 TP0] Decode batch, #running-req: 9, x')",
        _STAMP + '{"event": "request.finished", "text": "[2026-04-30 08:57:02] Decode batch, #running-req: 9, x: 1"}',
        '{"rid": "a", "message": "Decode batch, #running-req: 9, gen throughput (token/s): 1.00, #queue-req: 0"}',
        "2026-04-30 08:57:02 INFO 1 [a.py:2] Receive: obj=Req(text='[2026-04-30 08:57:02] Decode batch, #running')",
        "I asked about Decode batch and got Prefill batch as an answer",
        "    print('Decode batch, #running-req: 9, gen throughput (token/s): 1.00, #queue-req: 0')",
        _STAMP + "Finish: obj=GenerateReqInput(text='The server is fired up and ready to roll!')",
        _STAMP + "Note: server_args=ServerArgs(model_path='x')",
        _STAMP + "[INFO] asked: Decode batch, #running-req: 9, gen throughput (token/s): 1.00, #queue-req: 0",
        _STAMP + "INFO: 'Decode batch, #running-req: 9, gen throughput (token/s): 1.00, #queue-req: 0'",
        '[2026-04-30 08:57:02] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK',
        '[2026-04-30 08:57:02] INFO:     127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error',
        '[2026-04-30 08:57:02] INFO:     127.0.0.1:1 - "POST /flush_cache HTTP/1.1" 200 OK',
        "[2026-04-30 08:57:02] Cache not flushed because there are pending requests. #queue-req: 0, #running-req: 1",
    ],
)
def test_text_and_other_records_are_not_misread(line: str) -> None:
    block = _read(line)
    assert (len(block.decode), len(block.prefill), len(block.unparsed)) == (0, 0, 0)
    assert block.events == ()
    assert block.answers.count == 0


@pytest.mark.parametrize(
    ("line", "stage", "is_end"),
    [
        ("Capture cuda graph begin. This can take up to several minutes. avail mem=17.90 GB", "", False),
        ("Capture npu graph end. Time elapsed: 35.12 s.", "", True),
        ("Capture draft cuda graph begin. avail mem=1.00 GB", "draft", False),
        ("Capture draft extend cuda graph end. Time elapsed: 1.0 s", "draft_extend", True),
        ("Capture piecewise CUDA graph begin. avail mem=17.90 GB", "prefill", False),
        ("Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1", "decode", False),
        ("Capture target verify CUDA graph end. bs=[1, 2, 4], elapsed=12.34 s", "verify", True),
        ("Capture draft decode CUDA graph begin. backend=full", "draft", False),
        ("Capture draft extend CUDA graph end. bs=[1]", "draft_extend", True),
        ("Capture target prefill CUDA graph begin. backend=full, num_tokens=[4]", "prefill", False),
    ],
)
def test_graph_stage_is_named(line: str, stage: str, is_end: bool) -> None:
    (event,) = _read(_STAMP + line).events
    assert isinstance(event, GraphCaptured)
    assert (event.stage, event.is_end) == (stage, is_end)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("SIGTERM received. signum=15 frame=None. Draining requests and shutting down...", StopRequested),
        ("Gracefully exiting... remaining number of requests 3", StopRequested),
        ("INFO:     Shutting down", Exited),
        ("INFO:     Finished server process [12]", Exited),
        ("DetokenizerManager hit an exception: Traceback (most recent call last):", Crashed),
        ("Watchdog timeout (self.watchdog_timeout=300)", Crashed),
        ("Rank 0 scheduler is dead. Please check if there are relevant logs.", Crashed),
        ("Scheduler or DataParallelController 1234 terminated with -9", Crashed),
        ("Received sigquit from a child process. It usually means the child failed.", Crashed),
        ("Initialization failed. warmup error: x", Crashed),
    ],
)
def test_end_of_a_server_is_told(line: str, kind: type) -> None:
    (event,) = _read(_STAMP + line).events
    assert type(event) is kind
    assert event.at == 1777539422.0


def test_usage_error_is_a_crash() -> None:
    block = _read(
        "usage: launch_server.py [-h] --model-path", "launch_server.py: error: unrecognized arguments: --nope"
    )
    (event,) = block.events
    assert isinstance(event, Crashed)
    assert block.recognised == 2


def test_traceback_of_a_request_is_no_crash() -> None:
    block = _read(
        "[2026-04-30 08:57:02] ERROR:    Exception in ASGI application",
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3/site-packages/uvicorn/protocols/http/h11_impl.py", line 403, in run_asgi',
        '  File "/usr/lib/python3/site-packages/sglang/srt/entrypoints/http_server.py", line 1, in generate',
        "ValueError: bad request",
    )
    assert block.events == ()


@pytest.mark.parametrize(
    ("record", "flags"),
    [
        ("ServerArgs(a='x, y=1', b=2)", {"a": "x, y=1", "b": 2}),
        ("ServerArgs(a=[1, (2, 3)], b={'k': None})", {"a": [1, [2, 3]], "b": {"k": None}}),
        (r"ServerArgs(a='it\'s', b=1e-3, c=-1)", {"a": "it's", "b": 0.001, "c": -1}),
        ('ServerArgs(a="it\'s (open", b=True)', {"a": "it's (open", "b": True}),
        ("ServerArgs(a=Config(x=1, y=[2]), b=1e999)", {"a": "Config(x=1, y=[2])", "b": "1e999"}),
        ("{'a': {'b': 1}, \"c\": 'd: e'}", {"a": {"b": 1}, "c": "d: e"}),
        ("ServerArgs(model_path='/m', api_key='k', hf_token='t')", {"model_path": "/m"}),
        ('ServerArgs(a=1, json_model_override_args=\'{"api_key": "x"}\')', {"a": 1}),
        ("ServerArgs()", {}),
    ],
)
def test_launch_values_are_python_literals(record: str, flags: dict[str, object]) -> None:
    (event,) = _read(f"[2026-03-01 10:00:00] server_args={record}").events
    assert isinstance(event, Launched)
    assert event.is_complete
    assert dict(event.flags) == flags


@pytest.mark.parametrize(
    ("record", "flags"),
    [
        ("ServerArgs(a='x', tp_size=1", {"a": "x"}),
        ("ServerArgs(a='x', b=False", {"a": "x", "b": False}),
        ("ServerArgs(a='x', b='half", {"a": "x"}),
        ("ServerArgs(a='x', b=[1, 2", {"a": "x"}),
        ("{'a': 1, 'b': ", {"a": 1}),
    ],
)
def test_cut_launch_record_claims_no_half_value(record: str, flags: dict[str, object]) -> None:
    (event,) = _read(f"[2026-03-01 10:00:00] server_args={record}").events
    assert isinstance(event, Launched)
    assert not event.is_complete
    assert dict(event.flags) == flags


def test_long_line_is_read_in_linear_time() -> None:
    nasty = ("[" * 50_000, "server_args=ServerArgs(" + "a=(" * 30_000, "'" * 50_000, "\\'" * 50_000, "\r[2" * 30_000)
    for text in nasty:
        _read(_STAMP + "server_args=ServerArgs(a='" + text, text, _STAMP + "Decode batch, #" + text)
