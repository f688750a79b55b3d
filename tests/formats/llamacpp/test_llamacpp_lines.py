"""The forms that llama.cpp's builds give their lines, and what each of them means."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from specmon.events import (
    AcceptanceUntold,
    Block,
    Clock,
    Crashed,
    DraftsTimed,
    EnvironmentSet,
    Exited,
    LaunchContinued,
    Launched,
    LogEvent,
    Progressed,
    Ready,
    WentIdle,
)
from specmon.formats.llamacpp import LlamaCppDialect

_LOGS = Path(__file__).parents[2] / "data" / "llamacpp"

_NEW = "0.06.563.693 I slot print_timing: id  3 | task 1 | "
_EVAL = "       eval time =     200.00 ms /   100 tokens (    2.00 ms per token,   495.00 tokens per second)"


def _read(*lines: str, end: str = "\n") -> tuple[Block, Block]:
    parser = LlamaCppDialect().open()
    return parser.feed(("\n".join(lines) + end).encode(), 0), parser.finish()


def _only_event(line: str) -> LogEvent:
    block, _ = _read(line)
    (event,) = block.events
    assert block.recognised == 1
    return event


def _rows(*blocks: Block) -> list[tuple[float, ...]]:
    return [
        (
            d.running[i],
            d.tok_s[i],
            d.accept_len[i],
            d.window_s[i],
            d.tokens[i],
            d.drafts[i],
            d.drafted[i],
            d.accepted[i],
        )
        for d in (block.decode for block in blocks)
        for i in range(len(d))
    ]


@pytest.mark.parametrize(
    ("lines", "accepted", "proposed"),
    [
        (
            [_NEW + _EVAL, _NEW + "draft acceptance = 0.46 (   55 accepted /   119 generated), mean len =  2.38"],
            55,
            119,
        ),
        (
            [
                _NEW + _EVAL,
                _NEW + "      total time =    2674.73 ms /   276 tokens",
                _NEW + "   graphs reused =         85",
                _NEW + "draft acceptance = 0.64479 (   67 accepted /    90 generated), mean acceptance length =  2.92, "
                "acceptance rate per position = (0.805, 0.632, 0.483)",
            ],
            67,
            90,
        ),
        (
            [
                "slot print_timing: id  0 | task 689 | ",
                "prompt eval time =     873.21 ms /    30 tokens (   29.11 ms per token,    34.36 tokens per second)",
                _EVAL,
                "      total time =   14767.28 ms /   222 tokens",
                "slot print_timing: id  0 | task 689 | ",
                "draft acceptance rate = 0.81944 (  58 accepted /   144 generated)",
            ],
            58,
            144,
        ),
        (
            [
                "[53409] 15.48.313.649 I slot print_timing: id  0 | task 689 | ",
                "[53409] " + _EVAL,
                "[53409] draft acceptance rate = 0.81944 (  58 accepted /   144 generated)",
            ],
            58,
            144,
        ),
        (
            [
                '{"type":"log","time":5334055,"level":"info","msg":"slot print_timing: id  3 | task 0 | '
                + _EVAL
                + '\\n"}',
                '{"type":"log","time":5334122,"level":"info","msg":"slot print_timing: id  3 | task 0 | draft accept'
                'ance = 0.22871 (   94 accepted /   411 generated), mean len =  1.90\\n"}',
            ],
            94,
            411,
        ),
        (
            [
                "decoded  100 tokens in    0.200 seconds, speed:  495.000 t/s",
                "",
                "n_draft   = 16",
                "n_predict = 100",
                "n_drafted = 90",
                "n_accept  = 60",
                "accept    = 66.667%",
            ],
            60,
            90,
        ),
    ],
    ids=["mean len", "mean acceptance length", "header lines", "router child", "jsonl", "offline tool"],
)
def test_request_with_drafts_is_one_sample(lines: list[str], accepted: int, proposed: int) -> None:
    rounds = 100 - accepted
    assert _rows(*_read(*lines)) == [(1, 495.0, 100 / rounds, 0.2, 100.0, rounds, proposed, accepted)]


@pytest.mark.parametrize(
    "lines",
    [
        [_NEW + _EVAL],
        ["\x1b[32m" + _NEW + _EVAL + "\x1b[0m"],
        [_NEW + _EVAL + "\r"],
        ["slot print_timing: id  0 | task 5 | ", _EVAL],
        [
            "INFO [           print_timings] generation eval time =     200.00 ms /   100 runs   (    2.00 ms per "
            'token,   495.00 tokens per second) | tid="1" timestamp=1712345678 id_slot=0 id_task=5 n_decoded=100'
        ],
        [
            '{"tid":"1","timestamp":1712345678,"level":"INFO","function":"print_timings","line":313,"msg":"generation '
            'eval time =     200.00 ms /   100 runs   (    2.00 ms per token,   495.00 tokens per second)",'
            '"id_slot":0,"id_task":5}'
        ],
    ],
    ids=["new", "colours", "crlf", "header", "key=value", "json"],
)
def test_request_without_drafts_says_nothing_of_acceptance(lines: list[str]) -> None:
    (row,) = _rows(*_read(*lines))
    assert row[:2] == (1, 495.0)
    assert row[3:5] == (0.2, 100.0)
    assert math.isnan(row[2])
    assert math.isnan(row[5])


@pytest.mark.parametrize(
    "line",
    [
        _NEW + "prompt eval time =     309.11 ms /    20 tokens (   15.46 ms per token,    64.70 tokens per second)",
        _NEW + "      total time =    2674.73 ms /   276 tokens",
        _NEW + "n_gen =    100, tg =  18.67 t/s, tg_3s =  18.85 t/s",
        _NEW + "       eval time =       0.00 ms /     1 tokens (    0.00 ms per token,      inf tokens per second)",
        "llama_perf_context_print:        eval time =     200.00 ms /   100 runs   (    2.00 ms per token,   495.00 "
        "tokens per second)",
        'the user wrote "' + _NEW + _EVAL + '"',
    ],
    ids=["prompt", "total", "progress", "one token", "another tool", "prose"],
)
def test_other_times_are_no_samples(line: str) -> None:
    blocks = _read(line)
    assert _rows(*blocks) == []
    assert not any(block.unparsed for block in blocks)


def test_cut_timing_is_unparsed_but_not_while_it_is_pending() -> None:
    cut = _NEW + "       eval time =     200.00 ms /   100 tok"
    block, _ = _read("noise", cut)
    assert list(block.unparsed) == [6]
    assert not _read(cut, end="")[0].unparsed


def test_sample_waits_for_its_draft_line_until_the_stream_ends() -> None:
    whole, rest = _read(_NEW + _EVAL)
    assert (len(whole.decode), len(rest.decode)) == (0, 1)


def test_prompt_is_a_prefill_of_its_computed_tokens() -> None:
    block, _ = _read(
        _NEW + "prompt eval time =     309.11 ms /    20 tokens (   15.46 ms per token,    64.70 tokens per second)"
    )
    assert list(block.prefill.new_tokens) == [20.0]


def test_uptime_is_the_only_clock() -> None:
    block, rest = _read("75.06.563.693 I slot print_timing: id  3 | task 1 | " + _EVAL)
    assert block.clock is Clock.UPTIME
    assert list(rest.decode.at) == [pytest.approx(75 * 60 + 6.563693)]


def test_slots_that_decode_together_are_counted_for_most_of_the_time() -> None:
    lines = ["0.01.000.000 I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0"]
    lines += ["0.01.010.000 I slot launch_slot_: id  1 | task 2 | processing task, is_child = 0"]
    lines += ["0.01.150.000 I slot print_timing: id  1 | task 2 | " + _EVAL.replace("200.00 ms /", "100.00 ms /")]
    lines += ["0.01.150.100 I slot      release: id  1 | task 2 | stop processing: n_tokens = 9, truncated = 0"]
    lines += ["0.01.600.000 I slot print_timing: id  0 | task 1 | " + _EVAL.replace("200.00 ms /", "590.00 ms /")]
    lines += ["0.01.600.100 I slot      release: id  0 | task 1 | stop processing: n_tokens = 9, truncated = 0"]
    lines += ["0.01.900.000 I slot print_timing: id  3 | task 7 | " + _EVAL]  # its launch is not in view
    assert [row[0] for row in _rows(*_read(*lines))] == [2, 1, 1]


def test_slots_are_counted_without_a_clock_too() -> None:
    lines = [f"slot launch_slot_: id  {slot} | task {slot} | processing task" for slot in range(3)]
    lines += ["slot print_timing: id  2 | task 2 | ", _EVAL]
    assert [row[0] for row in _rows(*_read(*lines))] == [3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "0.05.334.197 I spec common_specu: statistics     draft-simple: #calls(b,g,a) =    1    104    105, "
            "#gen drafts =    104, #acc drafts =    35, #gen tokens =    411, #acc tokens =    94, "
            "#mean acc len = 1.90, #acc rate/pos = (0.337, 0.202, 0.183, 0.183), dur(b,g,a) = 0.040, 198.373, 0.072 ms",
            ("draft-simple", 1, 104, 105, 198.373),
        ),
        (
            "[53409] 15.48.313.677 I statistics ngram-mod: #calls(b,g,a) = 10 730 3, #gen drafts = 3, #acc drafts = 3, "
            "#gen tokens = 192, #acc tokens = 43, dur(b,g,a) = 0.315, 1.847, 1.068 ms",
            ("ngram-mod", 10, 730, 3, 1.847),
        ),
    ],
)
def test_counters_of_a_drafter(line: str, expected: tuple[str, int, int, int, float]) -> None:
    event = _only_event(line)
    assert isinstance(event, DraftsTimed)
    assert (event.drafter, event.requests, event.draft_calls, event.accept_calls, event.draft_ms) == expected


@pytest.mark.parametrize(
    ("body", "tokens", "tok_s"),
    [
        ("n_gen =    100, tg =  18.67 t/s, tg_3s =  18.85 t/s", 100, 18.85),
        ("n_decoded =    140, tg =  14.06 t/s", 140, 14.06),
        ("n_decoded =   1081, tg =  13.47 t/s, tg_3s =  13.09 t/s", 1081, 13.09),
    ],
)
def test_progress_of_an_unfinished_request(body: str, tokens: int, tok_s: float) -> None:
    event = _only_event(_NEW + body)
    assert isinstance(event, Progressed)
    assert (event.tokens, event.tok_s) == (tokens, tok_s)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("0.00.004.794 I srv  llama_server: initializing ...", Launched),
        ("build: 5719 (f07690c9) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu", Launched),
        ("srv    load_model: loading model '/models/a.gguf'", Launched),
        ("0.00.085.832 I common_speculative_init_result: loading draft model '/models/b.gguf'", LaunchContinued),
        ("0.00.436.503 I spec common_specu: - n_max=4, n_min=0, p_min=0.000000", LaunchContinued),
        ("0.01.000.000 I srv  update_slots: all slots are idle", WentIdle),
        ("1.23.525.800 I srv    operator(): operator(): cleaning up before exit...", Exited),
        ("0.00.020.277 E srv    load_model: failed to load model, '/models/nope.gguf'", Crashed),
        ("0.00.020.870 E srv  llama_server: exiting due to model loading error", Crashed),
        ('error while handling argument "--draft-max": the argument has been removed.', Crashed),
        ("/src/ggml/src/ggml-cuda/ggml-cuda.cu:90: CUDA error: out of memory", Crashed),
        ("/src/ggml/src/ggml.c:3021: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed", Crashed),
    ],
)
def test_rare_line(line: str, kind: type[LogEvent]) -> None:
    assert type(_only_event(line)) is kind


@pytest.mark.parametrize(
    "line",
    [
        "0.00.118.116 I srv  llama_server: listening on http://127.0.0.1:8201",
        "main: server is listening on http://127.0.0.1:8201 - starting the main loop",
    ],
)
def test_ready_line_tells_the_address(line: str) -> None:
    block, _ = _read(line)
    facts, ready = block.events
    assert isinstance(facts, LaunchContinued)
    assert isinstance(ready, Ready)
    assert dict(facts.flags) == {"host": "127.0.0.1", "port": 8201}


def test_launch_of_a_verbose_server() -> None:
    block, _ = _read(*(_LOGS / "llamacpp-b11434-cpu-spec-draft-k4-lv4.log").read_text().splitlines())
    told = [event for event in block.events if isinstance(event, Launched | LaunchContinued)]
    assert [type(event) for event in told].count(Launched) == 1
    flags = {name: value for event in told for name, value in event.flags.items()}
    assert flags == {
        "build": "0 (unknown)",
        "model": "/models/tiny-llama-4l-f16.gguf",
        "model_draft": "/models/tiny-llama-4l-noisy-draft-f16.gguf",
        "n_slots": 4,
        "n_ctx_slot": 1024,
        "kv_unified": "false",
        "spec_type": "draft-simple",
        "n_max": 4,
        "n_min": 0,
        "p_min": 0.0,
        "host": "127.0.0.1",
        "port": 8203,
    }


def test_build_that_never_prints_acceptance_is_told_once() -> None:
    old = (
        "INFO [           print_timings] generation eval time =     200.00 ms /   100 runs   (    2.00 ms per token,   "
        '495.00 tokens per second) | tid="1" timestamp=1712345678 id_slot=0 id_task=5'
    )
    block, _ = _read("build: 4719 (f07690c9) with cc for x86_64-linux-gnu", old, old)
    assert [type(event) for event in block.events] == [Launched, AcceptanceUntold]


def test_second_start_is_another_launch() -> None:
    log = (_LOGS / "llamacpp-b11434-cpu-spec-draft-k4.log").read_text()
    block, _ = _read(log + log[:-1])
    assert [type(event) for event in block.events].count(Launched) == 2


def test_waking_up_is_no_launch() -> None:
    start = "0.00.004.794 I srv  llama_server: initializing ..."
    load = "0.00.013.153 I srv    load_model: loading model '/models/a.gguf'"
    block, _ = _read(start, load, _NEW + _EVAL, load)
    assert [type(event) for event in block.events] == [Launched, LaunchContinued, LaunchContinued]


def test_nccl_line_proves_the_environment() -> None:
    block, _ = _read("n1:31402:31467 [0] NCCL INFO NCCL_PROTO set by environment to LL")
    (event,) = block.events
    assert isinstance(event, EnvironmentSet)
    assert (event.name, event.value, event.process, block.recognised) == ("NCCL_PROTO", "LL", 31402, 0)


def test_answers_are_counted() -> None:
    block, _ = _read("0.09.000.000 I srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 200")
    assert (block.answers.count, block.answers.last_at) == (1, 9.0)
