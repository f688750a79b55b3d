"""A baseline against its reference, sample by sample. docs/drift.md has the long simulation."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.departure import threshold_of
from specmon.analysis.drift import Change, Drift, DriftWatch
from specmon.analysis.longrun import long_run_sigma
from specmon.analysis.noise import NoiseSource

_REFERENCE_MS = 11.26
_SIGMAS = (0.005, 0.01, 0.02, 0.056)  # the last is what an H200 at one request was measured at


@dataclass
class _Seen:
    """A watch and all that it said."""

    watch: DriftWatch
    changes: list[Change] = field(default_factory=list)
    fed: int = 0

    def feed(self, shares: Iterable[float]) -> _Seen:
        """Cycle times in shares of the reference's."""
        for share in shares:
            change = self.watch.add(float(self.fed), _REFERENCE_MS * share)
            self.fed += 1
            if change is not None:
                self.changes.append(change)
        return self

    @property
    def states(self) -> list[Drift]:
        return [change.state for change in self.changes]


def _watch(*shares: float, sigma: float | None = 0.01, was_diverged: bool = False, tolerance: float = 0.05) -> _Seen:
    return _Seen(DriftWatch(_REFERENCE_MS, tolerance, sigma, was_diverged=was_diverged)).feed(shares)


def _noise(sigma: float, count: int, seed: int, share: float = 0.0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """x of a steady server: normal, with that long-run standard deviation, AR(1) with that share."""
    x = np.random.default_rng(seed).standard_normal(count) * sigma * (1 - share)
    for index in range(1, count if share else 0):
        x[index] += share * x[index - 1]
    return x


# -- what three samples, and no fewer, can do -----------------------------------------------------


def test_life_that_starts_diverged_is_found_with_its_third_sample() -> None:
    assert _watch(1.41, 1.41).watch.state is Drift.WAITING
    seen = _watch(1.41, 1.41, 1.41)
    assert seen.watch.state is Drift.DIVERGED
    assert seen.watch.since == 0.0
    assert seen.changes[0].deviation == pytest.approx(1 / 1.41 - 1)


@pytest.mark.parametrize("sigma", [None, *_SIGMAS])
@pytest.mark.parametrize("before", [0, 500])
def test_loss_of_29_percent_is_found_in_three_samples(sigma: float | None, before: int) -> None:
    seen = _watch(*[1.0] * before, *[1 / 0.71] * 3, sigma=sigma)
    assert seen.watch.state is Drift.DIVERGED
    assert seen.watch.since == float(before)
    assert seen.watch.is_slower


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_change_of_ten_percent_is_found_in_at_most_four_samples_at_one_percent_noise(
    factor: float, share: float
) -> None:
    """In the middle of a run, after 300 samples that matched; twenty runs each way."""
    for seed in range(20):
        x = _noise(0.01, 304, seed, share)
        x[300:] -= math.log(factor)
        seen = _watch(*np.exp(x).tolist())
        assert seen.states == [Drift.MATCHES, Drift.DIVERGED]
        assert 302 <= seen.changes[-1].at <= 303
        assert seen.watch.since == pytest.approx(300, abs=1)
        assert seen.watch.is_slower is (factor < 1)


@given(
    st.lists(st.floats(0.96, 1.04), min_size=3, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.floats(0.2, 5.0)), max_size=2),
    st.sampled_from([None, *_SIGMAS]),
)
def test_two_samples_never_raise_an_alarm(
    steady: list[float], dips: list[tuple[int, float]], sigma: float | None
) -> None:
    """Whatever they are, wherever they lie, among samples inside the tolerance."""
    shares = list(steady)
    for place, share in dips:
        shares[place % len(shares)] = share
    assert Drift.DIVERGED not in _watch(*shares, sigma=sigma).states


# -- what raises nothing --------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [None, *_SIGMAS])
def test_single_dip_of_19_percent_raises_nothing(sigma: float | None) -> None:
    seen = _watch(*[1.0] * 10, 1 / 0.81, *[1.0] * 10, sigma=sigma)
    assert seen.states == [Drift.MATCHES]


def test_dips_that_return_raise_nothing() -> None:
    seen = _watch(*([1.0] * 9 + [1 / 0.81]) * 200)
    assert seen.states == [Drift.MATCHES]


