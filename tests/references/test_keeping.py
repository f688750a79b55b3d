"""Nothing secret is kept, whatever name it comes under."""

from __future__ import annotations

import pytest

from specmon.errors import ConfigError
from specmon.references.fingerprint import Fingerprint
from specmon.references.keeping import kept, require_harmless, require_harmless_texts
from tests.references.forms import level, reference, session

SECRET = "hf_AbCdEfGhIjKlMnOp"


def test_secret_entries_go_from_every_table() -> None:
    full = Fingerprint(
        flags={"api_key": "abc", "hf_token": None, "tp_size": 8, "url": f"http://me:{SECRET}@host", SECRET: 1},
        env={"HF_TOKEN": "abc", "NCCL_PROTO": "LL", "VLLM_X": SECRET},
        versions={"sglang": "0.5.16", "odd": SECRET},
        gpu={"count": 8, "auth": "x"},
        env_is_partial=True,
    )
    assert kept(full) == Fingerprint(
        flags={"tp_size": 8},
        env={"NCCL_PROTO": "LL"},
        versions={"sglang": "0.5.16"},
        gpu={"count": 8},
        env_is_partial=True,
    )


def test_table_that_nobody_looked_at_stays_so() -> None:
    assert kept(Fingerprint()) == Fingerprint()


@pytest.mark.parametrize(
    ("name", "value"),
    [("HF_TOKEN", "abc"), ("api_key", "abc"), ("NCCL_X", SECRET), (SECRET, "1"), ("X", "Bearer abcdefgh")],
)
def test_setting_that_somebody_writes_down_is_refused_without_telling_it(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"--env .*Leave it out") as caught:
        require_harmless("--env", name, value)
    assert SECRET not in str(caught.value)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("NCCL_PROTO", "LL"), ("speculative_num_draft_tokens", "4")])
def test_harmless_setting_passes(name: str, value: str) -> None:
    require_harmless("--env", name, value)


@pytest.mark.parametrize("field", ["name", "note", "host", "engine", "engine_version", "model"])
def test_text_that_looks_like_a_key_is_refused_without_telling_it(field: str) -> None:
    one = reference(session(level(88.8))).model_copy(update={field: f"see {SECRET}"})
    with pytest.raises(ConfigError, match=f"{field} holds what looks like a key") as caught:
        require_harmless_texts(one)
    assert SECRET not in str(caught.value)
