"""The last lasting change of a series: found when it is there, and not made of noise."""

from __future__ import annotations

import math
import random

import pytest

from specmon.analysis.changepoint import last_change


def noisy(count: int, level: float, sigma: float, correlation: float, source: random.Random) -> list[float]:
    """Values around a level whose neighbours are alike."""
    found, state = [], 0.0
    for _ in range(count):
        state = correlation * state + math.sqrt(1 - correlation**2) * source.gauss(0, 1)
        found.append(level * math.exp(sigma * state))
    return found


def test_a_longer_verify_is_found_where_it_began() -> None:
    source = random.Random(7)
    values = noisy(40, 21.0, 0.01, 0.5, source) + noisy(20, 28.7, 0.01, 0.5, source)
    change = last_change(values)
    assert change is not None
    assert change.index == 40
    assert change.before == pytest.approx(21.0, rel=0.02)
    assert change.now == pytest.approx(28.7, rel=0.02)
    assert change.factor == pytest.approx(28.7 / 21.0, rel=0.03)


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_fewer_than_three_values_never_make_a_change(changed: int) -> None:
    for seed in range(50):
        source = random.Random(seed)
        values = noisy(20, 21.0, 0.01, 0.5, source) + noisy(changed, 42.0, 0.01, 0.5, source)
        assert last_change(values) is None


def test_three_values_make_one() -> None:
    change = last_change([21.0, 21.1, 20.9, 21.0, 28.7, 28.6, 28.8])
    assert change is not None
    assert (change.index, change.before, change.now) == (4, 21.0, 28.7)


@pytest.mark.parametrize("count", range(6))
def test_a_handful_of_values_tells_nothing(count: int) -> None:
    assert last_change([1.0, 1.0, 1.0, 9.0, 9.0][:count]) is None


def test_spikes_are_no_change() -> None:
    values = [21.0 + 0.01 * (index % 7) for index in range(60)]
    for index in (5, 6, 30, 58, 59):
        values[index] = 80.0
    assert last_change(values) is None


def test_a_change_below_three_percent_is_not_worth_a_word() -> None:
    assert last_change([20.0] * 30 + [20.5] * 30) is None
    assert last_change([20.0] * 30 + [20.7] * 30) is not None


def test_of_several_changes_the_last_is_told_against_the_level_before_it() -> None:
    change = last_change([10.0] * 100 + [20.0] * 30 + [15.0] * 30)
    assert change is not None
    assert (change.index, change.before, change.now) == (130, 20.0, 15.0)


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("count", [6, 12, 30, 60, 120])
def test_noise_alone_hardly_ever_tells_a_change(sigma: float, count: int) -> None:
    source = random.Random(11)
    told = sum(last_change(noisy(count, 20.0, sigma, 0.5, source)) is not None for _ in range(200))
    assert told <= 2
