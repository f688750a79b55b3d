"""Whether two servers worked at the same time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.overlap import busy_seconds, shared_seconds

DAY = 1_772_000_000.0


def steady(first: float, last: float, every: float = 1.0) -> list[float]:
    return [DAY + first + every * step for step in range(int((last - first) / every) + 1)]


@pytest.mark.parametrize(
    ("left", "right", "seconds"),
    [
        (steady(0, 100), steady(60, 200), 40),
        (steady(0, 100), steady(100, 200), 0),
        (steady(0, 100), steady(500, 600), 0),
        # in turn: while one works the other rests
        (steady(0, 30) + steady(60, 90), steady(31, 59) + steady(91, 120), 0),
        (steady(0, 100), [DAY + 50], 0),  # a single request is no load
        (steady(0, 100, 10), steady(0, 100, 10), 100),  # a line every ten seconds
        ([], steady(0, 100), 0),
    ],
)
def test_times_that_both_worked_are_counted(left: list[float], right: list[float], seconds: float) -> None:
    assert shared_seconds(left, right) == seconds
    assert shared_seconds(right, left) == seconds


def test_uptimes_and_dates_say_nothing_of_each_other() -> None:
    uptime = [each - DAY for each in steady(0, 100)]
    assert shared_seconds(uptime, uptime) == 0
    assert shared_seconds(uptime, steady(0, 100)) == 0


@given(*[st.lists(st.floats(DAY, DAY + 1000, allow_nan=False), max_size=60).map(sorted)] * 2)
def test_shared_time_is_at_most_what_each_worked(left: list[float], right: list[float]) -> None:
    shared = shared_seconds(left, right)
    assert 0 <= shared <= min(busy_seconds(left), busy_seconds(right)) + 1e-6
    assert shared_seconds(left, left) == pytest.approx(busy_seconds(left))
