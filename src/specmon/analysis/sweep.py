"""What a sweep over draft steps teaches: how the cycle and the acceptance grow, and which number of steps is best.

The cycle is fitted as C = a + b N over the N tokens that one verify pass checks (drafts and the bonus position): a is
what any cycle costs, b what one more drafted token costs to draft and to verify. The accept length of a chain of k
steps is A = 1 + p + p^2 + ... + p^k when each draft is accepted with the same chance p once all before it are
(Leviathan et al. 2023, equation 1); where a log tells the acceptance by position, its own figures are used, and the
last known chance for positions beyond them. The best k makes A / C largest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specmon.shares import percent

FEWEST_SETTINGS = 3
_BEYOND = 4  # steps past the longest tested chain that are still looked at
_MISFIT = 0.10  # relative error of a fit, beyond which nothing is concluded from it
_FINEST = 0.01  # no prediction is taken to be better than this
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One setting of a sweep, measured at the level that all are compared at. None: the log does not say."""

    steps: int | None  # k
    draft_tokens: int | None  # N
    topk: int | None
    drafter: tuple[str | None, str | None]  # algorithm and draft model
    cycle_ms: float | None
    accept_len: float | None
    by_position: tuple[float, ...] = ()  # share of drafts whose position 1, 2, ... was accepted


@dataclass(frozen=True, slots=True)
class Prediction:
    """The best number of draft steps by the fits, with how sure it is."""

    best_steps: int
    lowest: int  # every number from here ...
    highest: int  # ... to here may as well be the best
    tested: tuple[int, ...]  # steps that were measured
    cycle_base_ms: float  # a
    cycle_per_token_ms: float  # b
    acceptance: float  # p, or the chance of the first position where the log tells it by position
    is_by_position: bool
    misfit: float  # largest relative error of A / C at the measured settings
    cycle_ms: float  # predicted at the best
    accept_len: float

    @property
    def margin(self) -> float:
        """How much slower by the fit a number may be and still count as good: no fit is better than 1 %."""
        return max(self.misfit, _FINEST)

    @property
    def is_tested(self) -> bool:
        """The best was measured itself, so it is no guess."""
        return self.best_steps in self.tested

    @property
    def is_open(self) -> bool:
        """It may lie beyond what was looked at."""
        return self.highest >= max(self.tested) + _BEYOND


@dataclass(frozen=True, slots=True)
class _Known:
    steps: int
    draft_tokens: int
    cycle_ms: float
    accept_len: float
    by_position: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Fit:
    base_ms: float
    per_token_ms: float
    chance: float
    accept_of: Callable[[int], float]

    def cycle_ms(self, steps: int) -> float:
        return self.base_ms + self.per_token_ms * (steps + 1)

    def speed(self, steps: int) -> float:
        """Tokens a millisecond and request."""
        cycle_ms = self.cycle_ms(steps)
        return self.accept_of(steps) / cycle_ms if cycle_ms > 0 else math.nan


def predict(points: Sequence[SweepPoint]) -> Prediction | str:
    """The best number of steps, or the reason why these settings do not tell."""
    known = _usable(points)
    if isinstance(known, str):
        return known
    fit = _fit(known)
    cycle_error = max(abs(fit.cycle_ms(each.steps) / each.cycle_ms - 1) for each in known)
    if cycle_error > _MISFIT:
        missed = percent(cycle_error)
        return f"the cycle time does not grow evenly with the draft tokens (the line misses by up to {missed})"
    if fit.per_token_ms <= 0:
        return "the cycle does not get longer with more draft tokens, so the fit sees no price: try longer chains"
    accept_error = max(abs(fit.accept_of(each.steps) / each.accept_len - 1) for each in known)
    if accept_error > _MISFIT:
        return f"the accept lengths do not follow one chance of acceptance (off by up to {percent(accept_error)})"
    errors = [fit.speed(each.steps) / (each.accept_len / each.cycle_ms) - 1 for each in known]
    misfit = max(map(abs, errors))
    tested = tuple(sorted({each.steps for each in known}))
    candidates = range(1, tested[-1] + _BEYOND + 1)
    best = max(candidates, key=fit.speed)
    as_good = [steps for steps in candidates if fit.speed(steps) >= fit.speed(best) * (1 - max(misfit, _FINEST))]
    others = [max(candidates, key=without.speed) for without in _each_left_out(known)]
    return Prediction(
        best_steps=best,
        lowest=min(*as_good, *others),
        highest=max(*as_good, *others),
        tested=tested,
        cycle_base_ms=fit.base_ms,
        cycle_per_token_ms=fit.per_token_ms,
        acceptance=fit.chance,
        is_by_position=any(each.by_position for each in known),
        misfit=misfit,
        cycle_ms=fit.cycle_ms(best),
        accept_len=fit.accept_of(best),
    )


