"""The plan: rectangles that never overlap, and what goes first when rows are short."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.ui.layout import Area, Focus, Form, Needs, plan


def _overlap(a: Area, b: Area) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


_needs = st.builds(
    Needs, verdict=st.integers(2, 5), note=st.integers(0, 2), others=st.integers(0, 3), has_phases=st.booleans()
)


@given(st.integers(40, 300), st.integers(12, 100), st.sampled_from(Focus), st.booleans(), _needs)
def test_no_panel_overlaps_another_or_leaves_the_screen(
    width: int, height: int, focus: Focus, playback: bool, needs: Needs
) -> None:
    areas = plan(width, height, focus=focus, has_playback=playback, needs=needs).areas
    for area in areas.values():
        assert area.x >= 0
        assert area.y >= 0
        assert area.x + area.width <= width
        assert area.y + area.height <= height
        assert area.height > 0
        assert area.width > 0
    assert not any(_overlap(a, b) for a, b in itertools.combinations(areas.values(), 2))
    assert {"verdict", "baseline", "speculative", "footer"} <= set(areas)
    assert areas["verdict"].height >= 2


@given(st.integers(40, 300), st.integers(12, 100))
def test_baseline_stands_left_of_speculative_or_above(width: int, height: int) -> None:
    areas = plan(width, height).areas
    base, spec = areas["baseline"], areas["speculative"]
    assert (base.x, base.y) < (spec.x, spec.y) if width < 72 else base.x < spec.x and base.y == spec.y
    assert base.height == spec.height


@pytest.mark.parametrize(
    ("size", "form"),
    [((40, 12), Form.NARROW), ((80, 24), Form.NORMAL), ((120, 40), Form.WIDE), ((200, 60), Form.HUGE)],
)
def test_each_size_has_its_form(size: tuple[int, int], form: Form) -> None:
    assert plan(*size).form is form


def test_panels_go_in_the_agreed_order_when_rows_are_short() -> None:
    def shown(height: int) -> tuple[bool, int, bool, bool]:
        found = plan(80, height)
        lines = found.areas["comparison"].height if "comparison" in found.areas else 0
        return "events" in found.areas, lines, found.chart_rows > 0, "verdict" in found.areas

    seen = [shown(height) for height in range(24, 7, -1)]
    assert seen[0] == (True, 5, True, True)
    assert seen[-1][1:] == (0, False, True)
    ranks = [sum((events, lines, chart * 1)) for events, lines, chart, _ in seen]
    assert ranks == sorted(ranks, reverse=True)


def test_replay_bar_and_demo_note_have_their_rows() -> None:
    areas = plan(80, 24, has_playback=True, needs=Needs(note=2)).areas
    assert areas["playback"].height == areas["note"].height == 1
    assert areas["playback"].y == areas["footer"].y - 1


def test_words_get_a_second_row_only_where_there_is_room() -> None:
    needs = Needs(verdict=3, note=2, others=1)
    tall, short = plan(120, 40, needs=needs).areas, plan(120, 24, needs=needs).areas
    assert (tall["verdict"].height, tall["note"].height, tall["others"].height) == (3, 2, 1)
    assert (short["verdict"].height, short["note"].height) == (2, 1)
    assert "others" not in short


def test_a_wide_screen_with_phases_has_room_for_the_causes() -> None:
    areas = plan(120, 40, has_playback=True, needs=Needs(verdict=3, has_phases=True)).areas
    assert areas["differences"].height == areas["comparison"].height + areas["events"].height >= 10
