"""Several runs a side (A B A B): the runs are the unit, since a run's own noise says nothing about the next run.

On an H200 the same baseline moved by 4 % and the same speculative server by 13 % from run to run, many times what
the samples of one run let expect. So the interval comes from how far the runs of a side lie apart: Welch's t on
ln(decode throughput), and never narrower than the noise within the runs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specmon.analysis.comparison import (
    SAMPLES_NEEDED,
    decode_error_of,
    delivered_error_of,
    distance_to_decide,
    interval_of_ratio,
    word_of,
)
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.spread import Interval
from specmon.analysis.student import student95
from specmon.analysis.uncertainty import LogError

_MOST_RUNS = 1000  # a side; beyond, no number of runs is a plan


@dataclass(frozen=True, slots=True)
class SidesComparison:
    """What the runs of two sides come to at one number of running requests. Ratios are speculative / baseline."""

    verdict: str  # faster, slower, equal, not comparable, cannot tell
    baselines: tuple[LevelFigures, ...] = ()  # the runs that entered, in the order given
    speculatives: tuple[LevelFigures, ...] = ()
    left_out: int = 0  # runs with fewer than 10 clean samples at this level
    speedup: float | None = None  # of the geometric means
    ci95: Interval | None = None  # between runs; with one run a side only the noise within these two
    delivered_speedup: float | None = None
    delivered_ci95: Interval | None = None
    accept_len: float | None = None
    break_even_accept_len: float | None = None
    headroom: float | None = None
    baseline_spread: float | None = None  # standard deviation of ln(decode tok/s) between runs, None for one run
    speculative_spread: float | None = None
    more_runs: int | None = None  # a side, that would decide at this spread

    @property
    def running(self) -> int | None:
        """B of the compared level."""
        return self.baselines[0].running if self.baselines else None

    @property
    def are_runs_the_unit(self) -> bool:
        """Some side has several runs, so the interval holds for other runs of the same kind too."""
        return max(len(self.baselines), len(self.speculatives)) > 1


def level_of_all(baselines: Sequence[RunFigures], speculatives: Sequence[RunFigures]) -> int | None:
    """The B at which the poorest of all runs is richest in clean samples; None when not every run has one level."""
    runs = [*baselines, *speculatives]
    common = set.intersection(*({level.running for level in run.levels} for run in runs)) if runs else set()
    return max(common, key=lambda running: (min(_clean_at(run, running) for run in runs), -running), default=None)


def _clean_at(run: RunFigures, running: int) -> int:
    level = run.level_at(running)
    return 0 if level is None else level.clean


def compare_sides(
    baselines: Sequence[LevelFigures], speculatives: Sequence[LevelFigures], *, is_comparable: bool = True
) -> SidesComparison:
    """All figures of two sides and the verdict. One run a side is judged by the noise within it, as `compare_levels`.

    With one run on one side only, that side is taken to scatter as the other one does.
    """
    sides = [[run for run in side if _is_usable(run)] for side in (baselines, speculatives)]
    base, spec = map(tuple, sides)
    left_out = len(baselines) + len(speculatives) - len(base) - len(spec)
    if not base or not spec:
        return SidesComparison("cannot tell" if is_comparable else "not comparable", base, spec, left_out)
    speedup, interval, spreads = _ratio(base, spec, lambda run: run.decode_tok_s, decode_error_of)
    delivered, delivered_interval, _ = _ratio(base, spec, lambda run: run.delivered_tok_s, delivered_error_of)
    accept = _mean([run.accept_len for run in spec])
    cycle, step = _mean([run.cycle_ms for run in spec]), _mean([run.cycle_ms for run in base])
    break_even = cycle / step if cycle and step else None
    verdict = "cannot tell" if interval is None else word_of(interval)
    more = None
    if verdict == "cannot tell" and speedup is not None and len(base) + len(spec) > 2:
        more = _more_runs(distance_to_decide(speedup), spreads, (len(base), len(spec)))
    return SidesComparison(
        verdict=verdict if is_comparable else "not comparable",
        baselines=base,
        speculatives=spec,
        left_out=left_out,
        speedup=speedup,
        ci95=interval,
        delivered_speedup=delivered,
        delivered_ci95=delivered_interval,
        accept_len=accept,
        break_even_accept_len=break_even,
        headroom=accept / break_even - 1 if accept is not None and break_even else None,
        baseline_spread=spreads[0],
        speculative_spread=spreads[1],
        more_runs=more,
    )


def _is_usable(run: LevelFigures) -> bool:
    return run.clean >= SAMPLES_NEEDED and run.decode_tok_s is not None


def _ratio(
    base: Sequence[LevelFigures],
    spec: Sequence[LevelFigures],
    value_of: Callable[[LevelFigures], float | None],
    error_of: Callable[[LevelFigures], LogError | None],
) -> tuple[float | None, Interval | None, tuple[float | None, float | None]]:
    """The ratio of geometric means, its interval, and the spread of each side's logarithms."""
    if len(base) == len(spec) == 1:
        values = value_of(spec[0]), value_of(base[0])
        ratio = values[0] / values[1] if values[0] and values[1] else None
        return ratio, interval_of_ratio(ratio, error_of(spec[0]), error_of(base[0])), (None, None)
    logarithms: list[list[float]] = []
    for side in (base, spec):
        known = [value for run in side if (value := value_of(run))]
        if len(known) < len(side):
            return None, None, (None, None)
        logarithms.append([math.log(value) for value in known])
    middle = statistics.fmean(logarithms[1]) - statistics.fmean(logarithms[0])
    spreads = [statistics.stdev(side) if len(side) > 1 else None for side in logarithms]
    variance, freedom = _welch(spreads, [len(side) for side in logarithms])
    half = student95(freedom) * math.sqrt(variance)
    within = 0.0
    for side in (base, spec):
        for run in side:
            if (error := error_of(run)) is not None:
                within += (error.half_width / len(side)) ** 2
    half = max(half, math.sqrt(within))
    return math.exp(middle), (math.exp(middle - half), math.exp(middle + half)), (spreads[0], spreads[1])


def _welch(spreads: Sequence[float | None], counts: Sequence[int]) -> tuple[float, float]:
    """Variance of the difference of two means and its degrees of freedom (Welch 1947, Satterthwaite 1946)."""
    known = next(spread for spread in spreads if spread is not None)
    if None in spreads:  # one run on that side: both are taken to scatter alike
        return known**2 * (1 / counts[0] + 1 / counts[1]), float(sum(counts) - 2)
    parts = [(spread or 0.0) ** 2 / count for spread, count in zip(spreads, counts, strict=True)]
    total = sum(parts)
    if total == 0:
        return 0.0, float(sum(counts) - 2)
    return total, total**2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))


def _more_runs(distance: float, spreads: Sequence[float | None], counts: Sequence[int]) -> int | None:
    """By how many runs each side must grow until the interval is as narrow as the decision needs."""
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return None
    pooled = statistics.fmean(spread**2 for spread in known)
    for more in range(1, _MOST_RUNS):
        variance = pooled * sum(1 / (count + more) for count in counts)
        if student95(sum(counts) + 2 * more - 2) * math.sqrt(variance) < distance:
            return more
    return None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
