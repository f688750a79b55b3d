"""Several runs a side: the runs are the unit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specmon.analysis.comparison import compare_levels
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.sides import compare_sides, level_of_all
from specmon.analysis.student import student95


def _run(decode: float | None, *, clean: int = 50, accept: float = 1.0, running: int = 1) -> LevelFigures:
    return LevelFigures(
        running=running,
        samples=clean,
        clean=clean,
        decode_tok_s=decode,
        decode_tok_s_ci95=None if decode is None else (decode * 0.995, decode * 1.005),
        delivered_tok_s=None if decode is None else decode * 0.9,
        delivered_tok_s_ci95=None if decode is None else (decode * 0.88, decode * 0.92),
        accept_len=accept,
        cycle_ms=None if decode is None else 1000 * accept * running / decode,
    )


def _runs(*speeds: float, accept: float = 1.0) -> list[LevelFigures]:
    return [_run(speed, accept=accept) for speed in speeds]


def test_one_run_a_side_is_judged_by_the_noise_within_it() -> None:
    pair = compare_levels(_run(100.0), _run(103.0, accept=2.0))
    sides = compare_sides([_run(100.0)], [_run(103.0, accept=2.0)])
    assert (sides.verdict, sides.ci95) == (pair.verdict, pair.ci95)
    assert (sides.delivered_speedup, sides.delivered_ci95) == (pair.delivered_speedup, pair.delivered_ci95)
    assert not sides.are_runs_the_unit


def test_runs_that_lie_far_apart_forbid_what_each_pair_would_say() -> None:
    assert compare_levels(_run(100.0), _run(103.0)).verdict == "faster"
    sides = compare_sides(_runs(100, 104, 96), _runs(103, 95, 110))
    assert sides.verdict == "cannot tell"
    assert sides.more_runs is not None
    assert sides.more_runs > 3


def test_interval_is_welchs() -> None:
    sides = compare_sides(_runs(100, 104, 96), _runs(150, 160, 170, 165, accept=2.0))
    assert sides.ci95 is not None
    assert sides.speedup is not None
    # By hand: variances of the logarithms 0.0016019 and 0.0028690, standard error 0.035373, 4.985 degrees of freedom.
    assert math.log(sides.ci95[1] / sides.speedup) == pytest.approx(2.5725 * 0.035373, rel=1e-3)
    assert (sides.verdict, sides.more_runs) == ("faster", None)
    assert sides.baseline_spread == pytest.approx(0.040024, rel=1e-3)


def test_interval_is_never_narrower_than_the_noise_within_the_runs() -> None:
    sides = compare_sides(_runs(100, 100), _runs(101, 101))
    assert sides.ci95 is not None
    assert sides.speedup is not None
    assert math.log(sides.ci95[1] / sides.speedup) == pytest.approx(0.005, rel=0.01)


def test_a_single_run_is_taken_to_scatter_as_the_other_side_does() -> None:
    sides = compare_sides(_runs(100, 104, 96), _runs(150))
    assert sides.ci95 is not None
    assert sides.speedup is not None
    half = 4.303 * 0.040024 * math.sqrt(1 / 3 + 1)
    assert math.log(sides.ci95[1] / sides.speedup) == pytest.approx(half, rel=1e-3)
    assert sides.speculative_spread is None


@pytest.mark.parametrize(
    ("baselines", "speculatives", "left_out"),
    [
        ([], [_run(1.0)], 0),
        ([_run(1.0, clean=9)], [_run(1.0)], 1),
        ([_run(None)], [_run(1.0)], 1),
        ([], [], 0),
    ],
)
def test_sides_without_a_usable_run_tell_nothing(
    baselines: list[LevelFigures], speculatives: list[LevelFigures], left_out: int
) -> None:
    sides = compare_sides(baselines, speculatives)
    assert (sides.verdict, sides.speedup, sides.left_out) == ("cannot tell", None, left_out)


def test_incomparable_sides_keep_their_figures() -> None:
    sides = compare_sides(_runs(100, 101), _runs(200, 201), is_comparable=False)
    assert sides.verdict == "not comparable"
    assert sides.speedup == pytest.approx(1.995, rel=1e-3)


def test_common_level_is_one_that_every_run_has() -> None:
    def figures(**clean: int) -> RunFigures:
        levels = tuple(_run(1.0, running=int(name[1:]), clean=count) for name, count in clean.items())
        return RunFigures(levels=levels)

    assert level_of_all([figures(b1=50, b8=90)], [figures(b1=40, b8=20), figures(b1=30)]) == 1
    assert level_of_all([figures(b1=50)], [figures(b8=20)]) is None
    assert level_of_all([], []) is None


def test_interval_between_runs_covers_the_truth() -> None:
    chance = np.random.default_rng(20)
    covered = trials = 0
    for counts in ((2, 2), (3, 3), (2, 4)):
        for _ in range(400):
            sides = [np.exp(chance.normal(0, 0.04, count)) * 100 for count in counts]
            found = compare_sides(_runs(*sides[0].tolist()), _runs(*sides[1].tolist())).ci95
            assert found is not None
            covered += found[0] <= 1 <= found[1]
            trials += 1
    assert 0.93 <= covered / trials <= 0.99


@pytest.mark.parametrize(
    ("freedom", "factor"),
    [(0.5, 12.706), (1, 12.706), (2, 4.303), (9, 2.262), (2.5, 3.575), (80, 1.990), (1e9, 1.960)],
)
def test_student_factors(freedom: float, factor: float) -> None:
    assert student95(freedom) == pytest.approx(factor, rel=0.006)
