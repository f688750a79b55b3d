"""Genuine logs against what the load generator and the server's own counters said."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from specmon.events import Block
from specmon.formats.vllm import VllmDialect

_DATA = Path(__file__).parents[2] / "data" / "vllm"
_TICK_S = 10.0


def _blocks(name: str) -> list[Block]:
    parser = VllmDialect().open()
    return [parser.feed((_DATA / f"vllm-0.32.0-cpu-{name}.log").read_bytes(), 0), parser.finish()]


@pytest.mark.parametrize(
    ("name", "tokens", "rel"),
    [
        ("baseline", 20504, 0.001),  # the client's completion tokens
        ("baseline-json-formatter", 7144, 0.001),  # and the counter's
        ("spec-ngram-k4", 4384, 0.001),
        ("spec-draft2l-k3-near-zero-accept", 7272, 0.001),
        ("spec-draft-k4-iteration-details", 2432, 0.01),  # its first tick was longer than ten seconds
    ],
)
def test_ticks_add_up_to_what_the_client_got(name: str, tokens: int, rel: float) -> None:
    counted = math.fsum(tok_s * _TICK_S for block in _blocks(name) for tok_s in block.decode.tok_s)
    assert counted == pytest.approx(tokens, rel=rel)


@pytest.mark.parametrize(
    ("name", "first_sample", "rounds", "proposed", "accepted"),
    [
        ("spec-draft2l-k3-near-zero-accept", 0, 6928, 20784, 293),
        ("spec-draft-killed-k3-restarted-k5-appended", 4, 1296, 6480, 800),  # the second server's
    ],
)
def test_draft_rounds_are_the_servers_own_counters(
    name: str, first_sample: int, rounds: int, proposed: int, accepted: int
) -> None:
    columns = [block.decode for block in _blocks(name)]
    for column, wanted in (
        ([value for decode in columns for value in decode.drafts], rounds),
        ([value for decode in columns for value in decode.drafted], proposed),
        ([value for decode in columns for value in decode.accepted], accepted),
    ):
        assert math.fsum(value for value in column[first_sample:] if value == value) == wanted