@pytest.mark.parametrize("sigma", [None, *_SIGMAS])
def test_context_trend_of_one_percent_raises_nothing(sigma: float | None) -> None:
    trend = np.exp(_noise(sigma or 0.02, 1000, 3) + 0.01 * np.arange(1000) / 1000)
    assert Drift.DIVERGED not in _watch(*trend.tolist(), sigma=sigma).states


@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
def test_steady_three_percent_never_alarms_and_shows_as_drifting(sigma: float) -> None:
    x = _noise(sigma, 5000, 4) - math.log(0.97)
    seen = _watch(*np.exp(x).tolist(), sigma=sigma)
    assert seen.watch.state is Drift.DRIFTING
    assert Drift.DIVERGED not in seen.states
    assert seen.changes[-1].deviation == pytest.approx(-0.03, abs=0.01)


def test_loss_of_ten_percent_is_found_at_once_after_a_long_drift() -> None:
    """Evidence that mounted for thousands of samples does not date the change back to where it began."""
    seen = _watch(*[1.03] * 5000, *[1 / 0.9] * 3)
    assert seen.states == [Drift.MATCHES, Drift.DRIFTING, Drift.DIVERGED]
    assert seen.watch.since == 5000.0
    assert seen.changes[-1].deviation == pytest.approx(-0.10, abs=0.001)


@pytest.mark.parametrize("share", [0.0, 0.5], ids=["independent", "AR(1) 0.5"])
@pytest.mark.parametrize("sigma", _SIGMAS)
@pytest.mark.parametrize("is_estimated", [False, True], ids=["exact reference", "reference from 200 samples"])
def test_server_that_matches_raises_no_alarm(sigma: float, share: float, is_estimated: bool) -> None:
    """The short form of benchmarks/drift.py: 5,000 samples in control."""
    x = _noise(sigma, 5200, 11, share)
    recorded, live = x[:200], np.exp(x[200:]).tolist()
    reference_ms, known = _REFERENCE_MS, sigma
    if is_estimated:
        reference_ms *= math.exp(float(np.median(recorded)))
        known = long_run_sigma(recorded.tolist()) or 0.0
    seen = _Seen(DriftWatch(reference_ms, 0.05, known)).feed(live)
    assert Drift.DIVERGED not in seen.states


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "state"),
    [
        (1.0, Drift.MATCHES),
        (1.03, Drift.DRIFTING),
        (0.97, Drift.DRIFTING),
        (1.07, Drift.DIVERGED),
        (0.935, Drift.DIVERGED),  # faster is a divergence too: the reference is stale
        (0.98, Drift.MATCHES),
    ],
)
def test_state_of_a_steady_level(share: float, state: Drift) -> None:
    seen = _watch(*[share] * 40)
    assert seen.watch.state is state
    assert seen.states.count(state) == 1


def test_faster_says_so() -> None:
    seen = _watch(*[0.8] * 3)
    assert seen.watch.state is Drift.DIVERGED
    assert not seen.watch.is_slower
    assert seen.changes[-1].deviation == pytest.approx(0.25)


def test_wider_tolerance_takes_what_a_narrow_one_refuses() -> None:
    assert _watch(*[1 / 0.9] * 40, tolerance=0.15).watch.state is Drift.DRIFTING
    assert _watch(*[1 / 0.9] * 40, tolerance=0.05).watch.state is Drift.DIVERGED


def test_recovery_is_a_state_of_its_own_and_ends() -> None:
    seen = _watch(*[1.41] * 5, *[1.0] * 6)
    assert seen.states == [Drift.DIVERGED, Drift.RECOVERED]
    assert seen.watch.since == 5.0
    assert seen.feed([1.0] * 60).watch.state is Drift.MATCHES


def test_one_good_sample_is_no_recovery() -> None:
    assert _watch(*[1.41] * 5, 1.0, 1.0, *[1.41] * 5).states == [Drift.DIVERGED]


def test_hysteresis_gives_one_alarm() -> None:
    """A level that wanders about the edge of the tolerance does not come and go."""
    assert _watch(*[1.1] * 5, *[1.051, 1.045] * 200).states == [Drift.DIVERGED]


def test_change_to_the_other_side_is_another_alarm() -> None:
    seen = _watch(*[1.41] * 5, *[0.7] * 3)
    assert seen.states[0] is Drift.DIVERGED
    assert seen.states[-1] is Drift.DIVERGED
    assert not seen.watch.is_slower
    assert seen.watch.since == 5.0


