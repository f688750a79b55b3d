"""Bands: where B wanders, all levels near a common centre are compared as one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specmon.analysis.comparison import compare_levels
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.load import Band, common_band

from .runs import Recorder


def _figures(**clean: int) -> RunFigures:
    levels = [LevelFigures(running=int(name[1:]), samples=count, clean=count) for name, count in clean.items()]
    return RunFigures(levels=tuple(levels))


@pytest.mark.parametrize(
    ("centre", "band"), [(8, (8, 8)), (10, (9, 11)), (19, (18, 20)), (20, (18, 22)), (32, (29, 35)), (100, (90, 110))]
)
def test_band_reaches_a_tenth_to_both_sides(centre: int, band: tuple[int, int]) -> None:
    found = Band.around(centre)
    assert (found.low, found.high) == band
    assert found.centre == centre


@pytest.mark.parametrize(
    ("baseline", "speculative", "band"),
    [
        ({"b30": 5, "b31": 6, "b33": 4}, {"b32": 9, "b34": 8}, (29, 35)),
        ({"b10": 3}, {"b12": 3}, (10, 12)),
        ({"b10": 3}, {"b13": 3}, None),  # further apart than any band reaches
        ({"b10": 3}, {"b11": 3}, (9, 11)),
        ({"b2": 90}, {"b2": 90}, None),
        ({"b20": 9, "b60": 5}, {"b20": 2, "b58": 5}, (53, 63)),  # the poorer side decides
        ({}, {"b20": 9}, None),
        ({"b20": 0}, {"b20": 9}, None),
    ],
)
def test_band_is_richest_on_its_poorer_side(
    baseline: dict[str, int], speculative: dict[str, int], band: tuple[int, int] | None
) -> None:
    found = common_band(_figures(**baseline), _figures(**speculative))
    assert (None if found is None else (found.low, found.high)) == band


def _wandering(
    cycle_ms: float, *, accept: float | None = None, seed: int = 3, tags: tuple[str, ...] = ("",)
) -> Recorder:
    """Two or more samples at each B, of which the first after each change is not clean."""
    chance = np.random.default_rng(seed)
    run = Recorder(is_speculative=accept is not None)
    for running in chance.permutation(np.repeat(np.arange(28, 37), 4)).tolist():
        for _ in range(2):
            for tag in tags:
                cycle = cycle_ms * (1 + (running - 32) / 200) * math.exp(chance.normal(0, 0.01))
                length = 1.0 if accept is None else accept * (1 + chance.normal(0, 0.02))
                run.sample(
                    1000 * length * running / cycle,
                    running=running,
                    accept=math.nan if accept is None else length,
                    tag=tag,
                    at=None if tag == tags[0] else run.at,
                )
    return run


def test_band_pools_the_clean_samples_of_its_levels_with_figures_per_request() -> None:
    run = _wandering(20.0, accept=2.5).run
    figures = run.figures()
    band = run.band(Band(29, 35))
    within = [level for level in figures.levels if 29 <= level.running <= 35]
    assert band.clean == sum(level.clean for level in within)
    assert band.samples == sum(level.samples for level in within)
    assert (band.running, band.running_range) == (32, (29, 35))
    assert band.decode_tok_s == pytest.approx(2.5 * 1000 / 20.0, rel=0.01)
    assert band.cycle_ms == pytest.approx(20.0, rel=0.01)
    assert band.accept_len == pytest.approx(2.5, rel=0.01)
    assert band.delivered_tok_s == pytest.approx(2.5 * 1000 / 20.0, rel=0.02)
    assert band.decode_tok_s_ci95 is not None
    assert band.decode_tok_s_ci95[0] < 125.0 < band.decode_tok_s_ci95[1]
    assert band.delivered_tok_s_ci95 is not None


def test_band_of_one_level_is_that_level_per_request() -> None:
    run = Recorder()
    for step in range(40):
        run.sample(1600.0 + step % 7, running=16)
    level = run.run.figures().levels[0]
    band = run.run.band(Band(16, 16))
    assert level.decode_tok_s is not None
    assert band.decode_tok_s == pytest.approx(level.decode_tok_s / 16)
    assert level.delivered_tok_s is not None
    assert band.delivered_tok_s == pytest.approx(level.delivered_tok_s / 16)
    assert level.decode_error is not None
    assert band.decode_error is not None
    assert band.decode_error.standard_error == pytest.approx(level.decode_error.standard_error)


def test_ranks_of_a_band_are_averaged_as_each_serves_its_own_requests() -> None:
    band = _wandering(20.0, tags=("DP0", "DP1")).run.band(Band(29, 35))
    assert band.decode_tok_s == pytest.approx(50.0, rel=0.01)


def test_bands_are_compared_as_levels_are() -> None:
    band = Band(29, 35)
    found = compare_levels(_wandering(20.0).run.band(band), _wandering(30.0, accept=2.4, seed=4).run.band(band))
    assert found.verdict == "faster"
    assert found.speedup == pytest.approx(1.6, rel=0.02)
    assert (found.running, found.running_range) == (32, (29, 35))


def test_band_without_samples_has_no_figures() -> None:
    band = _wandering(20.0).run.band(Band(50, 60))
    assert (band.samples, band.clean, band.decode_tok_s, band.delivered_tok_s, band.cycle_ms) == (
        0,
        0,
        None,
        None,
        None,
    )
