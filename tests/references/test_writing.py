"""The text of a reference file: what is written is read again, and what others wrote stays."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.errors import ConfigError
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference
from specmon.references.pooling import with_session
from specmon.references.store import parse
from specmon.references.writing import FIRST_LINE, LAST_LINE, rewritten, storable, storable_text, text_of
from specmon.secrets import drop_secrets
from tests.references.forms import level, reference, session

PRINTS = Fingerprint(
    flags={"tp_size": 8, "quantization": None},
    env={"NCCL_PROTO": "LL"},
    env_from={"NCCL_PROTO": "/etc/nccl.conf"},
    env_is_partial=True,
    versions={"engine": "0.5.16"},
    gpu={"count": 8, "names": ["H200"]},
    unread=("GPUs: no nvidia-smi there",),
)

FULL = reference(
    session(
        level(88.8, n=212, tok_s_ci95=[88.6, 89.0], cycle_ms=11.26, sigma=0.006, context_tokens=[300, 700]),
        level(640.0, 8, n=30),
    ),
    env={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"},
)

scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def test_file_has_one_key_a_line_in_the_documented_order() -> None:
    text = text_of(FULL, moment_note="by the log's clock")
    assert text.splitlines()[:20] == [
        FIRST_LINE,
        "schema = 1",
        'name = "tuned"',
        "recorded_at = 2026-02-20T10:10:00Z  # by the log's clock",
        'host = "gpu01"',
        'engine = "sglang"',
        'engine_version = "0.5.9"',
        'model = "/models/m"',
        "tolerance = 0.05",
        "",
        "[[level]]",
        "running = 1",
        "n = 212",
        "tok_s = 88.8",
        "tok_s_ci95 = [88.6, 89]",
        "cycle_ms = 11.26",
        "sigma = 0.006",
        "context_tokens = [300, 700]",
        "",
        "[[level]]",
    ]
    assert text.endswith(f'NCCL_ALGO = "Ring"\n\n{LAST_LINE}\n')
    assert parse(text, "x") == FULL


@given(
    st.dictionaries(st.text(max_size=12), values, max_size=6),
    st.dictionaries(st.text(max_size=12), st.text(max_size=20), max_size=4),
    st.text(max_size=20),
)
def test_whatever_a_launch_line_held_comes_back(flags: dict[str, object], env: dict[str, str], note: str) -> None:
    written = FULL.model_copy(
        update={"note": note, "fingerprint": Fingerprint.model_validate({"flags": flags, "env": env})}
    )
    again = parse(text_of(written), "x")
    given = drop_secrets(flags)  # type: ignore[arg-type]  # any JSON value; what looks like a key is not kept
    assert again.fingerprint.flags == {name: storable(value) for name, value in given.items()}
    assert again.fingerprint.env == drop_secrets(dict(env))
    assert again.note == note


@pytest.mark.parametrize("prints", [PRINTS, Fingerprint(), Fingerprint(env={}), Fingerprint(flags={}, gpu={})])
def test_what_was_looked_at_is_told_from_what_was_not(prints: Fingerprint) -> None:
    written = FULL.model_copy(update={"fingerprint": prints})
    assert parse(text_of(written), "x").fingerprint == prints
    bare = FULL.model_copy(update={"fingerprint": Fingerprint()})
    assert parse(rewritten(text_of(bare), written), "x").fingerprint == prints


def test_half_characters_become_question_marks() -> None:
    assert storable_text("a\ud800b") == "a?b"
    broken = FULL.model_copy(update={"note": "caf\udce9", "fingerprint": Fingerprint(flags={"chat\ud800": "x\udfff"})})
    for text in (text_of(broken), rewritten(text_of(FULL), broken)):
        assert text.encode()
        assert parse(text, "x").note == "caf?"
    assert parse(text_of(broken), "x").fingerprint.flags == {"chat?": "x?"}


def test_flag_without_a_value_is_kept_as_unset() -> None:
    text = text_of(FULL)
    assert 'unset_flags = ["quantization"]' in text
    flags = parse(text, "x").fingerprint.flags
    assert flags is not None
    assert flags["quantization"] is None


BY_HAND = """\
# Ours, do not touch.
schema = 2
name = "tuned"   # as everybody calls it
owner = "lab"
tolerance = 0.08

