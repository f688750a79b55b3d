"""The best number of draft steps from a sweep, or why it cannot be told."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.sweep import Prediction, SweepPoint, predict

DRAFTER = ("EAGLE3", "/draft")


def accept(chance: float, steps: int) -> float:
    return sum(chance**each for each in range(steps + 1))


def point(
    steps: int, *, chance: float = 0.7, base: float = 12.0, per_token: float = 1.5, noise: float = 0.0, **other: object
) -> SweepPoint:
    given: dict[str, object] = {
        "steps": steps,
        "draft_tokens": steps + 1,
        "topk": 1,
        "drafter": DRAFTER,
        "cycle_ms": (base + per_token * (steps + 1)) * (1 + noise),
        "accept_len": accept(chance, steps),
    }
    given.update(other)
    return SweepPoint(**given)  # type: ignore[arg-type]  # a table of keyword arguments


def best_by_search(chance: float, base: float, per_token: float, upto: int) -> int:
    return max(range(1, upto + 1), key=lambda steps: accept(chance, steps) / (base + per_token * (steps + 1)))


def test_fit_recovers_what_made_the_figures() -> None:
    found = predict([point(steps) for steps in (1, 3, 5)])
    assert isinstance(found, Prediction)
    assert found.cycle_base_ms == pytest.approx(12.0)
    assert found.cycle_per_token_ms == pytest.approx(1.5)
    assert found.acceptance == pytest.approx(0.7, abs=1e-6)
    assert found.misfit == pytest.approx(0, abs=1e-6)
    assert found.best_steps == best_by_search(0.7, 12.0, 1.5, 9)
    assert found.tested == (1, 3, 5)
    assert found.lowest <= found.best_steps <= found.highest


@given(
    chance=st.floats(0.2, 0.9),
    base=st.floats(5, 40),
    per_token=st.floats(0.2, 4),
    tested=st.sets(st.integers(1, 8), min_size=3, max_size=6),
)
def test_exact_figures_give_the_best_of_what_is_looked_at(
    chance: float, base: float, per_token: float, tested: set[int]
) -> None:
    found = predict([point(steps, chance=chance, base=base, per_token=per_token) for steps in tested])
    assert isinstance(found, Prediction)
    best = best_by_search(chance, base, per_token, max(tested) + 4)

    def speed(steps: int) -> float:
        return accept(chance, steps) / (base + per_token * (steps + 1))

    assert math.isclose(speed(found.best_steps), speed(best), rel_tol=1e-6)
    assert found.lowest <= best <= found.highest


@pytest.mark.parametrize("seed", range(8))
def test_noise_widens_the_range_so_that_it_holds_the_truth(seed: int) -> None:
    noise = random.Random(seed)
    points = [point(steps, noise=noise.gauss(0, 0.02)) for steps in (1, 2, 4, 6)]
    found = predict(points)
    assert isinstance(found, Prediction)
    assert found.lowest <= best_by_search(0.7, 12.0, 1.5, 10) <= found.highest


def test_acceptance_by_position_is_used_where_it_is_logged() -> None:
    shares = (0.8, 0.5, 0.2)
    points = [
        point(steps, accept_len=1 + sum(shares[:steps]), by_position=shares[:steps], per_token=2.0)
        for steps in (1, 2, 3)
    ]
    found = predict(points)
    assert isinstance(found, Prediction)
    assert found.is_by_position
    assert found.acceptance == pytest.approx(0.8)
    speeds = {steps: (1 + sum(shares[:steps])) / (12 + 2.0 * (steps + 1)) for steps in (1, 2, 3)}
    assert found.best_steps == max(speeds, key=lambda steps: speeds[steps])


def test_best_beyond_what_was_tried_is_said_to_be_a_guess() -> None:
    found = predict([point(steps, chance=0.95, per_token=0.1) for steps in (1, 2, 3)])
    assert isinstance(found, Prediction)
    assert not found.is_tested
    assert found.is_open
    assert found.best_steps == 7


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([], "no setting has all"),
        ([point(1), point(3)], "at least 3 different numbers of draft tokens of one drafter, here are 2"),
        ([point(3), point(3), point(3)], "here is 1"),
        ([point(steps, drafter=("EAGLE", str(steps))) for steps in (1, 2, 3)], "other drafters"),
        ([point(steps, topk=4) for steps in (1, 2, 3)], "draft trees"),
        ([point(1), point(2), point(3, topk=4)], "trees (top-k above 1) do not count"),
        ([point(steps, draft_tokens=16) for steps in (1, 2, 3)], "draft trees"),
        ([point(steps, cycle_ms=None) for steps in (1, 2, 3)], "no setting has all"),
        ([point(steps, accept_len=math.nan) for steps in (1, 2, 3)], "no setting has all"),
        ([point(steps, cycle_ms=0.0) for steps in (1, 2, 3)], "no setting has all"),
        ([point(steps, per_token=-1.0) for steps in (1, 2, 3)], "does not get longer"),
        ([point(1), point(2, cycle_ms=40.0), point(3)], "does not grow evenly"),
        ([point(1), point(2, accept_len=1.1), point(3), point(4, accept_len=4.9)], "one chance of acceptance"),
    ],
)
def test_settings_that_tell_nothing_give_the_reason(points: list[SweepPoint], reason: str) -> None:
    found = predict(points)
    assert isinstance(found, str)
    assert reason in found
