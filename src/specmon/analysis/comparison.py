"""Baseline against speculative at one level: speed-up, break-even and the verdict word."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.spread import Interval
from specmon.analysis.student import NORMAL95, student95
from specmon.analysis.uncertainty import LogError, coefficients_for

SAMPLES_NEEDED = 10  # clean samples a side, below which no verdict is given
EQUAL_BAND = (0.98, 1.02)
_MOST_SAMPLES = 10_000_000  # beyond, no log is long enough
DISAGREEMENT = 0.10  # by which the delivered speed-up may differ before the sentence says so


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two servers come to at one number of running requests. Ratios are speculative / baseline."""

    verdict: str  # faster, slower, equal, not comparable, cannot tell
    baseline: LevelFigures | None = None
    speculative: LevelFigures | None = None
    speedup: float | None = None
    ci95: Interval | None = None
    delivered_speedup: float | None = None
    delivered_ci95: Interval | None = None
    accept_len: float | None = None
    break_even_accept_len: float | None = None  # A* = C / S
    headroom: float | None = None  # A / A* - 1
    decided_by: int | None = None  # clean samples a side that would decide at this spread; None: no number would
    between: float | None = None  # standard deviation of ln(tok/s) between sessions that the interval holds

    @property
    def running(self) -> int | None:
        """B of the compared level, the centre of a band."""
        return self.baseline.running if self.baseline is not None else None

    @property
    def running_range(self) -> tuple[int, int] | None:
        """Lowest and highest B of a band."""
        return self.baseline.running_range if self.baseline is not None else None

    @property
    def is_delivery_different(self) -> bool:
        """Delivery lies on the other side of 1, by more than what counts as equal, or differs by more than a tenth."""
        if self.speedup is None or self.delivered_speedup is None:
            return False
        apart = self.delivered_speedup / self.speedup
        on_other_side = (self.speedup - 1) * (self.delivered_speedup - 1) < 0
        is_beyond_noise = not EQUAL_BAND[0] <= apart <= EQUAL_BAND[1]
        return (on_other_side and is_beyond_noise) or abs(apart - 1) > DISAGREEMENT


@dataclass(frozen=True, slots=True)
class AgainstLevel:
    """A speculative level against one recorded number."""

    speedup: float
    ci95: Interval | None
    delivered_speedup: float | None
    break_even_accept_len: float
    headroom: float
    verdict: str
    recorded_tok_s: float | None = None  # what it was held against
    recorded_cycle_ms: float | None = None


def common_level(
    baseline: RunFigures, speculative: RunFigures, running: int | None = None
) -> tuple[LevelFigures, LevelFigures] | None:
    """The level both have: the asked one, else that with the most clean samples on its weaker side."""
    pairs = []
    for level in baseline.levels:
        other = speculative.level_at(level.running)
        if other is not None and running in (None, level.running):
            pairs.append((level, other))
    return max(
        pairs,
        key=lambda pair: (min(pair[0].clean, pair[1].clean), min(pair[0].samples, pair[1].samples), -pair[0].running),
        default=None,
    )


def compare_levels(
    baseline: LevelFigures, speculative: LevelFigures, *, is_comparable: bool = True, between: float | None = None
) -> Comparison:
    """All figures of the pair and the verdict.

    `between` is the standard deviation of ln(tok/s) between sessions of this baseline, where its reference tells it.
    """
    speedup = _ratio(speculative.decode_tok_s, baseline.decode_tok_s)
    break_even = _ratio(speculative.cycle_ms, baseline.cycle_ms)
    if break_even is not None and baseline.accept_len is not None:
        break_even *= baseline.accept_len  # 1 for a baseline, more when two speculative set-ups are compared
    delivered = _ratio(speculative.delivered_tok_s, baseline.delivered_tok_s)
    errors = decode_error_of(speculative), decode_error_of(baseline)
    interval = interval_of_ratio(speedup, *errors, between)
    accept = speculative.accept_len
    fewest = min(baseline.clean, speculative.clean)
    verdict = "cannot tell" if interval is None or fewest < SAMPLES_NEEDED else word_of(interval)
    decided_by = None
    if fewest < SAMPLES_NEEDED:
        decided_by = SAMPLES_NEEDED
    elif verdict == "cannot tell" and speedup is not None and errors[0] is not None and errors[1] is not None:
        decided_by = _samples_to_decide(speedup, fewest, errors[0].joined(errors[1]), between or 0.0)
    return Comparison(
        verdict=verdict if is_comparable else "not comparable",
        baseline=baseline,
        speculative=speculative,
        speedup=speedup,
        ci95=interval,
        delivered_speedup=delivered,
        delivered_ci95=interval_of_ratio(
            delivered, delivered_error_of(speculative), delivered_error_of(baseline), between
        ),
        accept_len=accept,
        break_even_accept_len=break_even,
        headroom=accept / break_even - 1 if accept is not None and break_even else None,
        decided_by=decided_by,
        between=between,
    )