# measured on a quiet Sunday
[[level]]
tok_s = 88.0  # by eye
running = 1
mood = "good"

[[session]]
started_at = 2026-01-01T10:00:00Z
level = [{ running = 1, tok_s = 88.0, mood = "good" }]

[fingerprint.env]
NCCL_PROTO = "LL"  # the one that counts

[ours]
ticket = 12
"""


def test_rewriting_keeps_comments_order_and_keys_of_a_newer_version() -> None:
    known = parse(BY_HAND, "x")
    joined = with_session(known, session(level(90.0, n=50, cycle_ms=11.1), day=2))
    text = rewritten(BY_HAND, joined)
    for line in BY_HAND.splitlines():
        assert line in text.splitlines() or line.startswith("tok_s = 88.0  #"), line
    assert "tok_s = 88.9944  # by eye" in text
    content = tomllib.loads(text)
    assert (content["owner"], content["ours"], content["level"][0]["mood"]) == ("lab", {"ticket": 12}, "good")
    assert content["session"][0]["level"][0]["mood"] == "good"
    assert parse(text, "x") == joined


def test_file_of_a_person_gets_none_of_our_lines() -> None:
    text = rewritten(BY_HAND, parse(BY_HAND, "x"))
    assert text == BY_HAND


def test_own_file_keeps_its_first_and_last_line_over_many_sessions() -> None:
    found, text = FULL, text_of(FULL)
    for day in range(1, 8):
        found = with_session(found, session(level(88.0 + day / 10, n=40, cycle_ms=11.3), day=day))
        text = rewritten(text, found, moment_note="by the log's clock")
        assert text.startswith(FIRST_LINE)
        assert text.endswith(f"\n{LAST_LINE}\n")
        assert "\n\n\n" not in text
        assert parse(text, "x") == found
    assert text.count("[[session]]") == 8


def test_rewriting_adds_levels_and_tables_that_were_not_there() -> None:
    bare = 'name = "x"\n[[level]]\nrunning = 1\ntok_s = 88.8\n'
    more = parse(bare, "x").model_copy(
        update={"levels": (level(88.8), level(640.0, 8)), "host": "gpu01", "fingerprint": PRINTS}
    )
    assert parse(rewritten(bare, more), "x") == more


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_own_file_cut_at_any_byte_is_one_sentence(is_rewritten: bool) -> None:
    text = text_of(FULL)
    if is_rewritten:
        text = rewritten(text, with_session(FULL, session(level(89.0), day=2)))
    whole = text.encode()
    for size in range(len(whole) - 1):  # without the last byte, a line feed, nothing is missing
        with pytest.raises(ConfigError) as caught:
            parse(whole[:size].decode("utf-8", "replace"), "r.toml")
        assert "\n" not in str(caught.value)
    assert parse(text[:-1], "r.toml").name == "tuned"


def test_time_of_another_zone_is_kept_with_its_zone() -> None:
    moment = datetime.fromisoformat("2026-02-20T18:00:00+08:00")
    again = parse(text_of(FULL.model_copy(update={"recorded_at": moment})), "x")
    assert again.recorded_at == moment
    assert again.recorded_at is not None
    assert again.recorded_at.utcoffset() == moment.utcoffset()


def test_time_without_a_zone_stays_without_one() -> None:
    moment = datetime(2026, 2, 20, 18)
    again: Reference = parse(text_of(FULL.model_copy(update={"recorded_at": moment})), "x", now=datetime.now(UTC))
    assert again.recorded_at == moment
