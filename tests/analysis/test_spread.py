"""Order statistics."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.median import RunningMedian
from specmon.analysis.spread import deviation_of, interval_of_median, median_of, quantile_of

_NUMBERS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=60)


@given(_NUMBERS)
def test_running_median_is_the_median_at_every_step(values: list[float]) -> None:
    running = RunningMedian()
    for count, value in enumerate(values, start=1):
        running.add(value)
        assert running.value == pytest.approx(statistics.median(values[:count]))
    assert len(running) == len(values)


@given(st.lists(st.one_of(st.floats(0.1, 100), st.lists(st.floats(0.1, 100), max_size=30)), min_size=1, max_size=40))
def test_running_median_of_batches_and_single_figures(parts: list[float | list[float]]) -> None:
    running = RunningMedian()
    seen: list[float] = []
    for part in parts:
        more = [part] if isinstance(part, float) else part
        bounds = running.bounds(len(more))
        if isinstance(part, float):
            running.add(part)
        else:
            running.extend(np.array(part))
        seen += more
        if seen:
            assert running.value == statistics.median(seen)
        if bounds is not None:
            assert bounds[0] <= statistics.median(seen) <= bounds[1]
    assert len(running) == len(seen)


def test_running_median_of_very_many_keeps_the_middle_and_finds_the_rest_again() -> None:
    seen: list[float] = []
    running = RunningMedian(everything=lambda: np.array(seen))
    chance = random.Random(1)
    for speed in (10.0, 10.0, 30.0, 2.0):  # the median leaves what is kept, upwards and downwards
        for _ in range(30):
            more = [chance.gauss(speed, 1) for _ in range(2000)]
            seen += more
            running.extend(np.array(more))
            seen.append(chance.gauss(speed, 1))
            running.add(seen[-1])
            assert len(running) == len(seen)
        assert running.value == statistics.median(seen)


def test_running_median_of_thousands_that_came_one_by_one_is_held_in_arrays() -> None:
    seen: list[float] = []
    running = RunningMedian()
    chance = random.Random(2)
    assert running.in_order is None
    for number in range(12_000):
        seen.append(chance.gauss(10, 1) if number % 3 else 7.5)
        running.add(seen[-1])
        if number % 97 == 0:
            assert running.value == statistics.median(seen)
    ordered = running.in_order
    assert ordered is not None
    assert [ordered[rank] for rank in range(0, len(seen), 500)] == sorted(seen)[::500]
    thinned = running.thinned()
    assert len(thinned) == len(seen) // 2
    assert thinned.value == statistics.median(sorted(seen)[::2])


@given(_NUMBERS)
def test_median_and_deviation_agree_with_the_library(values: list[float]) -> None:
    middle = statistics.median(values)
    assert median_of(sorted(values)) == pytest.approx(middle)
    assert deviation_of(sorted(values)) == pytest.approx(statistics.median(abs(value - middle) for value in values))


def test_nothing_has_no_median() -> None:
    assert median_of([]) is None
    assert deviation_of([]) is None
    assert quantile_of([], 0.5) is None
    assert RunningMedian().value is None


@pytest.mark.parametrize("count", range(1, 6))
def test_interval_is_unknown_below_six(count: int) -> None:
    assert interval_of_median(list(map(float, range(count)))) is None


@pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (15, 4), (100, 40), (1000, 469)])
def test_interval_takes_the_known_ranks(count: int, rank: int) -> None:
    values = list(map(float, range(1, count + 1)))
    assert interval_of_median(values) == (rank, count + 1 - rank)


@given(st.integers(6, 1000))
def test_interval_is_the_narrowest_that_covers(count: int) -> None:
    found = interval_of_median(list(map(float, range(1, count + 1))))
    assert found is not None
    rank = round(found[0])

    def missed(k: int) -> float:
        return float(2 * sum(math.comb(count, heads) for heads in range(k)) / 2**count)

    assert missed(rank) <= 0.05 < missed(rank + 1)


def test_quantile_lies_between_neighbours() -> None:
    assert quantile_of([0.0, 10.0], 0.05) == pytest.approx(0.5)
    assert quantile_of([1.0, 2.0, 3.0], 1.0) == 3.0


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.lists(st.floats(-1e6, 1e6), max_size=40), st.booleans())
def test_a_running_median_of_fewer_is_that_of_just_these(kept: list[float], more: list[float], is_sorted: bool) -> None:
    running = RunningMedian([3.0, 1.0, 2.0])
    if is_sorted:
        running.extend(np.array([5.0]))
    fewer = running.of_fewer(np.array(kept))
    for value in more:
        fewer.add(value)
    assert len(fewer) == len(kept) + len(more)
    assert fewer.value == median_of(sorted([*kept, *more]))
