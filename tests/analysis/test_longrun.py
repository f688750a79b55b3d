"""The long-run standard deviation of a series: what it is worth on noise whose value is known."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.longrun import FEWEST_SAMPLES, long_run_sigma


def _noise(count: int, share: float, seed: int) -> list[float]:
    """Normal noise with a long-run standard deviation of 1 %; each value takes `share` from the one before."""
    source = random.Random(seed)
    own = 0.01 * (1 - share)
    value, values = 0.0, []
    for _ in range(count + 50):
        value = share * value + source.gauss(0.0, own)
        values.append(value)
    return values[50:]


def _estimate(values: list[float]) -> float:
    sigma = long_run_sigma(values)
    assert sigma is not None
    return sigma


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize(("count", "lowest"), [(200, 0.88), (1000, 0.93)])
def test_known_noise_is_measured(share: float, count: int, lowest: float) -> None:
    """In the mean over 60 series; correlated noise comes out some percent low at n = 200."""
    mean = statistics.fmean(_estimate(_noise(count, share, seed)) for seed in range(60))
    assert lowest <= mean / 0.01 <= 1.06


def test_neighbours_that_resemble_each_other_make_it_larger_than_the_spread_of_the_samples() -> None:
    values = _noise(2000, 0.5, 3)
    assert _estimate(values) > 1.5 * statistics.stdev(values)


def test_too_few_samples_give_none() -> None:
    assert long_run_sigma(_noise(FEWEST_SAMPLES - 1, 0.0, 1)) is None
    assert long_run_sigma(_noise(FEWEST_SAMPLES, 0.0, 1)) is not None


def test_missing_figures_are_no_samples() -> None:
    values = _noise(60, 0.0, 1)
    assert long_run_sigma([*values, math.nan, -math.inf]) == long_run_sigma(values)
    assert long_run_sigma([math.nan] * 100) is None


@pytest.mark.parametrize("place", [0, 70, 199])
def test_single_outlier_hardly_counts(place: int) -> None:
    values = _noise(200, 0.0, 5)
    plain = _estimate(values)
    values[place] = 0.2
    assert _estimate(values) == pytest.approx(plain, rel=0.25)


def test_step_of_the_level_is_no_noise() -> None:
    """A server that became 29 % slower half way; the two halves are as steady as before."""
    values = _noise(400, 0.0, 5)
    stepped = [value + (0.34 if index >= 200 else 0.0) for index, value in enumerate(values)]
    assert _estimate(stepped) == pytest.approx(_estimate(values), rel=0.3)


def test_slow_trend_hardly_counts() -> None:
    """Contexts that grow make a step 1 % longer from the first sample to the last."""
    values = _noise(200, 0.0, 5)
    bent = [value + 0.01 * index / 200 for index, value in enumerate(values)]
    assert _estimate(bent) == pytest.approx(_estimate(values), rel=0.1)


def test_series_that_never_moves_has_none() -> None:
    assert long_run_sigma([0.25] * 100) == 0.0


@given(
    st.lists(st.integers(-1024, 1024), min_size=FEWEST_SAMPLES, max_size=120),
    st.integers(-8, 8),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_shift_leaves_it_and_scale_scales_it(values: list[int], shift: int, scale: float) -> None:
    """On figures that floats hold exactly."""
    sigma = _estimate([value / 1024 for value in values])
    moved = _estimate([scale * (value / 1024 + shift) for value in values])
    assert sigma >= 0
    assert moved == pytest.approx(scale * sigma, rel=1e-6, abs=1e-9)
