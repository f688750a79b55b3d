"""How often the drift detector is wrong, and how fast it is right, on noise whose truth is known.

    python benchmarks/drift.py [--only runs|learned|delays|shapes] [--sigma 0.056] [--samples 1e7] [--seed 1]

What is counted comes from `specmon.analysis.drift.DriftWatch` itself (`--direct` leaves out the shortcut past streams
in which it cannot say a word). x = ln(C / C_ref) is normal noise of a given
long-run standard deviation, independent or AR(1) (each sample takes half of the one before). Prints the tables of
docs/drift.md, all of it in some minutes of CPU.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specmon.analysis.departure import Limits
from specmon.analysis.drift import Drift, DriftWatch
from specmon.analysis.longrun import long_run_sigma

REFERENCE_MS = 11.26
TOLERANCE = 0.05
RECORDED = 200  # samples of a reference that is itself estimated
LENGTH = 20_000  # samples of one stream: one reference, one server
BATCH = 100  # streams at a time
SIGMAS = (0.005, 0.01, 0.02, 0.056)

Series = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """What a steady server's x does."""

    sigma: float  # long-run
    share: float = 0.0  # of the sample before, AR(1)

    @classmethod
    def of_single_samples(cls, deviation: float, share: float) -> Noise:
        """AR(1) noise whose single samples have this standard deviation."""
        return cls(deviation * math.sqrt((1 + share) / (1 - share)), share)

    def streams(self, rng: np.random.Generator, count: int, length: int) -> Series:
        """`count` independent stretches of it."""
        x = rng.standard_normal((length, count)) * self.sigma * (1 - self.share)
        if self.share:
            x[0] /= math.sqrt(1 - self.share**2)  # begins as it goes on
            for step in range(1, length):
                x[step] += self.share * x[step - 1]
        return x.T


def watch_for(recorded: Series | None, sigma: float | None) -> DriftWatch:
    """A watch with an exact reference, or with one estimated from a recording."""
    if recorded is None:
        return DriftWatch(REFERENCE_MS, TOLERANCE, sigma)
    middle = float(np.median(recorded))
    return DriftWatch(REFERENCE_MS * math.exp(middle), TOLERANCE, long_run_sigma(recorded.tolist()))


def samples_of(x: Series) -> Iterator[tuple[float, float]]:
    """Numbers for times, and cycle times."""
    return enumerate((REFERENCE_MS * np.exp(x)).tolist())


def count_alarms(
    noise: Noise, samples: int, seed: int, *, is_estimated: bool, knows_sigma: bool = True, is_screened: bool = True
) -> tuple[int, int]:
    """False alarms on a server that matches, and how often it was said to drift.

    A stream in which even the evidence without clipping, at the recorded sigma, never comes to the threshold is not
    put through the watch: neither word can fall there, since clipping only takes evidence away and the watch never
    judges by less than the recorded sigma.
    """
    rng = np.random.default_rng(seed)
    alarms = drifts = done = 0
    while done < samples:
        batch = noise.streams(rng, BATCH, LENGTH + (RECORDED if is_estimated else 0))
        watches = [
            watch_for(x[:RECORDED] if is_estimated else None, noise.sigma if knows_sigma else None) for x in batch
        ]
        live = batch[:, -LENGTH:]
        is_quiet = is_screened and knows_sigma
        suspects = suspected(live, watches) if is_quiet else np.ones(len(live), dtype=bool)
        for x, watch in zip(live[suspects], np.array(watches)[suspects], strict=True):
            for at, cycle_ms in samples_of(x):
                if (change := watch.add(at, cycle_ms)) is not None:
                    drifts += change.state is Drift.DRIFTING
                    alarms += change.state is Drift.DIVERGED
        done += live.size
    return alarms, drifts


def suspected(live: Series, watches: Sequence[DriftWatch]) -> npt.NDArray[np.bool_]:
    """The streams in which the unclipped evidence reaches the threshold on one side."""
    middle = np.array([math.log(watch.reference_cycle_ms / REFERENCE_MS) for watch in watches])
    threshold = np.array([Limits.of(TOLERANCE, watch.noise.sigma).threshold for watch in watches])
    slower, faster = np.zeros(len(live)), np.zeros(len(live))
    most = np.zeros(len(live))
    for column in live.T:
        x = column - middle
        slower = np.maximum(slower + x - TOLERANCE / 2, 0)
        faster = np.maximum(faster - x - TOLERANCE / 2, 0)
        np.maximum(most, np.maximum(slower, faster), out=most)
    return most >= 0.999 * threshold


def run_length_at_least(samples: int, alarms: int) -> float:
    """The lower end of the 95 % interval (one-sided) of the mean run length: Poisson counts."""
    low, high = 0.0, 10.0 * (alarms + 5)
    for _ in range(60):
        mean = (low + high) / 2
        term, total = math.exp(-mean), 0.0
        for number in range(alarms + 1):
            total += term
            term *= mean / (number + 1)
        low, high = (mean, high) if total > 0.05 else (low, mean)
    return samples / low