def test_divergence_of_the_life_before_makes_a_match_a_recovery() -> None:
    assert _watch(1.0, 1.0, 1.0, was_diverged=True).watch.state is Drift.RECOVERED
    assert _watch(was_diverged=True).watch.is_diverged
    assert _watch(*[1.41] * 3, was_diverged=True).states == [Drift.DIVERGED]


def test_unknown_cycle_is_no_sample() -> None:
    seen = _watch(float("nan"), 0.0, -1.0, math.inf)
    assert seen.watch.seen == 0
    assert seen.watch.recent_cycle_ms is None


# -- the noise it judges by -----------------------------------------------------------------------


def test_number_written_by_hand_is_judged_by_two_percent_until_thirty_samples_tell_more() -> None:
    x = _noise(0.006, 200, 5)
    seen = _watch(*np.exp(x[:29]).tolist(), sigma=None)
    assert (seen.watch.noise.source, seen.watch.noise.sigma) == (NoiseSource.ASSUMED, 0.02)
    seen.feed(np.exp(x[29:]).tolist())
    assert seen.watch.noise.source is NoiseSource.LIVE
    assert seen.watch.noise.sigma == pytest.approx(0.006, rel=0.4)


def test_no_server_is_believed_to_be_steadier_than_half_a_percent() -> None:
    assert _watch(*[1.0] * 100, sigma=None).watch.noise.sigma == 0.005
    assert _watch(sigma=0.0001).watch.noise.sigma == 0.005


def test_server_that_wanders_more_than_recorded_is_judged_by_what_it_does() -> None:
    """Recorded as 0.6 %, and it wanders by 4 %: without the cross-check that is an alarm every few hundred samples."""
    x = np.exp(_noise(0.04, 5000, 6, 0.5)).tolist()
    seen = _watch(*x, sigma=0.006)
    assert (seen.watch.noise.source, seen.watch.noise.recorded) == (NoiseSource.LIVE, 0.006)
    assert seen.watch.noise.sigma == pytest.approx(0.04, rel=0.4)
    assert Drift.DIVERGED not in [change.state for change in seen.changes if change.at > 200]


def test_change_of_the_level_does_not_pass_for_noise() -> None:
    x = _noise(0.01, 2000, 7)
    x[1000:] += 0.34
    seen = _watch(*np.exp(x).tolist())
    assert seen.watch.noise.source is NoiseSource.RECORDED
    assert seen.watch.state is Drift.DIVERGED


@pytest.mark.parametrize(
    ("slack", "threshold", "run"),
    [(0.446, 14.07, 1e6), (1.25, 5.09, 1e6), (2.5, 2.24, 1e6)],
)
def test_threshold_follows_siegmunds_run_length(slack: float, threshold: float, run: float) -> None:
    assert threshold_of(slack) == pytest.approx(threshold, abs=0.01)
    reach = threshold_of(slack) + 1.166
    assert (math.expm1(2 * slack * reach) - 2 * slack * reach) / (4 * slack**2) == pytest.approx(run, rel=1e-3)


def test_threshold_never_falls_below_one_sigma() -> None:
    assert threshold_of(50.0) == 1.0


# -- days -----------------------------------------------------------------------------------------


def _held_bytes(thing: object, known: set[int]) -> int:
    """What an object and all that it holds take."""
    if id(thing) in known or isinstance(thing, type):
        return 0
    known.add(id(thing))
    parts: Sequence[object] = []
    if isinstance(thing, Iterable) and not isinstance(thing, str | bytes):
        parts = list(thing)
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = [*parts, *(getattr(thing, name) for name in slots if hasattr(thing, name)), *vars_of(thing)]
    return sys.getsizeof(thing) + sum(_held_bytes(part, known) for part in parts)


def vars_of(thing: object) -> list[object]:
    return list(vars(thing).values()) if hasattr(thing, "__dict__") else []


@pytest.mark.parametrize("middle", [0.0, 0.05, 0.34], ids=["matches", "on the edge", "diverged"])
def test_memory_does_not_grow(middle: float) -> None:
    shares = np.exp(_noise(0.02, 8000, 8) + middle).tolist()
    seen = _watch(*shares[:4000], sigma=0.02)
    before = _held_bytes(seen.watch, set())
    seen.feed(shares[4000:])
    assert before < 100_000
    assert _held_bytes(seen.watch, set()) < before + 20_000
