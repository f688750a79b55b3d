"""Baseline against speculative at one level: speed-up, break-even and the verdict word."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.analysis.estimate import interval_around
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.spread import Interval

SAMPLES_NEEDED = 10  # clean samples a side, below which no verdict is given
EQUAL_BAND = (0.98, 1.02)
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
    decided_by: int | None = None  # clean samples a side that would decide at this spread

    @property
    def running(self) -> int | None:
        """B of the compared level."""
        return self.baseline.running if self.baseline is not None else None

    @property
    def is_delivery_different(self) -> bool:
        """Delivery lies on the other side of 1, or differs by more than a tenth."""
        if self.speedup is None or self.delivered_speedup is None:
            return False
        on_other_side = (self.speedup - 1) * (self.delivered_speedup - 1) < 0
        return on_other_side or abs(self.delivered_speedup / self.speedup - 1) > DISAGREEMENT


@dataclass(frozen=True, slots=True)
class AgainstLevel:
    """A speculative level against one recorded number."""

    speedup: float
    delivered_speedup: float | None
    break_even_accept_len: float
    headroom: float
    verdict: str


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


def compare_levels(baseline: LevelFigures, speculative: LevelFigures, *, is_comparable: bool = True) -> Comparison:
    """All figures of the pair and the verdict."""
    speedup = _ratio(speculative.decode_tok_s, baseline.decode_tok_s)
    break_even = _ratio(speculative.cycle_ms, baseline.cycle_ms)
    if break_even is not None and baseline.accept_len is not None:
        break_even *= baseline.accept_len  # 1 for a baseline, more when two speculative set-ups are compared
    interval = interval_of_ratio(
        speculative.decode_tok_s, speculative.decode_tok_s_ci95, baseline.decode_tok_s, baseline.decode_tok_s_ci95
    )
    accept = speculative.accept_len
    verdict, decided_by = _verdict(baseline, speculative, speedup, interval)
    return Comparison(
        verdict=verdict if is_comparable else "not comparable",
        baseline=baseline,
        speculative=speculative,
        speedup=speedup,
        ci95=interval,
        delivered_speedup=_ratio(speculative.delivered_tok_s, baseline.delivered_tok_s),
        delivered_ci95=interval_of_ratio(
            speculative.delivered_tok_s,
            speculative.delivered_tok_s_ci95,
            baseline.delivered_tok_s,
            baseline.delivered_tok_s_ci95,
        ),
        accept_len=accept,
        break_even_accept_len=break_even,
        headroom=accept / break_even - 1 if accept is not None and break_even else None,
        decided_by=decided_by,
    )


def compare_with_number(
    speculative: LevelFigures, tok_s: float, cycle_ms: float, tok_s_ci95: Interval | None = None
) -> AgainstLevel | None:
    """The speculative level against a recorded baseline; None without a speed of its own."""
    decode, cycle, accept = speculative.decode_tok_s, speculative.cycle_ms, speculative.accept_len
    if decode is None or cycle is None or accept is None:
        return None
    break_even = cycle / cycle_ms
    interval = speculative.decode_tok_s_ci95
    verdict = "cannot tell"
    if interval is not None and speculative.clean >= SAMPLES_NEEDED:
        low, high = tok_s_ci95 if tok_s_ci95 is not None else (tok_s, tok_s)
        verdict = word_of((interval[0] / high, interval[1] / low))
    return AgainstLevel(
        speedup=decode / tok_s,
        delivered_speedup=None,  # a reference records no delivery
        break_even_accept_len=break_even,
        headroom=accept / break_even - 1,
        verdict=verdict,
    )


def _verdict(
    baseline: LevelFigures, speculative: LevelFigures, speedup: float | None, interval: Interval | None
) -> tuple[str, int | None]:
    fewest = min(baseline.clean, speculative.clean)
    if fewest < SAMPLES_NEEDED or interval is None or speedup is None:
        return "cannot tell", SAMPLES_NEEDED if fewest < SAMPLES_NEEDED else None
    word = word_of(interval)
    if word != "cannot tell":
        return word, None
    # An interval shrinks with the root of n.
    half = math.log(interval[1] / interval[0]) / 2
    return word, math.ceil(fewest * (half / distance_to_decide(speedup)) ** 2)


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


def half_widths_of(value: float, interval: Interval) -> tuple[float, float]:
    """How far an interval reaches below and above its value, in ln."""
    return math.log(value / interval[0]), math.log(interval[1] / value)


def interval_of_ratio(
    above: float | None, above_ci95: Interval | None, below: float | None, below_ci95: Interval | None
) -> Interval | None:
    """The interval of a quotient of two independent figures: half widths in ln add up as errors do."""
    if not above or not below or above_ci95 is None or below_ci95 is None:
        return None
    low, high = half_widths_of(above, above_ci95)
    divisor_low, divisor_high = half_widths_of(below, below_ci95)
    return interval_around(above / below, (math.hypot(low, divisor_high), math.hypot(high, divisor_low)))


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
