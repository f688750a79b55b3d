"""A baseline against its reference, sample by sample."""

from __future__ import annotations

import random

import pytest

from specmon.analysis.drift import Drift, DriftWatch

_REFERENCE_MS = 11.26


def _watch(*shares: float, was_diverged: bool = False) -> DriftWatch:
    watch = DriftWatch(_REFERENCE_MS, 0.05, was_diverged=was_diverged)
    for at, share in enumerate(shares):
        watch.add(float(at), _REFERENCE_MS * share)
    return watch


def test_three_samples_are_needed() -> None:
    assert _watch(1.41, 1.41).state is Drift.WAITING
    assert _watch(1.41, 1.41, 1.41).state is Drift.DIVERGED


@pytest.mark.parametrize(
    ("share", "state"),
    [
        (1.0, Drift.MATCHES),
        (1.03, Drift.DRIFTING),  # steady, inside the tolerance: said, never an alarm
        (1.06, Drift.DIVERGED),
        (0.94, Drift.DIVERGED),  # faster is a divergence too: the reference is stale
        (0.98, Drift.MATCHES),
    ],
)
def test_state_of_a_steady_level(share: float, state: Drift) -> None:
    assert _watch(*[share] * 20).state is state


def test_one_dip_raises_nothing() -> None:
    watch = _watch(*[1.0] * 10, 1.19, *[1.0] * 10)
    assert [change.state for change in watch.changes] == [Drift.MATCHES]


def test_some_slow_windows_in_a_row_raise_nothing() -> None:
    """A steady server on genuine hardware: six windows at -6.5 % among hundreds that match."""
    watch = _watch(*[1.0] * 100, *[1.07] * 6, *[1.0] * 100)
    assert [change.state for change in watch.changes] == [Drift.MATCHES]


def test_small_change_that_lasts_is_seen() -> None:
    watch = _watch(*[1.0] * 100, *[1.07] * 8)
    assert watch.state is Drift.DIVERGED
    assert watch.since == 100.0


def test_change_in_the_middle_is_seen_after_three_samples_and_dated_back() -> None:
    watch = _watch(*[1.0] * 100, 1.41, 1.41, 1.41)
    assert watch.state is Drift.DIVERGED
    assert watch.since == 100.0
    assert watch.changes[-1].deviation == pytest.approx(-0.29, abs=0.01)


def test_recovery_is_a_state_of_its_own_and_ends() -> None:
    watch = _watch(*[1.41] * 5, *[1.0] * 6)
    assert watch.state is Drift.RECOVERED
    assert [change.state for change in watch.changes] == [Drift.DIVERGED, Drift.RECOVERED]
    assert _watch(*[1.41] * 5, *[1.0] * 60).state is Drift.MATCHES


def test_hysteresis_gives_one_alarm() -> None:
    watch = _watch(*[1.06] * 5, *[1.051, 1.045] * 20)
    assert [change.state for change in watch.changes] == [Drift.DIVERGED]


def test_divergence_of_the_life_before_makes_a_match_a_recovery() -> None:
    assert _watch(1.0, 1.0, 1.0, was_diverged=True).state is Drift.RECOVERED
    assert _watch(was_diverged=True).is_diverged


def test_noise_of_one_percent_raises_no_alarm() -> None:
    source = random.Random(7)
    watch = _watch(*[source.gauss(1.0, 0.01) for _ in range(5000)])
    assert Drift.DIVERGED not in {change.state for change in watch.changes}


def test_slow_trend_inside_the_tolerance_raises_no_alarm() -> None:
    watch = _watch(*[1 + 0.01 * step / 1000 for step in range(1000)])
    assert {change.state for change in watch.changes} == {Drift.MATCHES}


def test_unknown_cycle_is_no_sample() -> None:
    watch = _watch(float("nan"), 0.0)
    assert watch.seen == 0
    assert watch.recent_cycle_ms is None
