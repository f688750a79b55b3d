"""The rasteriser: what a chart keeps, and what it leaves empty."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.ui import braille


def test_a_single_spike_survives_among_many_samples() -> None:
    points = [(i * 0.01, 60.0) for i in range(1000)]
    points[500] = (5.0, 95.0)
    found = braille.columns(points, 0.0, 10.0, 20)
    assert max(column[1] for column in found if column is not None) == 95.0


def test_a_column_without_samples_stays_empty() -> None:
    assert braille.columns([(0.5, 1.0), (9.5, 2.0)], 0.0, 10.0, 10) == [
        (1.0, 1.0), None, None, None, None, None, None, None, None, (2.0, 2.0),
    ]  # fmt: skip


def test_near_neighbours_are_joined_and_far_ones_are_not() -> None:
    found: list[braille.Column] = [(1.0, 1.0), None, (3.0, 3.0), None, None, None, (3.0, 3.0)]
    assert braille.bridge(found, 2) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), None, None, None, (3.0, 3.0)]


def test_a_wall_is_never_bridged() -> None:
    found: list[braille.Column] = [(1.0, 1.0), None, (3.0, 3.0)]
    assert braille.bridge(found, 5, frozenset({1})) == found


def test_line_stands_on_top_of_its_area() -> None:
    line, area = braille.raster([(4.0, 4.0), (4.0, 4.0)], 0.0, 7.0, 2)
    assert [braille.glyph(row[0]) for row in line] == ["⣀", "⠀"]
    assert [braille.glyph(row[0]) for row in area] == ["⠀", "⣿"]


def test_a_jump_leaves_no_hole_in_the_line() -> None:
    line, _ = braille.raster([(0.0, 0.0), (7.0, 7.0)], 0.0, 7.0, 2)
    assert [braille.glyph(row[0]) for row in line] == ["⢸", "⡸"]


def test_values_out_of_range_stick_to_the_edge() -> None:
    assert braille.dot_row(-5.0, 0.0, 10.0, 8) == 0
    assert braille.dot_row(99.0, 0.0, 10.0, 8) == 7


@pytest.mark.parametrize(
    ("value", "top"), [(88.8, 100.0), (96.0, 100.0), (101.0, 120.0), (0.7, 0.8), (412.0, 500.0), (0.0, 0.0)]
)
def test_axis_ends_on_a_round_number(value: float, top: float) -> None:
    assert braille.nice_top(value) == pytest.approx(top)


def test_axis_without_values_has_no_ticks() -> None:
    assert braille.ticks(0.0, 0.0, 8) == {}


@given(st.floats(0.01, 1e6))
def test_the_largest_value_always_fits(value: float) -> None:
    top = braille.nice_top(value)
    assert value <= top <= 2 * value + 1e-9
    assert len(set(map(braille.label, braille.ticks(0.0, top, 16).values()))) == 4


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(-1e6, 1e6)), max_size=60),
    st.integers(1, 40),
    st.integers(1, 12),
)
def test_every_picture_has_its_size_and_only_braille(points: list[tuple[float, float]], width: int, rows: int) -> None:
    found = braille.columns(sorted(points), 0.0, 100.0, width * 2)
    assert sum(column is not None for column in found) <= len(points)
    for masks in braille.raster(braille.bridge(found, 3), 0.0, 100.0, rows):
        assert [len(row) for row in masks] == [width] * rows
        assert all(0 <= mask <= 0xFF for row in masks for mask in row)


def test_sparkline_marks_a_pause_with_a_blank() -> None:
    assert braille.sparkline([(1.0, 1.0), None, (8.0, 8.0)], 1.0, 8.0) == "▁ █"
    assert braille.sparkline([(1.0, 1.0), None, (8.0, 8.0)], 1.0, 8.0, ascii_only=True) == ". @"


def test_not_a_number_is_no_value() -> None:
    assert braille.columns([(1.0, math.nan)], 0.0, 2.0, 2) == [None, None]
