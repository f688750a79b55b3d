"""The error of the estimate: what it is made of, and how often its interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.combine import combine_levels, estimate_of
from specmon.analysis.delivery import Delivery
from specmon.analysis.estimate import estimate_from
from specmon.analysis.spread import median_of
from specmon.analysis.uncertainty import Influences, LogError, block_length, coefficients_for, influences_of

from .runs import Recorder

_SPEEDS = st.just(88.8) | st.floats(60.0, 90.0).map(lambda speed: round(speed, 2))
_ACCEPTS = st.just(2.1) | st.sampled_from([2.0, 2.25, math.nan])


@pytest.mark.parametrize(
    ("count", "coefficients"),
    [(6, 2), (10, 2), (15, 2), (30, 3), (50, 5), (100, 7), (300, 15), (1000, 34), (10**6, 40)],
)
def test_longer_series_afford_more_frequencies(count: int, coefficients: int) -> None:
    assert coefficients_for(count) == coefficients


def test_standard_error_of_independent_noise_is_the_textbook_one() -> None:
    series = np.random.default_rng(5).standard_normal((300, 400))
    squares = [found.error.standard_error**2 for row in series if (found := influences_of(row.tolist(), 400))]
    assert np.mean(squares) == pytest.approx(1 / 400, rel=0.03)


def test_blocks_of_neighbours_give_what_the_single_values_give() -> None:
    series = np.cumsum(np.random.default_rng(6).standard_normal(40_000)) * 0.01 + np.random.default_rng(
        7
    ).standard_normal(40_000)
    length = block_length(len(series))
    assert length > 50
    blocks = np.add.reduceat(series, np.arange(0, len(series), length)).tolist()
    whole, parts = influences_of(series.tolist(), len(series)), influences_of(blocks, len(series))
    assert whole is not None
    assert parts is not None
    assert parts.error.standard_error == pytest.approx(whole.error.standard_error, rel=0.01)


def test_too_short_series_have_no_error() -> None:
    assert influences_of([1.0] * 5, 5) is None
    found = estimate_from(1, [1.0] * 5, [10.0] * 5, [40.0] * 5)
    assert found is not None
    assert found.influences is None
    assert estimate_from(1, [], [], []) is None


def test_errors_join_as_welch_and_satterthwaite_say() -> None:
    joined = LogError(0.03, 4).joined(LogError(0.04, 9))
    assert joined.standard_error == pytest.approx(0.05)
    assert joined.freedom == pytest.approx(0.05**4 / (0.03**4 / 4 + 0.04**4 / 9))
    assert LogError(0.03).joined(LogError(0.0)).freedom == math.inf
    assert LogError(0.0).around(100.0) == (100.0, 100.0)


def test_common_noise_of_ranks_stays_whole_and_own_noise_averages_out() -> None:
    common = Influences((0.02, -0.02, 0.02))
    assert Influences.summed([(0.5, common), (0.5, common)]).error.standard_error == pytest.approx(0.02)
    opposed = Influences((-0.02, 0.02, -0.02))
    assert Influences.summed([(0.5, common), (0.5, opposed)]).error.standard_error == 0.0


def _width(cycle: list[float], accept: list[float]) -> float:
    found = estimate_from(1, accept, cycle, [40.0] * len(cycle))
    assert found is not None
    assert found.influences is not None
    return found.influences.error.half_width


def test_what_accept_length_and_cycle_have_in_common_cancels() -> None:
    chance = np.random.default_rng(8)
    noise = chance.normal(0, 0.05, 200)
    cycle, accept = 20 * np.exp(noise), 2.5 * (1 + noise)
    unlinked = 2.5 * (1 + chance.permutation(noise))
    assert _width(cycle.tolist(), accept.tolist()) < 0.8 * _width(cycle.tolist(), unlinked.tolist())


def test_a_drift_inside_a_level_widens_the_interval() -> None:
    cycle = [20 + step / 40 for step in range(200)]
    shuffled = np.random.default_rng(9).permutation(cycle).tolist()
    assert _width(cycle, [1.0] * 200) > 3 * _width(shuffled, [1.0] * 200)


def test_long_levels_are_estimated_as_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recorder(is_speculative=True)
    chance = np.random.default_rng(10)
    for accept, cycle in zip(2.1 + chance.normal(0, 0.2, 900), 27.7 + chance.normal(0, 0.3, 900), strict=True):
        run.sample(round(1000 * accept / cycle, 2), accept=round(accept, 2))
    level = run.run.level_of("", 1)
    assert level is not None
    short = estimate_of(level)
    monkeypatch.setattr("specmon.analysis.combine._MANY", 100)
    long = estimate_of(level)
    assert short is not None
    assert long is not None
    assert long.value == pytest.approx(short.value)
    assert short.influences is not None
    assert long.influences is not None
    assert long.influences.coefficients == pytest.approx(short.influences.coefficients)


@given(st.lists(st.tuples(_SPEEDS, _ACCEPTS, st.sampled_from([500.0, 500.0, math.nan])), min_size=2, max_size=60))
def test_columns_that_are_taken_as_a_whole_give_what_single_samples_give(
    lines: list[tuple[float, float, float]],
) -> None:
    run = Recorder(is_speculative=True)
    for tok_s, accept, context in lines:
        run.sample(tok_s, accept=accept, context=context)
    level = run.run.level_of("", 1)
    assert level is not None
    clean = level.clean
    cycles = [1000 * a / r if r > 0 else math.nan for a, r in zip(clean.accept_len, clean.tok_s, strict=True)]
    told = [(a, c, n) for a, c, n in zip(clean.accept_len, cycles, clean.cycles, strict=True) if a == a and c == c]
    expected = estimate_from(1, *map(list, zip(*told, strict=True))) if told else None
    assert estimate_of(level) == expected
    figures = combine_levels(1, [("", level)], samples=len(lines))
    assert figures.decode_tok_s == (None if expected is None else expected.value)
    assert figures.cycle_ms == median_of(sorted(c for c in cycles if c == c))
    if len(clean):
        assert figures.context_tokens == median_of(sorted(each for each in clean.context_tokens if each == each))
        weights = [(a * n, n) for a, n in zip(clean.accept_len, clean.cycles, strict=True) if a == a]
        if weights:
            assert figures.accept_len == math.fsum(a for a, _ in weights) / math.fsum(n for _, n in weights)


def test_delivery_is_the_same_singly_and_in_batches() -> None:
    chance = np.random.default_rng(11)
    tokens, seconds = chance.gamma(9.0, 5.0, 1000), chance.gamma(4.0, 0.2, 1000)
    single, batch = Delivery(), Delivery()
    for one, other in zip(tokens.tolist(), seconds.tolist(), strict=True):
        single.add(one, other, 40.0)
    for start, end in ((0, 1), (1, 130), (130, 131), (131, 900), (900, 1000)):
        batch.extend(tokens[start:end], seconds[start:end], 40.0)
    assert (batch.tokens, batch.seconds, batch.cycles, batch.windows) == (
        single.tokens,
        single.seconds,
        single.cycles,
        single.windows,
    )
    assert batch.blocks() == single.blocks()
    assert len(single.blocks()) <= 128
    assert math.fsum(block[0] for block in single.blocks()) == pytest.approx(single.tokens)


def test_error_of_a_delivery_is_that_of_a_ratio_of_sums() -> None:
    chance = np.random.default_rng(12)
    squares = []
    for _ in range(200):
        delivery = Delivery()
        for seconds in chance.gamma(4.0, 0.25, 150).tolist():
            delivery.add(40.0, seconds, 40.0)
        assert delivery.influences is not None
        squares.append(delivery.influences.error.standard_error**2)
    assert np.mean(squares) == pytest.approx(0.25 / 150, rel=0.1)  # a gamma of shape 4 has a relative variance of 1/4
    assert Delivery().influences is None
