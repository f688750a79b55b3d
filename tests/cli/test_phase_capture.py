"""The capture with probe lines in it: what `summary` says of the phases, in text and in JSON."""

from __future__ import annotations

import json

import pytest

from specmon.resources import bundled
from tests.cli.conftest import Specmon

FIVE_STEPS = bundled("fixtures") / "story-5-steps"


def test_five_steps_tell_that_verify_is_nearly_all_of_the_cycle(specmon: Specmon) -> None:
    done = specmon("summary", str(FIVE_STEPS), "--format", "json")
    assert done.status == 0
    told = json.loads(done.out)
    comparison = told["comparison"]
    assert comparison["verdict"] == "faster"
    assert round(comparison["speedup"], 2) == 1.13
    assert round(comparison["break_even_accept_len"], 2) == 1.88
    base, spec = (server["runs"][-1]["phases"] for server in told["servers"])
    assert (base["source"], spec["source"]) == ("probe", "probe")
    assert round(spec["cycle_ms"], 1) == 29.9
    assert {phase: round(ms, 2) for phase, ms in spec["ms"].items()} == {
        "draft": 0.61,
        "verify": 28.7,
        "draft_extend": 0.41,
    }
    assert round(spec["ms"]["verify"] / spec["cycle_ms"], 2) == 0.96
    assert {phase: round(ms, 2) for phase, ms in base["ms"].items()} == {"decode": 15.7}
    # Three kinds of evidence agree: the probe's clock, its phases, and throughput with accept length.
    for phases in (base, spec):
        assert phases["identity_cycle_ms"] == pytest.approx(phases["cycle_ms"], rel=0.005)
        assert 0 < phases["residual_ms"] < 0.02 * phases["cycle_ms"]


def test_five_steps_say_so_in_words(specmon: Specmon) -> None:
    text = specmon("summary", str(FIVE_STEPS)).out
    assert "1.13×" in text
    assert "break-even 1.88" in text
    assert "verify 28.7" in text
    assert "of 29.9 ms (probe)" in text