def _usable(points: Sequence[SweepPoint]) -> list[_Known] | str:
    whole = [point for point in points if _is_whole(point)]
    chains = [point for point in whole if point.topk in (None, 1) and point.draft_tokens == (point.steps or 0) + 1]
    drafters = Counter(point.drafter for point in chains)
    if not drafters:
        if whole:
            return "a fit needs chains (top-k 1), and these settings draft trees"
        return "no setting has all of steps, draft tokens, accept length and cycle time"
    drafter, _ = drafters.most_common(1)[0]
    chosen = [
        _Known(point.steps, point.draft_tokens, point.cycle_ms, point.accept_len, point.by_position)
        for point in chains
        if point.drafter == drafter
        and point.steps is not None
        and point.draft_tokens is not None
        and point.cycle_ms is not None
        and point.accept_len is not None
    ]
    different = len({each.draft_tokens for each in chosen})
    if different < FEWEST_SETTINGS:
        asides = []
        if len(chains) > len(chosen):
            asides.append("other drafters do not count together")
        if len(whole) > len(chains):
            asides.append("trees (top-k above 1) do not count")
        aside = f"; {' and '.join(asides)}" if asides else ""
        return (
            f"a fit needs at least {FEWEST_SETTINGS} different numbers of draft tokens of one drafter, "
            f"here {'is' if different == 1 else 'are'} {different}{aside}"
        )
    return chosen


def _is_whole(point: SweepPoint) -> bool:
    figures = (point.cycle_ms, point.accept_len)
    return (
        point.steps is not None
        and point.steps >= 1
        and point.draft_tokens is not None
        and all(figure is not None and math.isfinite(figure) and figure > 0 for figure in figures)
    )


def _fit(known: Sequence[_Known]) -> _Fit:
    base_ms, per_token_ms = _line([each.draft_tokens for each in known], [each.cycle_ms for each in known])
    told = [each.by_position for each in known if each.by_position]
    if told:
        shares = _mean_by_position(told)
        return _Fit(base_ms, per_token_ms, shares[0], lambda steps: _accept_by_position(shares, steps))
    chance = _one_chance(known)
    return _Fit(base_ms, per_token_ms, chance, lambda steps: _accept(chance, steps))


def _each_left_out(known: Sequence[_Known]) -> list[_Fit]:
    """The fits that lack one setting each: what would be concluded without it."""
    rests = [[each for each in known if each is not left_out] for left_out in known]
    return [_fit(rest) for rest in rests if len({each.draft_tokens for each in rest}) > 1]


def _line(xs: Sequence[int], ys: Sequence[float]) -> tuple[float, float]:
    """Intercept and slope by least squares."""
    middle_x, middle_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - middle_x) ** 2 for x in xs)
    slope = math.fsum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    return middle_y - slope * middle_x, slope


def _accept(chance: float, steps: int) -> float:
    return math.fsum(chance**each for each in range(steps + 1))


def _one_chance(known: Sequence[_Known]) -> float:
    """p with the least squared error of ln A. A grows with p, so the error has one valley."""

    def error(chance: float) -> float:
        return math.fsum(math.log(_accept(chance, each.steps) / each.accept_len) ** 2 for each in known)

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if error(left) < error(right):
            high = right
        else:
            low = left
    return (low + high) / 2


def _mean_by_position(told: Sequence[tuple[float, ...]]) -> list[float]:
    longest = max(map(len, told))
    columns = [[shares[position] for shares in told if len(shares) > position] for position in range(longest)]
    return [math.fsum(column) / len(column) for column in columns]


def _accept_by_position(shares: Sequence[float], steps: int) -> float:
    known = list(shares[:steps])
    if steps > len(shares):
        last = shares[-1] / shares[-2] if len(shares) > 1 and shares[-2] > 0 else shares[-1]
        for _ in range(steps - len(shares)):
            known.append(known[-1] * min(last, 1.0))
    return 1 + math.fsum(known)
