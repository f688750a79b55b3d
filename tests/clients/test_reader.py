"""Result files of the three load generators, as they write them, and files that are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from specmon.clients.reader import read_client
from specmon.clients.result import ClientResult
from specmon.errors import ConfigError

# Keys and their order as sglang.bench_serving 0.5 appends them, one object a benchmark.
SGLANG = (
    '{"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": 8, '
    '"sharegpt_output_len": null, "random_input_len": 256, "random_output_len": 384, "random_range_ratio": 1.0, '
    '"duration": 20.0, "completed": 104, "total_input_tokens": 28995, "total_output_tokens": 40000, '
    '"total_output_tokens_retokenized": 39936, "request_throughput": 5.2, "input_throughput": 1449.7, '
    '"output_throughput": 2000.0, "mean_e2e_latency_ms": 1540.1, "mean_ttft_ms": 141.9, "mean_tpot_ms": 3.65, '
    '"mean_itl_ms": 3.65, "concurrency": 7.99, "accept_length": null}\n'
)
# `vllm bench serve --save-result` of vLLM 0.13.
VLLM = {
    "date": "20261130-160140",
    "endpoint_type": "openai",
    "backend": "openai",
    "label": None,
    "model_id": "./Qwen2.5-VL-3B-Instruct",
    "tokenizer_id": "./Qwen2.5-VL-3B-Instruct",
    "num_prompts": 200,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": None,
    "duration": 100.0,
    "completed": 199,
    "failed": 1,
    "total_input_tokens": 39800,
    "total_output_tokens": 12458,
    "request_throughput": 1.99,
    "request_goodput": None,
    "output_throughput": 124.58,
    "total_token_throughput": 522.58,
    "mean_tpot_ms": 34.43,
}
# profile_export_aiperf.json of aiperf 0.3.
AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 0.8233},
    "request_latency": {"unit": "ms", "avg": 2413.5, "p50": 2431.75, "std": 30.01},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 52.69},
    "benchmark_duration": {"unit": "sec", "avg": 12.14},
    "was_cancelled": False,
    "start_time": "2026-06-13T05:11:41.465270",
    "end_time": "2026-06-13T05:11:53.616416",
    "input_config": {
        "endpoint": {"model_names": ["openai/gpt-oss-20b"], "type": "chat", "streaming": True, "url": "gpu01:9000"},
        "loadgen": {"concurrency": 4, "request_count": 10},
    },
}


def read(tmp_path: Path, text: str) -> ClientResult:
    path = tmp_path / "result.json"
    path.write_text(text)
    return read_client(str(path))


def test_bench_serving_of_sglang(tmp_path: Path) -> None:
    result = read(tmp_path, SGLANG)
    assert (result.tool, result.output_tok_s, result.concurrency) == ("sglang.bench_serving", 2000.0, 8)
    assert result.request_rate is None  # Infinity: as fast as they are answered
    assert not result.tells_time


def test_several_benchmarks_of_one_file_are_taken_together(tmp_path: Path) -> None:
    slow = SGLANG.replace('"max_concurrency": 8', '"max_concurrency": 1').replace("40000", "8000")
    result = read(tmp_path, SGLANG + slow)
    assert (result.benchmarks, result.duration_s) == (2, 40.0)
    assert result.output_tok_s == pytest.approx(48000 / 40)  # not the mean of the two printed speeds
    assert result.concurrency is None


def test_server_info_of_newer_bench_serving_names_the_port(tmp_path: Path) -> None:
    info = SGLANG.replace('"backend": "sglang"', '"server_info": {"port": 30014, "model_path": "/m"}')
    result = read(tmp_path, info)
    assert (result.port, result.model) == (30014, "/m")


def test_bench_serve_of_vllm(tmp_path: Path) -> None:
    result = read(tmp_path, json.dumps(VLLM))
    assert (result.tool, result.output_tok_s, result.request_rate) == ("vllm bench serve", 124.58, None)
    assert result.ended_at == datetime(2026, 11, 30, 16, 1, 40, tzinfo=UTC).timestamp()
    assert result.started_at == result.ended_at - 100
    assert read(tmp_path, json.dumps(VLLM | {"request_rate": 2.0})).request_rate == 2.0


def test_appended_results_of_vllm_tell_no_time(tmp_path: Path) -> None:
    result = read(tmp_path, json.dumps(VLLM) + "\n" + json.dumps(VLLM))
    assert (result.benchmarks, result.tells_time) == (2, False)


def test_profile_of_aiperf(tmp_path: Path) -> None:
    result = read(tmp_path, json.dumps(AIPERF, indent=2))
    assert (result.tool, result.output_tok_s, result.port) == ("aiperf", 52.69, 9000)
    assert (result.concurrency, result.model) == (4, "openai/gpt-oss-20b")
    assert result.started_at == datetime(2026, 6, 13, 5, 11, 41, 465270, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("url", ["http://gpu01:9000/v1", "gpu01:9000", "http://[::1]:9000"])
def test_port_of_any_url(tmp_path: Path, url: str) -> None:
    assert read(tmp_path, json.dumps(AIPERF | {"input_config": {"endpoint": {"urls": [url]}}})).port == 9000


@pytest.mark.parametrize("url", ["gpu01", "http://gpu01:99999", "http://gpu01:port/", "http://[", ""])
def test_url_without_a_port_gives_none(tmp_path: Path, url: str) -> None:
    assert read(tmp_path, json.dumps(AIPERF | {"input_config": {"endpoint": {"url": url}}})).port is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not valid JSON"),
        (SGLANG[:200], "Was the file cut?"),
        (SGLANG + SGLANG[:100], "line 2 is not valid JSON"),
        ("[]", "no JSON object"),
        ("3", "no JSON object"),
        ('{"servers": []}', "Known are"),
        (SGLANG.replace("2000.0", "0.0"), "not a speed above 0"),
        (SGLANG.replace("2000.0", "NaN"), "not a speed above 0"),
        (SGLANG.replace("2000.0", '"fast"'), "not a speed above 0"),
        (SGLANG.replace('"duration": 20.0, ', "") * 2, "lack `duration`"),
        (json.dumps({"metadata": {"session_num": 45}, "metrics": {}, "error": None}), "profile_export_aiperf.json"),
        (json.dumps(AIPERF | {"output_token_throughput": {"unit": "tokens/sec"}}), "output_token_throughput.avg"),
        ("\x00\x01", "not valid JSON"),
        ("[" * 200_000, "not valid JSON"),
    ],
)
def test_what_is_no_result_is_a_sentence_with_its_file(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ConfigError, match=r"^client result .*result\.json: ") as raised:
        read(tmp_path, text)
    assert part in str(raised.value)


def test_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    for path, part in ((tmp_path / "absent", "no such file"), (tmp_path, "directory")):
        with pytest.raises(ConfigError, match=part):
            read_client(str(path))
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_client(str(tmp_path / "latin"))


def test_of_a_long_file_that_is_no_json_only_the_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "zeros.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: no memory would hold it
    with pytest.raises(ConfigError, match="not valid JSON"):
        read_client(str(path))
