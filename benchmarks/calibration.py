"""How often the intervals cover the truth and how often a verdict is wrong, where the truth is known.

    python benchmarks/calibration.py [--trials 2000] [--seed 4] [--steady | --others | --runs]

Simulated decode lines go through the program's own statistics: rules, levels, estimate, comparison. Every pair is a
baseline (step 15.9 ms) and a speculative server (accept length 2.1) whose cycle noise has the same standard deviation;
A of a line scatters by 10 %. Figures are rounded and stamped to whole seconds as in a log. Unless `--steady` is given
a tenth of the windows holds a prefill, one in fifty an idle gap, and the first three cycles after the start are 30, 10
and 3 % too long. `n` counts the clean samples of each side. The results are published in docs/calibration.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from specmon.analysis.comparison import SAMPLES_NEEDED, compare_levels, word_of
from specmon.analysis.figures import LevelFigures
from specmon.analysis.run import RunStatistics
from specmon.analysis.sample import Reading
from specmon.analysis.sides import compare_sides
from specmon.analysis.uncertainty import LogError

Floats = npt.NDArray[np.float64]

COUNTS = (6, 10, 15, 20, 30, 50, 100, 300, 1000)
SIGMAS = (0.005, 0.01, 0.02, 0.056)
TRUE_SPEEDUPS = (0.9, 0.97, 1.0, 1.01, 1.03, 1.1, 1.5)
_STEP_MS = 15.9
_CYCLES = 40
_WARM_UP = (0.30, 0.10, 0.03)


@dataclass(frozen=True)
class World:
    """What the noise of a server is like. `draw` gives the noises of ln C and of A, of unit variance."""

    sigma: float = 0.01  # standard deviation of ln C
    correlation: float = 0.0  # AR(1) coefficient of both
    accept_len: float = 1.0
    cycle_ms: float = _STEP_MS
    accept_sigma: float = 0.10
    prefill_share: float = 0.10  # of the windows
    prefill_s: float = 0.15  # mean time of one
    idle_share: float = 0.02
    is_warming: bool = True
    median_noise: float = 0.0  # of `draw`
    draw: Callable[[World, np.random.Generator, int], tuple[Floats, Floats]] | None = None

    @property
    def decode_tok_s(self) -> float:
        """The truth at one running request."""
        return 1000 * self.accept_len / (self.cycle_ms * math.exp(self.sigma * self.median_noise))

    @property
    def delivered_tok_s(self) -> float:
        """Expected tokens over expected time."""
        mean_cycle_ms = self.cycle_ms * math.exp(self.sigma**2 / 2)
        seconds = _CYCLES * mean_cycle_ms / 1000 + self.prefill_share * self.prefill_s
        return _CYCLES * self.accept_len / seconds

    def steady(self) -> World:
        """The same without prefill, idle time and warm-up."""
        return replace(self, prefill_share=0.0, idle_share=0.0, is_warming=False)


def autoregressive(chance: np.random.Generator, count: int, coefficient: float) -> Floats:
    """AR(1) noise of unit variance."""
    noise = chance.standard_normal(count)
    if coefficient:
        noise[1:] *= math.sqrt(1 - coefficient**2)
        for each in range(1, count):
            noise[each] += coefficient * noise[each - 1]
    return noise


def simulate(world: World, chance: np.random.Generator, clean: int) -> LevelFigures:
    """A server whose log has so many clean samples at one running request."""
    run = RunStatistics(is_speculative=world.accept_len > 1)
    length = math.ceil((clean + 4) / (1 - world.prefill_share - world.idle_share) * 1.3) + 10
    if world.draw is None:
        cycle_noise = autoregressive(chance, length, world.correlation)
        accept_noise = autoregressive(chance, length, world.correlation)
    else:
        cycle_noise, accept_noise = world.draw(world, chance, length)
    cycles_ms = world.cycle_ms * np.exp(world.sigma * cycle_noise)
    if world.is_warming:
        cycles_ms[: len(_WARM_UP)] *= 1 + np.array(_WARM_UP)
    accepts = np.ones(length)
    if world.accept_len > 1:
        accepts = np.maximum(1.0, world.accept_len * (1 + world.accept_sigma * accept_noise))
    prefills = np.where(chance.random(length) < world.prefill_share, chance.gamma(4.0, world.prefill_s / 4, length), 0)
    idles = np.where(chance.random(length) < world.idle_share, 5 + chance.exponential(20.0, length), 0)
    idles[:10] = 0
    at = 1e6
    for position in range(length):
        accept = round(float(accepts[position]), 2)
        seconds = _CYCLES * float(cycles_ms[position]) / 1000 + float(prefills[position]) + float(idles[position])
        at += seconds
        if prefills[position]:
            run.prefill("", 300)
        tok_s = round(_CYCLES * float(accepts[position]) / seconds, 2)
        told = accept if world.accept_len > 1 else math.nan
        run.add("", Reading(float(math.floor(at)), 1, tok_s, told))
        level = run.level_of("", 1)
        if level is not None and len(level.clean) == clean:
            break
    return run.figures().levels[0]


@dataclass
class Tally:
    """What came out of the trials of one n in one world."""

    trials: int = 0
    covered: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    widths: dict[str, list[float]] = field(default_factory=dict)
    words: dict[float, Counter[str]] = field(default_factory=lambda: {true: Counter() for true in TRUE_SPEEDUPS})

    def share(self, figure: str) -> float:
        """How often the interval of a figure held the truth."""
        return self.covered[figure] / self.told[figure] if self.told[figure] else math.nan

    def width(self, figure: str) -> float:
        """The median of its half widths, as a share of the figure."""
        return float(np.median(self.widths[figure])) if figure in self.widths else math.nan

    def note(self, figure: str, interval: tuple[float, float] | None, truth: float) -> None:
        """One interval and what it should hold."""
        if interval is None:
            return
        self.told[figure] += 1
        self.covered[figure] += interval[0] <= truth <= interval[1]
        self.widths.setdefault(figure, []).append(math.log(interval[1] / interval[0]) / 2)


def tally_of(world: World, clean: int, trials: int, chance: np.random.Generator) -> Tally:
    """Many pairs of servers; the words are those that other true speed-ups would have got from the same noise."""
    speculative_world = replace(world, accept_len=2.1, cycle_ms=2.1 * _STEP_MS / 1.2)
    tally = Tally()
    for _ in range(trials):
        baseline, speculative = simulate(world, chance, clean), simulate(speculative_world, chance, clean)
        found = compare_levels(baseline, speculative)
        truth = speculative_world.decode_tok_s / world.decode_tok_s
        tally.trials += 1
        tally.note("baseline", baseline.decode_tok_s_ci95, world.decode_tok_s)
        tally.note("speculative", speculative.decode_tok_s_ci95, speculative_world.decode_tok_s)
        tally.note("speed-up", found.ci95, truth)
        tally.note("delivered", speculative.delivered_tok_s_ci95, speculative_world.delivered_tok_s)
        tally.note(
            "delivered speed-up",
            found.delivered_ci95,
            speculative_world.delivered_tok_s / world.delivered_tok_s,
        )
        for true, words in tally.words.items():
            if found.ci95 is None or clean < SAMPLES_NEEDED:
                words["cannot tell"] += 1
            else:
                words[word_of((found.ci95[0] * true / truth, found.ci95[1] * true / truth))] += 1
    return tally


def is_wrong(word: str, true: float) -> bool:
    """A verdict that a reader would act on, and should not."""
    if word == "equal":
        return not 0.98 <= true <= 1.02
    return (word == "faster" and true <= 1) or (word == "slower" and true >= 1)


def _heavy(world: World, chance: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    return chance.standard_t(3, count) / math.sqrt(3), chance.standard_normal(count)


def _two_clocks(world: World, chance: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """The median lies between two speeds that follow each other at random, 0.6 of the time the faster one."""
    return np.where(chance.random(count) < 0.6, -0.2, 1.8) + 0.2 * chance.standard_normal(
        count
    ), chance.standard_normal(count)


def _linked(world: World, chance: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Long cycles bring more tokens: A and C of a line are correlated by 0.7."""
    cycle = autoregressive(chance, count, world.correlation)
    return cycle, 0.7 * cycle + math.sqrt(1 - 0.49) * autoregressive(chance, count, world.correlation)


