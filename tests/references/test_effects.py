"""What is known of single settings: ours covers the genuine logs, a user's own is asked first, faults are sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from specmon.errors import ConfigError
from specmon.references import effects
from specmon.references.effects import known_effects, pattern_of, read_effects, weigh

_DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's own file, which is not there unless a test writes it."""
    path = tmp_path / "effects.toml"
    monkeypatch.setattr(effects, "own_file", lambda: path)
    known_effects.cache_clear()
    pattern_of.cache_clear()
    yield path
    known_effects.cache_clear()
    pattern_of.cache_clear()


@pytest.mark.parametrize(
    ("kind", "name", "word"),
    [
        ("env", "NCCL_PROTO", "matters"),
        ("env", "NCCL_ALGO", "matters"),
        ("env", "NCCL_IB_HCA", "matters"),
        ("env", "NCCL_DEBUG", "noise"),
        ("env", "NCCL_DEBUG_SUBSYS", "noise"),
        ("env", "NCCL_NOT_YET_INVENTED", "unknown"),
        ("env", "CUDA_LAUNCH_BLOCKING", "matters"),
        ("env", "CUDA_MODULE_LOADING", "noise"),
        ("env", "CUDA_HOME", "noise"),
        ("env", "SGLANG_RUN_ID", "noise"),
        ("env", "SGLANG_ENABLE_SPEC_V2", "matters"),
        ("env", "SGLANG_OPT_FP8_WO_A_GEMM", "matters"),
        ("env", "VLLM_ATTENTION_BACKEND", "matters"),
        ("env", "VLLM_LOGGING_LEVEL", "noise"),
        ("env", "GGML_CUDA_DISABLE_GRAPHS", "matters"),
        ("env", "LLAMA_ARG_PORT", "noise"),
        ("flag", "model_path", "matters"),
        ("flag", "tensor_parallel_size", "matters"),
        ("flag", "enforce_eager", "matters"),
        ("flag", "max_total_tokens", "matters"),
        ("flag", "n_gpu_layers", "matters"),
        ("flag", "kv_cache_free_gpu_memory_fraction", "matters"),
        ("flag", "random_seed", "noise"),
        ("flag", "port", "noise"),
        ("flag", "disable_log_requests", "noise"),
        ("flag", "speculative_algorithm", "matters"),
        ("flag", "enable_precise_embedding_interpolation", "unknown"),
        ("version", "engine", "matters"),
        ("version", "not_yet_invented", "matters"),
        ("gpu", "power_limit_w", "matters"),
        ("gpu", "not_yet_invented", "matters"),
        ("gpu", "uuids", "noise"),
    ],
)
def test_weight_of_a_setting(kind: str, name: str, word: str) -> None:
    weight = weigh(kind, name, is_speculation_expected=False)
    assert weight.word == word
    assert bool(weight.reason) == (word != "unknown")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("flag", "speculative_algorithm"),
        ("flag", "speculative_config"),
        ("flag", "model_draft"),
        ("flag", "cuda_graph_bs_decode"),
        ("flag", "compilation_config"),
        ("env", "SGLANG_ENABLE_SPEC_V2"),
    ],
)
def test_speculation_is_expected_between_baseline_and_speculative_server(kind: str, name: str) -> None:
    assert weigh(kind, name, is_speculation_expected=True).word == "expected"
    assert weigh(kind, name, is_speculation_expected=False).word == "matters"


def test_tuning_of_the_all_reduce_is_never_expected() -> None:
    assert weigh("env", "NCCL_PROTO", is_speculation_expected=True).word == "matters"
    assert "latency" in weigh("env", "NCCL_PROTO", is_speculation_expected=True).reason


def test_most_flags_of_genuine_launch_lines_have_a_weight() -> None:
    line = (
        (_DATA / "sglang" / "0.5.16-standalone-timer.log").read_text().partition("server_args=")[2].partition("\n")[0]
    )
    names = set(re.findall(r"[(,] ?([a-z]\w+)=", line))
    unknown = {name for name in names if weigh("flag", name, is_speculation_expected=False).word == "unknown"}
    assert len(names) > 400
    assert len(unknown) < 0.25 * len(names)


def test_every_pattern_can_be_reached() -> None:
    """An entry that an earlier one hides, word for word, says nothing."""
    seen: set[tuple[str, str]] = set()
    for effect in known_effects():
        for name in effect.names:
            if effect.weight != "expected":
                assert (effect.kind, name) not in seen, name
                seen.add((effect.kind, name))


def test_own_file_is_asked_first(own: Path) -> None:
    own.write_text('[[effect]]\nkind = "env"\nweight = "noise"\nreason = "one GPU"\nnames = ["NCCL_*"]\n')
    weight = weigh("env", "NCCL_PROTO", is_speculation_expected=False)
    assert (weight.word, weight.reason) == ("noise", "one GPU")
    assert weigh("flag", "tp_size", is_speculation_expected=False).word == "matters"


def test_empty_own_file_adds_nothing(own: Path) -> None:
    own.write_text("")
    assert weigh("env", "NCCL_PROTO", is_speculation_expected=False).word == "matters"


GOOD = '[[effect]]\nkind = "env"\nweight = "noise"\nreason = "x"\nnames = ["A"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("noise", "nice"), "effects.toml:3: effect.1.weight: "),
        (GOOD.replace('"env"', '"venv"'), "effects.toml:2: effect.1.kind: "),
        (GOOD + GOOD.replace('["A"]', "[]"), "effects.toml:10: effect.2.names: "),
        (GOOD.replace('"x"', '""'), "effects.toml:4: effect.1.reason: "),
        (GOOD + "color = 1\n", "effects.toml:6: effect.1.color: is not known. Correct the file."),
        (GOOD.replace('kind = "env"\n', ""), "effects.toml:1: effect.1.kind: field required"),
        ("[[effect]\n", "effects.toml: it is not valid TOML: "),
    ],
)
def test_fault_names_file_line_and_key(text: str, message: str, own: Path) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError) as caught:
        weigh("env", "A", is_speculation_expected=False)
    assert str(caught.value).startswith(f"effects {own.parent}/{message}")
    assert "\n" not in str(caught.value)


def test_file_that_is_no_text_or_may_not_be_read_is_a_sentence(own: Path) -> None:
    own.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_effects(own)
    with pytest.raises(ConfigError, match="is a directory"):
        read_effects(own.parent)


def test_environment_of_a_hundred_thousand_names_is_weighed_with_one_question_for_each() -> None:
    """A capture or reference from anybody may hold so many, and there are hundreds of patterns."""
    weigh("env", "NCCL_0", is_speculation_expected=False)  # reads the files once
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        weigh("env", "NCCL_1", is_speculation_expected=False)
    finally:
        sys.setprofile(None)
    assert calls < 20  # calls and returns