def show_run_lengths(sigmas: Sequence[float], samples: int, seed: int, *, is_screened: bool) -> None:
    """A server that matches: with its sigma known or recorded."""
    print("| sigma | noise | reference | alarms | run length at least | said to drift |")
    print("|---|---|---|---|---|---|")
    for sigma in sigmas:
        kinds = [
            ("independent", Noise(sigma)),
            ("AR(1) 0.5, the long-run sigma", Noise(sigma, 0.5)),
            ("AR(1) 0.5, of single samples", Noise.of_single_samples(sigma, 0.5)),
        ]
        for name, noise in kinds:
            for is_estimated in (False, True):
                alarms, drifts = count_alarms(noise, samples, seed, is_estimated=is_estimated, is_screened=is_screened)
                least = run_length_at_least(samples, alarms)
                reference = f"from {RECORDED} samples" if is_estimated else "exact"
                print(
                    f"| {sigma:.1%} | {name} | {reference} | {alarms} | {least:,.0f} | {drifts} |",
                    flush=True,
                )


def show_learned(sigmas: Sequence[float], samples: int, seed: int) -> None:
    """A server that matches a number written by hand: the watch learns how much it wanders."""
    print("| sigma of the server | noise | alarms without a recorded sigma | run length at least | said to drift |")
    print("|---|---|---|---|---|")
    for sigma in sigmas:
        for name, share in (("independent", 0.0), ("AR(1) 0.5", 0.5)):
            alarms, drifts = count_alarms(Noise(sigma, share), samples, seed, is_estimated=False, knows_sigma=False)
            least = run_length_at_least(samples, alarms)
            print(f"| {sigma:.1%} | {name} | {alarms} | {least:,.0f} | {drifts} |", flush=True)


def delays(noise: Noise, shift: float, before: int, seed: int, *, repeats: int = 1000, after: int = 400) -> Series:
    """Samples from a change of the throughput to the alarm, in `repeats` runs; infinite where none came in 400."""
    found = []
    for x in noise.streams(np.random.default_rng(seed), repeats, before + after):
        x[before:] -= math.log1p(shift)
        watch = DriftWatch(REFERENCE_MS, TOLERANCE, noise.sigma)
        delay = math.inf
        for at, cycle_ms in samples_of(x):
            watch.add(at, cycle_ms)
            if watch.state is Drift.DIVERGED:
                delay = at - before + 1
                break
        if delay > 0:
            found.append(delay)
    return np.array(found)


def show_delays(sigmas: Sequence[float], seed: int) -> None:
    """How many clean samples a change takes to be found."""
    print("| change | sigma | noise | from the first sample: median, 95 % within | after 500 samples in control |")
    print("|---|---|---|---|---|")
    for shift in (-0.29, -0.10, 0.10):
        for sigma in sigmas:
            for name, share in (("independent", 0.0), ("AR(1) 0.5", 0.5)):
                cells = []
                for before, repeats in ((0, 2000), (500, 1000)):
                    found = delays(Noise(sigma, share), shift, before, seed, repeats=repeats)
                    within = np.quantile(found, 0.95, method="higher")
                    cells.append(f"{np.median(found):.0f}, {within:.0f}")
                print(f"| {shift:+.0%} | {sigma:.1%} | {name} | {cells[0]} | {cells[1]} |", flush=True)


def show_shapes(sigmas: Sequence[float], samples: int, seed: int) -> None:
    """What must raise no alarm although it is no pure noise."""
    print("| shape | sigma | noise | samples | alarms |")
    print("|---|---|---|---|---|")
    count = max(1, samples // LENGTH)
    index = np.arange(LENGTH)
    shapes = {
        "one sample in 50 at -19 %": np.where(index % 50 == 25, -math.log(0.81), 0.0),
        "a trend of 1 % over 1,000 samples, again and again": 0.01 * (index % 1000) / 1000,
        "steady at -3 %": np.full(LENGTH, -math.log(0.97)),
        "steady at -4 %": np.full(LENGTH, -math.log(0.96)),
    }
    for name, shape in shapes.items():
        for sigma in sigmas:
            for kind, share in (("independent", 0.0), ("AR(1) 0.5", 0.5)):
                noise = Noise(sigma, share)
                alarms = 0
                for x in noise.streams(np.random.default_rng(seed), count, LENGTH):
                    watch = DriftWatch(REFERENCE_MS, TOLERANCE, sigma)
                    for at, cycle_ms in samples_of(x + shape):
                        change = watch.add(at, cycle_ms)
                        alarms += change is not None and change.state is Drift.DIVERGED
                print(f"| {name} | {sigma:.1%} | {kind} | {count * LENGTH:,} | {alarms} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", choices=["runs", "learned", "delays", "shapes"])
    options.add_argument("--sigma", type=float, action="append", help="long-run; 0.5, 1, 2 and 5.6 %% unless given")
    options.add_argument(
        "--samples", type=float, default=1e7, help="of a row of the first table; a tenth of it in the others"
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--direct", action="store_true", help="put every stream through the watch")
    given = options.parse_args()
    sigmas = given.sigma or SIGMAS
    samples = max(LENGTH, int(given.samples))
    if given.only in (None, "runs"):
        show_run_lengths(sigmas, samples, given.seed, is_screened=not given.direct)
    if given.only in (None, "learned"):
        show_learned(sigmas, samples // 10, given.seed)
    if given.only in (None, "delays"):
        show_delays(sigmas, given.seed)
    if given.only in (None, "shapes"):
        show_shapes(sigmas, samples // 10, given.seed)


if __name__ == "__main__":
    main()
