"""Phases over time: bounded, joined by cycles, and told when they change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.phasehistory import HELD, PhaseHistory, PhaseWindow, changes_of, grouped, joined


def window(at: float, verify: float, cycles: float = 40, **more: float) -> PhaseWindow:
    return PhaseWindow(at, cycles, verify + 1.2, {"verify": verify, **more})


def test_windows_of_sources_and_levels_are_kept_apart() -> None:
    history = PhaseHistory()
    history.add("probe", 1, window(1, 20))
    history.add("probe", 8, window(2, 30))
    history.add("log", 1, window(3, 40))
    assert [each.at for each in history.windows("probe", 1)] == [1]
    assert [each.at for each in history.windows("probe", 8)] == [2]
    assert history.windows("metrics", 1) == ()


def test_a_week_of_windows_stays_bounded_and_keeps_its_mean() -> None:
    history = PhaseHistory()
    count = 5 * HELD
    for index in range(count):
        history.add("probe", 1, window(10.0 * index, 20 + index % 3))
    held = history.windows("probe", 1)
    assert HELD <= len(held) < 2 * HELD
    assert sum(each.cycles for each in held) == 40 * count
    mean = sum(each.cycles * each.ms["verify"] for each in held) / (40 * count)
    assert mean == pytest.approx(sum(20 + index % 3 for index in range(count)) / count)
    assert held[-1].at == 10.0 * (count - 1)


def test_single_steps_are_gathered_to_windows() -> None:
    history = PhaseHistory()
    for index in range(100):
        history.add("log", 1, PhaseWindow(index * 0.02, 1, 20.0, {"decode": 20.0}))
    assert [each.cycles for each in history.windows("log", 1)] == [40, 40, 20]


def test_a_window_without_a_time_has_no_place() -> None:
    history = PhaseHistory()
    history.add("probe", 1, window(math.nan, 20))
    assert history.windows("probe", 1) == ()


@given(st.lists(st.tuples(st.floats(1, 1000), st.floats(0.1, 100)), min_size=1, max_size=20))
def test_joining_weighs_by_cycles(parts: list[tuple[float, float]]) -> None:
    found = joined([PhaseWindow(at, cycles, None, {"verify": ms}) for at, (cycles, ms) in enumerate(parts)])
    total = sum(cycles for cycles, _ in parts)
    assert found.cycles == pytest.approx(total)
    assert found.ms["verify"] == pytest.approx(sum(cycles * ms for cycles, ms in parts) / total)
    assert found.cycle_ms is None


def test_a_phase_that_some_windows_lack_is_the_mean_of_the_others() -> None:
    found = joined([window(1, 20, draft=2.0), window(2, 30)])
    assert found.ms == {"verify": 25.0, "draft": 2.0}


def test_the_change_of_verify_is_told_with_its_moment() -> None:
    windows = [window(100.0 + index, 21.0, draft=0.6) for index in range(20)]
    windows += [window(120.0 + index, 28.7, draft=0.6) for index in range(10)]
    cycle, verify = changes_of(windows)
    assert (cycle.name, cycle.before_ms, cycle.now_ms) == ("cycle", 22.2, 29.9)
    assert (verify.name, verify.before_ms, verify.now_ms, verify.since) == ("verify", 21.0, 28.7, 120.0)


def test_two_windows_of_a_longer_verify_are_not_told() -> None:
    windows = [window(100.0 + index, 21.0) for index in range(20)]
    assert changes_of([*windows, window(120.0, 28.7), window(121.0, 28.7)]) == ()
    assert changes_of([*windows, window(120.0, 28.7), window(121.0, 28.7), window(122.0, 28.7)]) != ()


def test_a_long_history_is_searched_in_groups() -> None:
    windows = [window(float(index), 21.0) for index in range(1500)]
    windows += [window(1500.0 + index, 28.7) for index in range(300)]
    verify = changes_of(windows)[-1]
    assert verify.since == pytest.approx(1500, abs=16)
    assert (verify.before_ms, verify.now_ms) == (21.0, 28.7)


def test_slices_of_time_hold_the_mean_of_their_windows() -> None:
    windows = [window(0, 10), window(1, 20), window(9, 40)]
    found = grouped(windows, 0, 10, 5)
    assert [None if each is None else each.ms["verify"] for each in found] == [15.0, None, None, None, 40.0]


def test_a_spike_survives_a_long_session() -> None:
    history = PhaseHistory()
    for index in range(9 * HELD):
        history.add("probe", 1, window(float(index), 90.0 if index == 700 else 20.0))
    held = history.windows("probe", 1)
    assert len(held) < 2 * HELD
    columns = [each.extent("verify") for each in grouped(held, held[0].at, held[-1].at, 60) if each is not None]
    assert max(high for _, high in columns) == 90.0
    assert {low for low, _ in columns} == {20.0}


def test_steps_that_make_up_one_window_are_no_spikes() -> None:
    history = PhaseHistory()
    for index in range(80):
        history.add("log", 1, PhaseWindow(index * 0.02, 1, None, {"decode": 60.0 if index == 3 else 20.0}))
    assert [each.extent("decode") for each in history.windows("log", 1)] == [(21.0, 21.0), (20.0, 20.0)]


def test_a_change_after_an_hour_is_told_after_three_windows() -> None:
    calm = [window(float(index), 21.0 + 0.1 * (index % 5)) for index in range(1500)]
    later = [window(1500.0 + index, 28.7) for index in range(3)]
    assert changes_of([*calm, *later[:2]]) == ()
    verify = changes_of([*calm, *later])[-1]
    assert (verify.name, verify.now_ms) == ("verify", 28.7)
    assert verify.since == pytest.approx(1500, abs=1)


def test_a_level_that_was_there_before_is_no_recent_change() -> None:
    wander = [window(float(index), 21.0 if index % 80 < 40 else 24.0) for index in range(1480)]
    assert changes_of([*wander, *(window(1480.0 + index, 24.0) for index in range(5))]) == ()
