"""Which runs of one setting are pooled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.figures import LevelFigures
from specmon.analysis.repeats import series_of


def level(tok_s: float, share: float = 0.01, clean: int = 40) -> LevelFigures:
    interval = (tok_s * (1 - share), tok_s * (1 + share))
    return LevelFigures(1, clean, clean, decode_tok_s=tok_s, decode_tok_s_ci95=interval)


@pytest.mark.parametrize(
    ("levels", "series"),
    [
        ([level(100), level(103), level(97)], [[0, 1, 2]]),  # three repeats
        ([level(100), level(113)], [[0, 1]]),  # what one server moved from run to run
        ([level(100), level(400), level(101)], [[0, 2], [1]]),
        ([level(400), level(100), level(101)], [[0], [1, 2]]),  # the first run's series comes first
        ([level(100, 0.6), level(180, 0.6)], [[0, 1]]),  # far apart, but each so unsure that nothing is contradicted
        ([level(100), level(400, clean=9)], [[0, 1]]),  # too few samples to contradict anything
        ([level(100), level(101), None, level(400)], [[0, 1, 2], [3]]),
        ([None, None], [[0, 1]]),
        ([level(100), level(120), level(144)], [[0, 1, 2]]),  # a scatter without a gap is one series
    ],
)
def test_runs_are_pooled_unless_they_contradict(levels: list[LevelFigures | None], series: list[list[int]]) -> None:
    assert series_of(levels) == series


@given(st.lists(st.one_of(st.none(), st.floats(1, 1000).map(level)), min_size=1, max_size=8))
def test_every_run_is_in_one_series(levels: list[LevelFigures | None]) -> None:
    found = series_of(levels)
    assert sorted(at for each in found for at in each) == list(range(len(levels)))
    assert found[0][0] == 0
