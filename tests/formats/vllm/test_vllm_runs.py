"""What vLLM's logs come to, from bytes to the document: lives, ranks, windows, states."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from specmon.monitor.session import Session
from specmon.monitor.summarise import Input, summarise
from specmon.reports import to_json
from specmon.sources.events import Chunk

Document = dict[str, Any]  # JSON, looked into by hand


def _server(*lines: str) -> Document:
    data = "".join(line + "\n" for line in lines).encode()
    document = json.loads(to_json(summarise([Input("vllm.log", io.BytesIO(data))])))
    (server,) = document["servers"]
    found: Document = server
    return found


def _run(*lines: str) -> Document:
    (run,) = _server(*lines)["runs"]
    found: Document = run
    return found


def _kinds(server: Document) -> set[str]:
    return {notice["kind"] for notice in server["notices"]}


def _clock(second: float) -> str:
    minutes, seconds = divmod(int(second), 60)
    return f"03-04 {10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


def _engine(
    second: float,
    tok_s: float = 100.0,
    *,
    running: int = 1,
    prompt: float = 0.0,
    number: int = 0,
    who: str = "APIServer pid=7",
    clock: str = "",
    extra: str = "",
    waiting: int = 0,
    usage: float = 1.0,
) -> str:
    return (
        f"({who}) INFO {clock or _clock(second)} [loggers.py:271] Engine {number:03}: "
        f"Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {tok_s:.1f} tokens/s, "
        f"Running: {running} reqs, Waiting: {waiting} reqs, {extra}GPU KV cache usage: {usage:.1f}%, "
        "Prefix cache hit rate: 0.0%"
    )


def _drafts(second: float, accepted: int = 300, proposed: int = 600, *, who: str = "APIServer pid=7") -> str:
    rounds = proposed // 3
    return (
        f"({who}) INFO {_clock(second)} [metrics.py:101] SpecDecoding metrics: "
        f"Mean acceptance length: {1 + accepted / rounds:.2f}, Accepted throughput: 1.00 tokens/s, "
        f"Drafted throughput: 2.00 tokens/s, Accepted: {accepted} tokens, Drafted: {proposed} tokens, "
        "Per-position acceptance rate: 0.800, 0.500, 0.200, Avg Draft acceptance rate: 50.0%"
    )


def _idle(second: float, number: int = 0, who: str = "APIServer pid=7") -> str:
    return _engine(second, 0.0, running=0, number=number, who=who)


def _banner(second: float, who: str = "APIServer pid=7") -> str:
    return f"({who}) INFO {_clock(second)} [api_utils.py:347]  ▄▄ █ ▀▄▀ █  version 0.20.2"


def _arguments(second: float, who: str = "APIServer pid=7", **flags: object) -> str:
    given = {"model_tag": "m", "model": "/models/m", **flags}
    return f"({who}) INFO {_clock(second)} [utils.py:233] non-default args: {given!r}"


def _config(second: float, who: str = "EngineCore pid=8", speculation: str = "None") -> str:
    return (
        f"({who}) INFO {_clock(second)} [core.py:93] Initializing a V1 LLM engine (v0.20.2) with config: "
        f"model='/models/m', speculative_config={speculation}, tokenizer='/models/m', max_seq_len=8192, "
        "tensor_parallel_size=4, pipeline_parallel_size=1, data_parallel_size=2, quantization=fp8"
    )


READY = ("INFO:     Started server process [7]", "INFO:     Application startup complete.")
DRAFTER = "SpeculativeConfig(method='eagle3', model='/models/head', num_spec_tokens=3)"


# -- windows ------------------------------------------------------------------------------------------


def test_ticks_of_five_seconds_weigh_as_such() -> None:
    run = _run(*(_engine(5 * step, 100.0 + step) for step in range(5)), _engine(60, 50.0), _engine(65, 50.0))
    decode = run["decode"]
    assert decode["excluded"]["after_idle"] == 1
    assert decode["delivered_tok_s"] == pytest.approx((101 + 102 + 103 + 104 + 50) / 5)


def test_idle_time_is_told_by_the_usual_gap() -> None:
    lines = [_engine(10 * step) for step in range(4)]
    assert _run(*lines, _engine(60))["decode"]["excluded"]["after_idle"] == 0  # 29 s, less than 3 x 10
    assert _run(*lines, _engine(62))["decode"]["excluded"]["after_idle"] == 1


def test_window_of_a_long_prompt_counts_as_delivered_and_not_as_decoding() -> None:
    decode = _run(_engine(0), _engine(10), _engine(20, 0.0), _engine(30, 50.0, prompt=900.0), _engine(40))["decode"]
    assert decode["excluded"]["after_prefill"] == 2
    assert decode["clean"] == 2
    assert decode["delivered_tok_s"] == pytest.approx((100 + 0 + 50 + 100) / 4)


def test_window_of_v0_is_the_time_since_the_line_before() -> None:
    def line(clock: str, tok_s: float) -> str:
        return (
            f"INFO 08-02 {clock} metrics.py:295] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: "
            f"{tok_s} tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 0.8%, "
            "CPU KV cache usage: 0.0%."
        )

    run = _run(line("04:00:00", 90.0), line("04:00:05", 100.0), line("04:00:10", 100.0), line("04:00:20", 40.0))
    assert run["decode"]["delivered_tok_s"] == pytest.approx((5 * 100 + 5 * 100 + 10 * 40) / 20)
    assert run["ranks"] == []


def test_stamps_without_a_year_go_on_over_new_year() -> None:
    clocks = ("12-31 23:59:40", "12-31 23:59:50", "01-01 00:00:00", "01-01 00:00:10")
    server = _server(*(_engine(0, clock=clock) for clock in clocks))
    assert len(server["runs"]) == 1
    assert server["runs"][0]["decode"]["clean"] == 3
    assert "clock_backwards" not in _kinds(server)


def test_preempted_requests_spoil_their_own_window() -> None:
    run = _run(_engine(0), _engine(10), _engine(20, extra="Preemptions: 2, "), _engine(30))
    assert run["decode"]["excluded"]["retraction"] == 1
    assert [event["kind"] for event in run["events"]] == ["retraction"]


def test_some_prompt_leaves_a_window_clean_and_is_told() -> None:
    server = _server(*(_engine(10 * step, prompt=30.0) for step in range(4)))
    assert server["runs"][0]["decode"]["clean"] == 3
    assert "prefill_heavy" in _kinds(server)
    assert "prefill_heavy" not in _kinds(_server(*(_engine(10 * step, prompt=3.0) for step in range(4))))


# -- drafts -------------------------------------------------------------------------------------------


def test_accept_length_is_pooled_by_rounds_and_cycles_follow() -> None:
    lines = [_engine(0), _drafts(0), _engine(10), _drafts(10, 100, 300), _engine(20), _drafts(20, 600, 900)]
    run = _run(*lines)
    (level,) = run["decode"]["levels"]
    assert run["decode"]["accept_len"] == pytest.approx(1 + 1000 / 600)
    assert run["decode"]["drafts"] == 600
    assert level["accept_len"] == pytest.approx(1 + 700 / 400)
    assert level["acceptance_rate"] == pytest.approx(1000 / 1800)
    assert level["accept_by_position"] == [0.8, 0.5, 0.2]
    assert level["cycle_ms"] == pytest.approx(1000 * (2 + 3) / 2 / 100)


def test_window_without_a_draft_line_has_no_accept_length() -> None:
    lines = [_engine(0), _drafts(0), _engine(10), _engine(20), _drafts(20)]
    decode = _run(*lines)["decode"]
    assert decode["samples"] == 3
    assert decode["drafts"] == 400
    assert decode["accept_len"] == pytest.approx(2.5)


def test_k_is_read_off_the_positions() -> None:
    launch = _run(_engine(0), _drafts(0))["launch"]
    assert launch["num_steps"] == 3
    assert launch["num_draft_tokens"] == 4


# -- engines and API servers --------------------------------------------------------------------------


def test_draft_line_belongs_to_the_engine_line_in_front_of_it() -> None:
    lines: list[str] = []
    for step in range(3):
        at = 10.0 * step
        lines += [_engine(at), _drafts(at, 300, 600), _engine(at, 60.0, number=1), _drafts(at, 0, 600)]
    run = _run(*lines)
    assert run["ranks"] == ["Engine 000", "Engine 001"]
    (level,) = run["decode"]["levels"]
    assert level["tok_s"]["median"] == pytest.approx(160.0)
    assert run["decode"]["last_tok_s"] == pytest.approx(160.0)
    assert run["decode"]["accept_len"] == pytest.approx(1.75)


def test_three_api_servers_that_tick_apart_are_one_run() -> None:
    lines = [
        _engine(10 * step + 3 * number, 50.0, number=number, who=f"ApiServer_{number} pid={100 + number}")
        for step in range(4)
        for number in range(3)
    ]
    run = _run(*lines)
    assert run["decode"]["delivered_tok_s"] == pytest.approx(150.0)
    assert run["decode"]["clean"] == 9


def test_server_is_idle_when_all_of_its_engines_are() -> None:
    busy = [_engine(0), _engine(0, number=1), _engine(10), _engine(10, number=1)]
    assert _run(*busy, _engine(20), _idle(20, 1))["state"] == "serving"
    assert _run(*busy, _idle(20), _idle(20, 1))["state"] == "idle"
    assert _run(*busy, _idle(20), _idle(20, 1), _engine(30))["state"] == "serving"


def test_engine_that_the_numbers_imply_is_missed() -> None:
    server = _server(_engine(0, number=1), _engine(10, number=1))
    (notice,) = [notice for notice in server["notices"] if notice["kind"] == "ranks_missing"]
    assert "Engine 000" in notice["text"]
    assert "ranks_missing" not in _kinds(_server(_idle(0), _engine(0, number=1), _engine(10, number=1)))


# -- lives --------------------------------------------------------------------------------------------


def test_records_of_one_launch_are_one_run_and_the_arguments_win() -> None:
    launch = (
        _banner(0),
        _arguments(0, speculative_config={"model": "/models/head", "num_speculative_tokens": 3}, api_key=["s3cret"]),
        _config(20, "EngineCore_DP0 pid=8", DRAFTER),
        _config(20, "EngineCore_DP1 pid=9", DRAFTER),
    )
    run = _run(*launch, *READY, _engine(40), _drafts(40))
    found = run["launch"]
    assert found["engine_version"] == "0.20.2"
    assert (found["tp_size"], found["dp_size"], found["pp_size"]) == (4, 2, 1)
    assert found["speculative_algorithm"] == "eagle3"
    assert found["draft_model"] == "/models/head"
    assert (found["num_steps"], found["num_draft_tokens"]) == (3, 4)
    assert "api_key" not in found["flags"]
    assert "s3cret" not in json.dumps(run)
    assert [event["kind"] for event in run["events"]] == ["launch", "ready"]


def test_speculation_as_typed_on_the_command_line_is_read() -> None:
    typed = '{"method": "eagle3", "model": "/models/head", "num_speculative_tokens": 2}'
    server = _server(_banner(0), _arguments(0, speculative_config=typed), *READY)
    assert server["role"] == "speculative"
    found = server["runs"][0]["launch"]
    assert (found["speculative_algorithm"], found["num_steps"], found["num_draft_tokens"]) == ("eagle3", 2, 3)


def test_container_that_starts_again_with_the_same_pid_is_another_run() -> None:
    one = (_banner(0, "APIServer pid=1"), _arguments(0, "APIServer pid=1"), *READY)
    server = _server(*one, _engine(20, who="APIServer pid=1"), *one, _engine(60, who="APIServer pid=1"))
    assert [run["decode"]["samples"] for run in server["runs"]] == [1, 1]
    assert [run["state"] for run in server["runs"]] == ["exited", "serving"]


def test_other_process_in_the_prefix_is_another_run() -> None:
    server = _server(_engine(0), _engine(10), _engine(60, who="APIServer pid=9"), _engine(70, who="APIServer pid=9"))
    assert [run["decode"]["samples"] for run in server["runs"]] == [2, 2]


def test_api_servers_of_one_deployment_start_one_run() -> None:
    run = _run(
        _banner(0, "MainProcess pid=5"),
        _arguments(0, "MainProcess pid=5", api_server_count=2),
        "INFO:     Started server process [7]",
        "INFO:     Application startup complete.",
        "INFO:     Started server process [9]",
        "INFO:     Application startup complete.",
    )
    assert run["state"] == "ready"
    assert [event["kind"] for event in run["events"]] == ["launch", "ready"]


def test_dead_engine_is_one_crash_however_many_tell_of_it() -> None:
    run = _run(
        _banner(0),
        _arguments(0),
        *READY,
        _engine(20),
        f"(EngineCore_DP0 pid=8) ERROR {_clock(30)} [core.py:710] EngineCore encountered a fatal error.",
        f"(EngineCore_DP0 pid=8) ERROR {_clock(30)} [core.py:710] Traceback (most recent call last):",
        f"(EngineCore_DP0 pid=8) ERROR {_clock(30)} [core.py:710] torch.OutOfMemoryError: CUDA out of memory.",
        f"(APIServer pid=7) ERROR {_clock(30)} [core_client.py:600] Engine core proc EngineCore_DP0 died unexpectedly, "
        "shutting down client.",
        f"(APIServer pid=7) ERROR {_clock(30)} [async_llm.py:480] AsyncLLM output_handler failed.",
        "INFO:     Shutting down",
        "INFO:     Finished server process [7]",
    )
    assert run["state"] == "crashed"
    assert [event["kind"] for event in run["events"]].count("crash") == 1


def test_exception_that_a_request_meets_is_no_crash() -> None:
    run = _run(
        _engine(0),
        "ERROR:    Exception in ASGI application",
        "Traceback (most recent call last):",
        '  File "/opt/lib/uvicorn/protocols/http/h11_impl.py", line 403, in run_asgi',
        '  File "/opt/lib/vllm/entrypoints/openai/api_server.py", line 1, in create_completion',
        "ValueError: no such model",
        _engine(10),
    )
    assert run["state"] == "serving"


def test_stop_is_told_once_and_is_no_crash() -> None:
    run = _run(
        _engine(0),
        f"(APIServer pid=7) INFO {_clock(9)} [launcher.py:254] [shutdown] API server: shutdown triggered",
        f"(EngineCore pid=8) INFO {_clock(9)} [core.py:1454] [shutdown] EngineCore: trigger received signal=SIGTERM",
        f"(APIServer pid=7) ERROR {_clock(9)} [core_client.py:600] Engine core proc EngineCore died unexpectedly",
        "INFO:     Shutting down",
    )
    assert run["state"] == "exited"
    assert [event["kind"] for event in run["events"]] == ["exit"]


def test_server_without_statistics_says_why() -> None:
    server = _server(_banner(0), _arguments(0, disable_log_stats=True), *READY)
    (notice,) = [notice for notice in server["notices"] if notice["kind"] == "stats_missing"]
    assert "--disable-log-stats" in notice["text"]


# -- phases -------------------------------------------------------------------------------------------


def test_iterations_fill_the_phases_by_running_requests() -> None:
    def step(number: int, running: int, elapsed: float, prompts: int = 0) -> str:
        return (
            f"(EngineCore_DP0 pid=8) INFO {_clock(1)} [core.py:349] Iteration({number}): {prompts} context requests, "
            f"0 context tokens, {running} generation requests, {4 * running} generation tokens, iteration elapsed "
            f"time: {elapsed} ms"
        )

    run = _run(step(1, 1, 10.0), step(2, 1, 12.0), step(3, 4, 20.0), step(4, 4, 90.0, prompts=1))
    phases = run["phases"]
    assert phases["cycles"] == 3
    assert phases["cycle_ms"] == pytest.approx(14.0)
    assert phases["ms"] == {"decode": pytest.approx(14.0)}
    assert [(level["running"], level["cycles"], level["cycle_ms"]) for level in phases["by_running"]] == [
        (1, 2, pytest.approx(11.0)),
        (4, 1, pytest.approx(20.0)),
    ]
    assert run["decode"]["samples"] == 0
    assert run["state"] == "serving"


# -- cuts ---------------------------------------------------------------------------------------------

_DEPLOYMENT = "".join(
    line + "\n"
    for line in (
        _banner(0),
        _arguments(0, speculative_config={"method": "ngram", "num_speculative_tokens": 3}),
        _config(20, "EngineCore_DP0 pid=8"),
        *READY,
        *(
            line
            for step in range(3, 9)
            for line in (
                _engine(10 * step),
                _engine(10 * step, 60.0, number=1, who="ApiServer_1 pid=9"),
                _drafts(10 * step, 300, 600),
                *([_drafts(10 * step, 0, 600, who="ApiServer_1 pid=9")] if step % 2 else []),
            )
        ),
        _idle(90),
        _idle(90, 1, who="ApiServer_1 pid=9"),
        _banner(100),
        *READY,
        _engine(120),
        _drafts(120),
    )
).encode()


@pytest.mark.parametrize("size", [1, 7, 64, 300, 1000])
def test_even_chunks_give_the_same_document(size: int) -> None:
    def document(size: int) -> str:
        session = Session()
        session.add("v", "/logs/v.log")
        for start in range(0, len(_DEPLOYMENT), size):
            session.feed("v", Chunk(0.0, start, _DEPLOYMENT[start : start + size]))
            session.snapshot(0.0)  # looking in between must not matter either
        session.finish()
        return to_json(session)

    assert document(size) == document(len(_DEPLOYMENT))
