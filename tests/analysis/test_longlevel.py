"""Order statistics of long columns are those of a sorted list, however they are found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.columns import Column
from specmon.analysis.delivery import add_equals
from specmon.analysis.longlevel import Ordered, Tally, ordered_columns
from specmon.analysis.median import RunningMedian
from specmon.analysis.spread import deviation_of, interval_of_median, median_of, quantile_of

_HUNDREDTHS = st.integers(0, 300).map(lambda hundredths: hundredths / 100)
_ANY = st.one_of(_HUNDREDTHS, st.just(math.nan), st.floats(-1e9, 1e9))


def _column(values: list[float]) -> Column:
    column = Column()
    column.extend(np.array(values))
    return column


def _check(found: Ordered | Tally, figures: list[float]) -> None:
    expected = sorted(figures)
    assert [found[rank] for rank in range(len(found))] == expected
    assert (median_of(found), interval_of_median(found)) == (median_of(expected), interval_of_median(expected))
    assert quantile_of(found, 0.05) == quantile_of(expected, 0.05)
    if expected:
        assert median_of(found.deviations(median_of(expected) or 0.0)) == deviation_of(expected)


@given(st.lists(st.lists(_HUNDREDTHS, min_size=1, max_size=30), min_size=1, max_size=3))
def test_figures_with_two_decimals_are_counted(columns: list[list[float]]) -> None:
    found = ordered_columns([_column(values) for values in columns])
    assert isinstance(found, Tally)
    _check(found, [value for values in columns for value in values])


@given(st.lists(st.lists(_ANY, max_size=30), min_size=1, max_size=3))
def test_any_figures_are_put_in_order_without_those_that_are_none(columns: list[list[float]]) -> None:
    found = ordered_columns([_column(values) for values in columns])
    _check(found, [value for values in columns for value in values if value == value])


def test_one_value_all_the_time_needs_no_array() -> None:
    found = ordered_columns([_column([0.0] * 50_000), _column([math.nan] * 50_000)])
    assert isinstance(found, Tally)
    assert (len(found), found[0], found[49_999]) == (50_000, 0.0, 0.0)


@given(st.lists(st.lists(_HUNDREDTHS, max_size=20), min_size=1, max_size=6), st.lists(_HUNDREDTHS, max_size=5))
def test_a_running_median_gives_the_figure_of_each_rank(batches: list[list[float]], late: list[float]) -> None:
    running = RunningMedian()
    assert running.in_order is None  # what comes one by one is not in order
    for batch in batches:
        running.extend(np.array(batch))
    for value in late:
        running.add(value)
    found = running.in_order
    assert found is not None
    expected = sorted([*late, *(value for batch in batches for value in batch)])
    assert [found[rank] for rank in range(len(found))] == expected


@pytest.mark.parametrize(("start", "value"), [(0.0, 40.0), (7.0, 1.0), (0.1, 40.0), (0.0, 0.1), (2.0**53, 1.0)])
def test_equal_numbers_add_up_as_one_by_one(start: float, value: float) -> None:
    expected = start
    for _ in range(1000):
        expected += value
    assert add_equals(start, value, 1000) == expected
