"""Acceptance by position: only what was measured, and whether it adds up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from specmon.analysis.combine import combine_levels
from specmon.analysis.figures import LevelFigures
from specmon.analysis.level import RankLevel
from specmon.analysis.sample import Sample
from specmon.monitor.life import Life
from specmon.monitor.positions import acceptance_view
from specmon.monitor.session import Session
from specmon.sources.events import Chunk

DATA = Path(__file__).parents[1] / "data"


def life() -> Life:
    made = Life(1)
    made.statistics.turn_speculative()
    return made


def level(positions: tuple[float, ...] | None, accept: float | None, share: float = 1.0) -> LevelFigures:
    return LevelFigures(1, 20, 20, accept_len=accept, pooled_by_position=positions, drafting_share=share)


def sample(by_position: tuple[float, ...], rounds: float, accepted: float) -> Sample:
    return Sample(
        index=0, at=0.0, running=1, tok_s=100.0, server_tok_s=100.0, accept_len=1 + accepted / rounds, cycle_ms=10.0,
        context_tokens=math.nan, queue=0.0, graph=-1, cycles=rounds, window_s=10.0, tokens=1000.0, rounds=rounds,
        window_cycles=rounds, drafted=4 * rounds, accepted=accepted, by_position=by_position,
    )  # fmt: skip


def test_short_and_long_windows_are_pooled_by_their_rounds() -> None:
    level = RankLevel(1)
    for each in (sample((0.9, 0.5), 10, 14), sample((0.2, 0.1), 90, 27)):
        level.count(each)
        level.admit(each, [])
    figures = combine_levels(1, [("", level)], samples=2)
    assert figures.pooled_by_position == pytest.approx((0.27, 0.14))
    assert figures.accept_by_position == pytest.approx((0.55, 0.3))  # medians, as the contract has them
    view = acceptance_view(life(), "vllm", figures)
    assert (view.sum_text, view.is_sum_ok) == ("1 + 0.27 + 0.14 = 1.41", True)


def test_cycles_without_a_draft_are_named_where_the_sum_does_not_fit() -> None:
    level = RankLevel(1)
    quiet = sample((0.5, 0.3), 100, 40)  # 40 accepted of 0.8 a draft: 50 drafts in 100 cycles
    level.count(quiet)
    level.admit(quiet, [])
    figures = combine_levels(1, [("", level)], samples=1)
    assert figures.drafting_share == pytest.approx(0.5)
    view = acceptance_view(life(), "llama.cpp", figures)
    assert view.is_sum_ok is False
    assert view.reason == (
        "the accept length is 1.40: the positions are of the 50 % of the cycles that had a draft, the accept length is "
        "of all"
    )


@pytest.mark.parametrize(
    "log",
    [
        *sorted(each for each in (DATA / "vllm").glob("*-spec-*.log") if "no-stats" not in each.name),
        DATA / "llamacpp" / "llamacpp-b11434-cpu-spec-draft-k4-lv4.log",
    ],
    ids=lambda path: path.stem,
)
def test_genuine_logs_add_up_at_every_level(log: Path) -> None:
    session = Session()
    session.add("1", log.name)
    session.feed("1", Chunk(0.0, 0, log.read_bytes()))
    session.finish()
    (server,) = session.servers
    views = [acceptance_view(life, server.engine, level) for life in server.lives for level in life.figures().levels]
    assert views
    assert [view.sum_text for view in views if view.is_sum_ok is not True] == []


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
