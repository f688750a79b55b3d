"""Columns hold each figure exactly, in whatever form they keep it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.columns import Column

_FIGURES = st.one_of(
    st.just(math.nan),
    st.sampled_from([0.0, 1.0, 88.8]),
    st.integers(-(10**9), 10**9).map(lambda hundredths: hundredths / 100),
    st.integers(1_700_000_000, 1_900_000_000).map(float),  # times
    st.floats(allow_nan=False),
)


def _same(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


_PARTS = st.one_of(_FIGURES, st.lists(_FIGURES, max_size=6))
_DROPS = st.none() | st.integers(0, 1000)  # which figure goes after a part has come


@given(st.lists(st.tuples(_PARTS, _DROPS), max_size=20), st.integers(0, 50))
def test_figures_come_back_as_they_went_in(parts: list[tuple[float | list[float], int | None]], forgotten: int) -> None:
    column = Column()
    expected: list[float] = []
    for part, drop in parts:
        if isinstance(part, float):
            column.append(part)
            expected.append(part)
        else:
            column.extend(np.array(part, dtype=np.float64))
            expected += part
        if expected and drop is not None:
            del column[drop % len(expected)]
            del expected[drop % len(expected)]
    if forgotten:
        column.forget(forgotten % (len(expected) + 1))
        del expected[: forgotten % (len(expected) + 1)]
        column.append(88.8)
        expected.append(88.8)
    assert len(column) == len(expected)
    assert _same(list(column), expected)
    assert _same(column.every(), expected)
    assert _same(column.numbers().tolist(), expected)
    assert _same(column.numbers(slice(1, 3)).tolist(), expected[1:3])


def test_one_value_all_the_time_is_told() -> None:
    column = Column()
    column.extend(np.full(5, 40.0))
    assert column.only == 40.0
    column.append(41.0)
    assert column.only is None
    with pytest.raises(IndexError):
        column[6]
