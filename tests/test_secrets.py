"""Secrets go, sizing flags stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specmon.events import Json
from specmon.secrets import drop_secrets, hide_in_text, is_secret_name, is_secret_value

_LOG = Path(__file__).parent / "data" / "sglang" / "0.5.16-standalone-timer.log"


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "admin_api_key", "ssl_keyfile_password", "hf_token", "HF_TOKEN", "apiKey", "clientSecret", "APIKEY",
        "AWS_SECRET_ACCESS_KEY", "--api-key", "auth", "basic-auth", "db_pass", "credentials", "OPENAIAPIKEY",
        "accessToken", "VLLM_API_KEY", "ssh_passwd",
    ],
)  # fmt: skip
def test_name_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "speculative_num_draft_tokens", "max_total_tokens", "tokenizer_path", "speculative_token_map", "tokenizer_mode",
        "enable_forward_pass_metrics", "bucket_time_to_first_token", "prefill_delayer_token_usage_low_watermark",
        "tbo_token_distribution_threshold", "keep_mm_feature_on_device", "TOKENIZERS_PARALLELISM", "NCCL_ALGO",
        "encoder_cudagraph_token_budgets",
        "pass_config", "monkey", "author", "passes", "bypass_mode", "ssl_keyfile", "kv_cache_dtype",
        "max_num_batched_tokens",
    ],
)  # fmt: skip
def test_name_is_not_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_every_flag_of_a_genuine_launch_line_stays_but_the_keys() -> None:
    line = next(line for line in _LOG.read_text().splitlines() if "server_args=" in line)
    names = re.findall(r"[(,] ?([a-z]\w+)=", line)
    assert len(names) > 400
    assert {name for name in names if is_secret_name(name)} == {"api_key", "admin_api_key", "ssl_keyfile_password"}


@pytest.mark.parametrize(
    "value",
    [
        "sk-abcdefghijklmnop", "hf_AbCdEfGhIjKl", "Bearer abc.def.ghi", "http://user:pass@host:80/x", "user:pass@host",
        "Authorization: Basic dXNlcjpwYXNz", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN RSA PRIVATE KEY-----",
    ],
)  # fmt: skip
def test_value_is_secret(value: str) -> None:
    assert is_secret_value(value)


@pytest.mark.parametrize(
    "value",
    ["/models/Kimi-K2.5", "EAGLE3", "localhost:4317", "http://127.0.0.1:30000", "hf", "task-runner", "a@b", "bf16", ""],
)
def test_value_is_not_secret(value: str) -> None:
    assert not is_secret_value(value)


def test_nested_secrets_go_and_the_rest_stays() -> None:
    values: dict[str, Json] = {
        "model": "/m",
        "config": {"api_key": "x", "steps": 3, "more": [{"token": "y", "n": 1}, "sk-abcdefghijkl"]},
        "override": '{"hf_token": "z"}',
        "headers": "api_key=abc",
        "plain": '{"steps": 3}',
    }
    assert drop_secrets(values) == {"model": "/m", "config": {"steps": 3, "more": [{"n": 1}]}, "plain": '{"steps": 3}'}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Args(model='/m', api_key='se\\'same', tp_size=8)", "Args(model='/m', api_key=***, tp_size=8)"),
        ("{'admin_api_key': \"sesame\", 'port': 1}", "{'admin_api_key': ***, 'port': 1}"),
        ("args: {'api_key': ['one', 'two'], 'port': 1}", "args: {'api_key': ***, 'port': 1}"),
        ('override=\'{"hf_token": "sesame"}\', x=1', "override='{\"hf_token\": ***}', x=1"),
        ('{"msg": "api_key=\\"sesame\\" given"}', '{"msg": "api_key=*** given"}'),
        ("python3 -m x --api-key sesame two --port 1", "python3 -m x --api-key *** --port 1"),
        ("python3 -m x --hf-token=sesame --port 1", "python3 -m x --hf-token=*** --port 1"),
        ("['--api-key', 'sesame', '--port', '1']", "['--api-key', ***, '--port', '1']"),
        ("['--api-key', 'one', 'two', '--port', '1']", "['--api-key', ***, '--port', '1']"),
        ("NCCL INFO NCCL_API_KEY set by environment to sesame", "NCCL INFO NCCL_API_KEY set by environment to ***"),
        ("GET http://user:sesame@host:80/x?token=sesame&a=1", "GET http://***@host:80/x?token=***&a=1"),
        ("Authorization: Bearer sesame.sesame", "Authorization: ***"),
        ("api_key='sesame", "api_key=***"),
        ("SGLANG_API_KEY=sesame", "SGLANG_API_KEY=***"),
    ],
)
def test_running_text_loses_secret_values(text: str, shown: str) -> None:
    assert hide_in_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None, ssl_keyfile_password=None",
        "Decode batch, #running-req: 1, #token: 512, token usage: 0.00",
        "#new-token: 256, #cached-token: 0, full token usage: 0.10",
        "EOS token             = 151645 '<|im_end|>'",
        "KeyError: 'lm_head.weight'",
        "python3 -m x --max-total-tokens 4096 --tokenizer-path /t",
    ],
)
def test_running_text_without_secrets_stays_to_the_letter(text: str) -> None:
    assert hide_in_text(text) == text


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "data").glob("*/*.log")), ids=lambda path: path.name)
def test_genuine_logs_hold_no_key_and_stay_as_they_are(path: Path) -> None:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        assert hide_in_text(line[:2000]) == line[:2000]
