"""Phase times become means per cycle, beside the cycle that follows from the throughput."""

from __future__ import annotations

import math

import pytest

from specmon.analysis.phasetimes import PhaseTimes

NAN = math.nan


def test_means_are_weighted_by_cycles() -> None:
    times = PhaseTimes()
    times.add("probe", 1, 10, 20.0, {"verify": 18.0})
    times.add("probe", 1, 30, 24.0, {"verify": 22.0})
    found = times.figures("probe", {1: 23.5}, None)
    assert found is not None
    assert (found.cycles, found.cycle_ms, found.ms, found.identity_cycle_ms) == (40, 23.0, {"verify": 21.0}, 23.5)
    assert found.residual_ms == pytest.approx(2.0)


def test_each_batch_size_has_its_own_figures() -> None:
    times = PhaseTimes()
    times.add("probe", 8, 10, 40.0, {"verify": 30.0})
    times.add("probe", 1, 10, 20.0, {"verify": 18.0})
    found = times.figures("probe", {1: 21.0, 8: 41.0}, None)
    assert found is not None
    assert {running: level.cycle_ms for running, level in found.by_running.items()} == {1: 20.0, 8: 40.0}
    assert list(found.by_running) == [1, 8]
    assert found.identity_cycle_ms == 31.0


def test_without_a_wall_time_the_phases_are_set_against_the_throughput_s_cycle() -> None:
    times = PhaseTimes()
    times.add("custom", None, 1, NAN, {"draft": 1.0, "verify": 26.0})
    found = times.figures("custom", {}, 27.7)
    assert found is not None
    assert found.cycle_ms == 27.7
    assert found.residual_ms == pytest.approx(0.7)
    assert found.by_running == {}


def test_levels_without_a_speed_leave_no_figure_to_check_by() -> None:
    times = PhaseTimes()
    times.add("custom", 1, 10, 20.0, {"verify": 18.0})
    times.add("custom", 2, 10, 20.0, {"verify": 18.0})
    found = times.figures("custom", {1: 21.0}, 21.0)
    assert found is not None
    assert found.identity_cycle_ms is None


def test_a_phase_that_only_some_lines_tell_is_a_mean_over_those() -> None:
    times = PhaseTimes()
    times.add("custom", 1, 10, 20.0, {"verify": 18.0, "draft": 1.0})
    times.add("custom", 1, 30, 20.0, {"verify": 18.0})
    found = times.figures("custom", {}, None)
    assert found is not None
    assert found.ms == {"verify": 18.0, "draft": 1.0}


def test_sources_are_kept_apart() -> None:
    times = PhaseTimes()
    times.add("custom", 1, 10, 20.0, {"verify": 18.0})
    assert times.figures("probe", {}, None) is None
