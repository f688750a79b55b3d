"""Whatever comes is on the screen within a beat, and what comes close together shares a picture."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.ui.pace import Pace

BEAT_S = 0.25
ARRIVALS = st.lists(st.floats(0.0, 30.0), min_size=1, max_size=200).map(sorted)


def pictures_of(arrivals: list[float]) -> list[float]:
    """When pictures are taken of what comes at these times."""
    pace, taken = Pace(BEAT_S), list[float]()
    for at in arrivals:
        if taken and at < taken[-1]:
            continue  # it shares the picture that waits already
        due = pace.due(at)
        pace.take(due)
        taken.append(due)
    return taken


@given(arrivals=ARRIVALS)
def test_all_that_comes_is_in_a_picture_within_a_beat_and_no_picture_is_without_need(arrivals: list[float]) -> None:
    taken = pictures_of(arrivals)
    for at in arrivals:
        assert min(picture for picture in taken if picture >= at) - at <= BEAT_S + 1e-9
    for earlier, later in pairwise([-1.0, *taken]):
        assert later - earlier >= BEAT_S
        assert any(earlier <= at <= later for at in arrivals)


def test_what_comes_after_a_quiet_moment_is_drawn_at_once() -> None:
    assert pictures_of([1.0, 1.6, 3.0]) == [1.0, 1.6, 3.0]


def test_a_stream_is_drawn_on_the_beat() -> None:
    taken = pictures_of([number / 1000 for number in range(10_000)])
    assert len(taken) == pytest.approx(10 / BEAT_S, abs=2)


@pytest.mark.parametrize("apart_s", [number / 100 for number in range(0, 50, 3)])
def test_two_servers_with_two_lines_a_second_need_two_pictures_a_second(apart_s: float) -> None:
    arrivals = sorted([number / 2 for number in range(60)] + [number / 2 + apart_s for number in range(60)])
    assert len(pictures_of(arrivals)) / 30 <= 2.1
