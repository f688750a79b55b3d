"""A short form of benchmarks/calibration.py: the full tables are in docs/calibration.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


def _load() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", path)
    if spec is None or spec.loader is None or not path.is_file():
        pytest.skip("the benchmarks are not part of this source tree")
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibration"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


# The share that holds the truth must stay within what chance allows around what the page publishes (three standard
# errors of so many trials).
@pytest.mark.parametrize(
    ("clean", "correlation", "trials", "least"),
    [(10, 0.0, 250, 0.90), (10, 0.5, 250, 0.88), (30, 0.5, 200, 0.88), (100, 0.0, 80, 0.88), (100, 0.5, 80, 0.88)],
)
def test_intervals_cover_the_truth(clean: int, correlation: float, trials: int, least: float) -> None:
    simulation = _load()
    world = simulation.World(sigma=0.02, correlation=correlation)
    tally = simulation.tally_of(world, clean, trials, np.random.default_rng([clean, round(10 * correlation)]))
    for figure in simulation.FIGURES:
        assert tally.share(figure) >= least, figure
    wrong = sum(count for word, count in tally.words[1.0].items() if simulation.is_wrong(word, 1.0))
    assert wrong <= 0.12 * trials
    assert not any(simulation.is_wrong(word, 1.5) for word in tally.words[1.5])
