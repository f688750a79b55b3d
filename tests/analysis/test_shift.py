"""A lasting step of the cycle time among the clean samples of one level."""

from __future__ import annotations

import random

import pytest

from specmon.analysis.clean import CleanColumns
from specmon.analysis.shift import shift_of
from tests.monitor.lines import decode, server_of


def clean_of(speeds: list[float]) -> CleanColumns:
    """What a baseline's log with these speeds gives."""
    server = server_of("".join(decode(float(number), speed) for number, speed in enumerate(speeds)))
    assert server.life is not None
    level = server.life.statistics.level_of("TP0", 1)
    assert level is not None
    return level.clean


def noisy(count: int, tok_s: float, seed: int, sigma: float = 0.01) -> list[float]:
    chance = random.Random(seed)
    return [tok_s * (1 + chance.gauss(0, sigma)) for _ in range(count)]


@pytest.mark.parametrize("part", [0.1, 0.48, 0.5, 0.52, 0.7, 0.9])
def test_a_step_of_29_percent_is_found_where_it_is(part: float) -> None:
    before = round(300 * part)
    clean = clean_of([*noisy(before, 88.8, 1), *noisy(300 - before, 62.9, 2)])
    shift = shift_of(clean)
    assert shift is not None
    assert shift.now_ms / shift.before_ms == pytest.approx(88.8 / 62.9, rel=0.02)
    assert abs(shift.clean - (300 - before)) <= 8  # two blocks
    assert shift.now_ms == pytest.approx(1000 / 62.9, rel=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_steady_speed_and_a_small_step_are_none(seed: int) -> None:
    assert shift_of(clean_of(noisy(300, 88.8, seed))) is None
    assert shift_of(clean_of([*noisy(150, 88.8, seed), *noisy(150, 86.5, seed + 100)])) is None


def test_a_single_dip_is_none() -> None:
    assert shift_of(clean_of([*noisy(100, 88.8, 1), 70.0, *noisy(100, 88.8, 2)])) is None


def test_a_few_samples_or_none_are_none() -> None:
    assert shift_of(CleanColumns(1)) is None
    assert shift_of(clean_of(noisy(4, 88.8, 1))) is None


def test_a_long_series_takes_no_more_looks_than_a_short_one() -> None:
    shift = shift_of(clean_of([*noisy(2000, 88.8, 1), *noisy(1000, 62.9, 2)]))
    assert shift is not None
    assert abs(shift.clean - 1000) <= 64
