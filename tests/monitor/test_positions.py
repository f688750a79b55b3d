"""Acceptance by position: only what was measured, and whether it adds up."""

from __future__ import annotations

import pytest

from specmon.analysis.figures import LevelFigures
from specmon.monitor.life import Life
from specmon.monitor.positions import acceptance_view


def life() -> Life:
    made = Life(1)
    made.statistics.turn_speculative()
    return made


def level(positions: tuple[float, ...] | None, accept: float | None) -> LevelFigures:
    return LevelFigures(1, 20, 20, accept_len=accept, accept_by_position=positions)


def test_positions_that_add_up_are_checked() -> None:
    view = acceptance_view(life(), "vllm", level((0.71, 0.43, 0.26), 2.40))
    assert view.sum_text == "1 + 0.71 + 0.43 + 0.26 = 2.40"
    assert view.is_sum_ok
    assert view.reason == ""


def test_positions_that_do_not_add_up_say_why() -> None:
    view = acceptance_view(life(), "vllm", level((0.71, 0.43, 0.26), 2.60))
    assert view.is_sum_ok is False
    assert view.reason.startswith("the accept length is 2.60: ")


def test_positions_without_an_accept_length_cannot_be_checked() -> None:
    view = acceptance_view(life(), "vllm", level((0.71,), None))
    assert view.is_sum_ok is None
    assert view.reason == "no accept length to compare"


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.2])
def test_a_rate_that_is_none_is_never_shown(bad: float) -> None:
    view = acceptance_view(life(), "vllm", level((0.71, bad), 2.40))
    assert view.positions == ()
    assert "not between 0 and 1" in view.reason


@pytest.mark.parametrize(
    ("engine", "words"),
    [("sglang", "only the mean"), ("vllm", "every 10 s"), ("llama.cpp", "no draft line"), (None, "does not tell it")],
)
def test_where_nothing_was_measured_nothing_is_made_up(engine: str | None, words: str) -> None:
    view = acceptance_view(life(), engine, level(None, 2.12))
    assert view.positions == ()
    assert view.accept_len == 2.12
    assert words in view.reason


def test_no_server_and_a_baseline_have_their_reasons() -> None:
    assert acceptance_view(None, None, None).reason == "no line of a server yet"
    baseline = Life(1)
    baseline.statistics.is_acceptance_told = True
    assert acceptance_view(baseline, "sglang", None).positions == ()