def compare_with_number(
    speculative: LevelFigures,
    tok_s: float,
    cycle_ms: float,
    tok_s_ci95: Interval | None = None,
    between: float | None = None,
) -> AgainstLevel | None:
    """The speculative level against a recorded baseline; None without a speed of its own.

    `between` is the standard deviation of ln(tok/s) between the sessions of the recording, where it is known.
    """
    decode, cycle, accept = speculative.decode_tok_s, speculative.cycle_ms, speculative.accept_len
    if decode is None or cycle is None or accept is None:
        return None
    break_even = cycle / cycle_ms
    speedup = decode / tok_s
    recorded = error_of(tok_s, tok_s_ci95, None) or LogError(0.0)
    interval = interval_of_ratio(speedup, decode_error_of(speculative), recorded, between)
    return AgainstLevel(
        speedup=speedup,
        ci95=interval,
        delivered_speedup=None,  # a reference records no delivery
        break_even_accept_len=break_even,
        headroom=accept / break_even - 1,
        verdict="cannot tell" if interval is None or speculative.clean < SAMPLES_NEEDED else word_of(interval),
        recorded_tok_s=tok_s,
        recorded_cycle_ms=cycle_ms,
    )


def _samples_to_decide(speedup: float, count: int, error: LogError, between: float) -> int | None:
    """How many clean samples a side the interval needs at this spread; None when more would not help.

    The noise within the runs shrinks with the root of n and its factor with the freedom that n affords; what sessions
    differ by stays.
    """
    noise = error.standard_error * math.sqrt(count)
    distance = distance_to_decide(speedup)

    def is_enough(samples: int) -> bool:
        factor = student95(coefficients_for(samples))
        return math.hypot(factor * noise / math.sqrt(samples), NORMAL95 * between) < distance

    if not is_enough(_MOST_SAMPLES):
        return None
    low, high = count, _MOST_SAMPLES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def distance_to_decide(speedup: float) -> float:
    """How narrow the half of an interval must be, in ln, to clear 1 or to fit into the band of equality."""
    away = abs(math.log(speedup))
    return max(away, math.log(EQUAL_BAND[1]) - away, 1e-3)


def word_of(interval: Interval) -> str:
    """The verdict word for an interval of the speed-up."""
    if EQUAL_BAND[0] <= interval[0] and interval[1] <= EQUAL_BAND[1]:
        return "equal"
    if interval[0] > 1:
        return "faster"
    return "slower" if interval[1] < 1 else "cannot tell"


def error_of(value: float | None, interval: Interval | None, error: LogError | None) -> LogError | None:
    """The error of a figure: as told, else from its interval, taken as a normal one."""
    if error is not None or interval is None or not value:
        return error
    return LogError(max(math.log(value / interval[0]), math.log(interval[1] / value)) / NORMAL95)


def decode_error_of(level: LevelFigures) -> LogError | None:
    """Of ln(decode throughput)."""
    return error_of(level.decode_tok_s, level.decode_tok_s_ci95, level.decode_error)


def delivered_error_of(level: LevelFigures) -> LogError | None:
    """Of ln(delivered throughput)."""
    return error_of(level.delivered_tok_s, level.delivered_tok_s_ci95, level.delivered_error)


def interval_of_ratio(
    ratio: float | None, above: LogError | None, below: LogError | None, between: float | None = None
) -> Interval | None:
    """The interval of a quotient of two independent figures.

    `between` is the standard deviation of ln(tok/s) between sessions of the baseline, where it is known.
    """
    if ratio is None or above is None or below is None:
        return None
    error = above.joined(below)
    return (error if between is None else error.joined(LogError(between))).around(ratio)


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