def _wandering(world: World, chance: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    return autoregressive(chance, count, 0.9), chance.standard_normal(count)


OTHER_WORLDS = {
    "heavy tails (t, 3 degrees)": World(sigma=0.02, draw=_heavy),
    "two clocks, 4 % apart": World(sigma=0.02, draw=_two_clocks, median_noise=-0.2 + 0.2 * 0.9674),
    "A and C linked, r = 0.7": World(sigma=0.056, accept_sigma=0.056, draw=_linked),
    "A and C, AR(1) 0.7": World(sigma=0.02, correlation=0.7),
    "C alone, AR(1) 0.9": World(sigma=0.02, draw=_wandering),
}
FIGURES = ("baseline", "speculative", "speed-up", "delivered", "delivered speed-up")


def _trials(wanted: int, clean: int) -> int:
    return wanted if clean <= 100 else max(wanted // 4, 100)


def _row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _coverage_row(name: str, clean: int, tally: Tally, figures: tuple[str, ...]) -> None:
    shares = [f"{tally.share(figure):.1%}" for figure in figures]
    widths = [f"{tally.width(figure):.1%}" for figure in figures if figure.endswith("speed-up")]
    _row(name, clean, *shares, *widths)


def _tables(
    worlds: Iterator[tuple[str, World]],
    counts: tuple[int, ...],
    trials: int,
    seed: int,
    figures: tuple[str, ...] = FIGURES,
) -> None:
    widths = [f"± {figure}" for figure in figures if figure.endswith("speed-up")]
    _row("noise", "n", *figures, *widths)
    _row(*["---"] * (2 + len(figures) + len(widths)))
    kept: list[tuple[str, int, Tally]] = []
    for number, (name, world) in enumerate(worlds):
        for clean in counts:
            chance = np.random.default_rng([seed, number, clean])
            tally = tally_of(world, clean, _trials(trials, clean), chance)
            _coverage_row(name, clean, tally, figures)
            kept.append((name, clean, tally))
    print()
    _row("noise", "n", *(f"{true:g}" for true in TRUE_SPEEDUPS))
    _row(*["---"] * (2 + len(TRUE_SPEEDUPS)))
    for name, clean, tally in kept:
        cells = []
        for true, words in tally.words.items():
            wrong = sum(count for word, count in words.items() if is_wrong(word, true))
            cells.append(f"{wrong / tally.trials:.1%} / {words['cannot tell'] / tally.trials:.0%}")
        _row(name, clean, *cells)
    print()


def _runs_table(trials: int, seed: int) -> None:
    """Several runs a side: runs of one server differ by 4 %, those of the other by 2 %, each known to 0.5 %."""
    _row("runs a side", "interval holds the truth", "median ± of it", "wrong at 1", "cannot tell at 1.1", "at 1.5")
    _row(*["---"] * 6)
    for counts in ((2, 2), (3, 3), (4, 4), (6, 6), (1, 3), (2, 4)):
        chance = np.random.default_rng([seed, *counts])
        covered, words, halves = 0, {true: Counter[str]() for true in (1.0, 1.1, 1.5)}, []
        for _ in range(trials):
            noise = [chance.normal(0, sigma, count) for sigma, count in zip((0.04, 0.02), counts, strict=True)]
            error = LogError(0.0025)
            sides = [
                [
                    LevelFigures(1, 50, 50, decode_tok_s=100 * math.exp(each), decode_error=error)
                    for each in (side + chance.normal(0, 0.0025, len(side))).tolist()
                ]
                for side in noise
            ]
            interval = compare_sides(*sides).ci95
            assert interval is not None
            covered += interval[0] <= 1 <= interval[1]
            halves.append(math.log(interval[1] / interval[0]) / 2)
            for true, count in words.items():
                count[word_of((interval[0] * true, interval[1] * true))] += 1
        wrong = sum(count for word, count in words[1.0].items() if is_wrong(word, 1.0))
        unsure = [f"{words[true]['cannot tell'] / trials:.0%}" for true in (1.1, 1.5)]
        name = f"{counts[0]} and {counts[1]}"
        _row(name, f"{covered / trials:.1%}", f"{np.median(halves):.1%}", f"{wrong / trials:.1%}", *unsure)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--trials", type=int, default=2000, help="of each row; a quarter from n = 300 on")
    options.add_argument("--seed", type=int, default=4)
    options.add_argument("--steady", action="store_true", help="without prefill, idle time and warm-up")
    options.add_argument("--others", action="store_true", help="the noises of another form instead")
    options.add_argument("--runs", action="store_true", help="several runs a side instead")
    given = options.parse_args()
    asked = " ".join(sys.argv[1:]) or "all defaults"
    print(f"numpy {np.__version__}, seed {given.seed}, {given.trials} trials, {asked}\n")
    if given.runs:
        _runs_table(given.trials, given.seed)
        return
    if given.others:
        worlds = iter([(name, world.steady()) for name, world in OTHER_WORLDS.items()])
        # The delivery of such noise has no simple truth.
        _tables(worlds, (10, 30, 100), given.trials, given.seed, FIGURES[:3])
        return
    worlds = (
        (f"{sigma:.1%}, {'AR(1) 0.5' if correlation else 'independent'}", World(sigma=sigma, correlation=correlation))
        for correlation in (0.0, 0.5)
        for sigma in SIGMAS
    )
    _tables(
        ((name, world.steady() if given.steady else world) for name, world in worlds),
        COUNTS,
        given.trials,
        given.seed,
    )


if __name__ == "__main__":
    main()
