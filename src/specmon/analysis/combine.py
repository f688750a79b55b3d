"""Puts the ranks of one level together: data-parallel ranks add up, everything else is one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import ne
from typing import TypeAlias

from specmon.analysis.clean import Drafting
from specmon.analysis.columns import Column
from specmon.analysis.delivery import Delivery
from specmon.analysis.estimate import Estimate, estimate_from, estimate_of_blocks
from specmon.analysis.figures import Basis, LevelFigures, Throughput
from specmon.analysis.level import RankLevel, graph_word
from specmon.analysis.spread import deviation_of, interval_of_median, median_of, quantile_of
from specmon.analysis.uncertainty import Influences, LogError, interval_of

Speed: TypeAlias = tuple[float | None, LogError | None]  # tok/s and how far it may be off

_MANY = 1_000  # clean samples from which arrays are worth the import of numpy


def combine_levels(running: int, parts: Sequence[tuple[str, RankLevel | None]], *, samples: int) -> LevelFigures:
    """The figures of one level from the ranks that add up; a rank that was never seen there is None."""
    levels = [level for _, level in parts if level is not None]
    lacking = tuple(tag for tag, level in parts if level is None or not len(level.clean))
    clean = sum(len(level.clean) for level in levels)
    is_whole = bool(levels) and not lacking  # a level that only repeating ranks have is nobody's
    cycles: list[Iterable[float] | None] = [None] * len(levels)
    if clean >= _MANY:
        cycle_ms, context_tokens, queued = _long_medians(levels)
    elif clean:
        cycles = [level.clean.every_cycle_ms() for level in levels]
        cycle_ms = _middle_of(told for told in cycles if told is not None)
        context_tokens = _middle_of(level.clean.context_tokens for level in levels)
        queued = _middle_of_columns([level.clean.queue for level in levels])
    else:
        cycle_ms = None
        context_tokens = _middle_of(level.recent_context for level in levels)
        queued = _middle_of(level.recent_queue for level in levels)
    drafting = [
        each
        for level in levels
        for each in (level.clean.drafting if clean else level.recent_drafting)
        if each.by_position
    ]
    pooled = _pooled_by_position(drafting)
    estimates = [estimate_of(level, told) for level, told in zip(levels, cycles, strict=True)] if is_whole else []
    figures = figures_of(running, levels, samples=samples, decode=_sum_of(estimates), delivered=_delivered(parts))
    return replace(
        figures,
        tok_s=_throughput(levels) if is_whole else Throughput(),
        acceptance_rate=_acceptance_rate(levels),
        accept_by_position=_by_position(drafting),
        pooled_by_position=pooled[0],
        drafting_share=pooled[1],
        prompt_share=_prompt_share(levels, is_clean=clean > 0),
        cycle_ms=cycle_ms if is_whole else None,
        context_tokens=context_tokens,
        queue=queued,
        ranks_without_clean=lacking,
        basis=replace(figures.basis, rank_tok_s=tuple(each.value for each in estimates if each is not None)),
    )


def figures_of(
    running: int, levels: Sequence[RankLevel], *, samples: int, decode: Speed, delivered: Speed
) -> LevelFigures:
    """What the levels of ranks, or of a band, are worth together at these speeds."""
    clean = sum(level.clean_count for level in levels)
    accept_len, basis = _accept_len(levels, is_clean=clean > 0), basis_of(levels)
    if accept_len is not None:
        basis = replace(basis, accept_tokens=accept_len[0], accept_rounds=accept_len[1])
    return LevelFigures(
        running=running,
        samples=samples,
        clean=clean,
        counted=sum(level.samples for level in levels),
        decode_tok_s=decode[0],
        decode_tok_s_ci95=interval_of(*decode),
        decode_error=decode[1],
        delivered_tok_s=delivered[0],
        delivered_tok_s_ci95=interval_of(*delivered),
        delivered_error=delivered[1],
        prefill_share=prefill_share(levels),
        accept_len=accept_len[0] / accept_len[1] if accept_len is not None else None,
        cuda_graph=graph_of(levels, is_clean=clean > 0),
        outliers=sum(level.outliers for level in levels),
        moves=tuple(move for level in levels for move in level.moves),
        basis=basis,
    )


def basis_of(levels: Sequence[RankLevel]) -> Basis:
    """Sums and ends of what the ranks hold."""
    filled = [level.clean for level in levels if len(level.clean)]
    return Basis(
        delivered=tuple((level.delivery.tokens, level.delivery.seconds) for level in levels),
        windows=sum(level.delivery.windows for level in levels),
        idle_windows=sum(level.idle_windows for level in levels),
        drafted=math.fsum(level.drafted for level in levels),
        accepted=math.fsum(level.accepted for level in levels),
        first_at=min((at for clean in filled if (at := clean.at[0]) == at), default=None),
        last_at=max((at for clean in filled if (at := clean.at[-1]) == at), default=None),
        last_index=max((clean.index[-1] for clean in filled), default=None),
    )


def estimate_of(level: RankLevel, cycle_ms: Iterable[float] | None = None) -> Estimate | None:
    """Decode throughput of one rank's level; None without a cycle time. `cycle_ms`: its cycles, if they are at hand."""
    clean = level.clean
    if len(clean) >= _MANY:
        return _long_estimate(level)
    own = list(clean.every_cycle_ms() if cycle_ms is None else cycle_ms)
    accept, cycles = clean.accept_len.every(), clean.cycles.every()
    if (clean.cycles.only or 0) > 0 and not _has_gaps(own) and not _has_gaps(accept):
        return estimate_from(level.running, accept, own, cycles)
    told = [(a, c, n) for a, c, n in zip(accept, own, cycles, strict=True) if a == a and c == c and n > 0]
    if not told:
        return None
    return estimate_from(level.running, *zip(*told, strict=True))


def _long_estimate(level: RankLevel) -> Estimate | None:
    from specmon.analysis import longlevel as long

    clean = level.clean
    ordered = level.ordered_cycles_ms or long.ordered_numbers([(len(clean), partial(long.usable_cycles, clean))])
    if not (middle := median_of(ordered)):
        return None
    return estimate_of_blocks(level.running, long.block_sums(clean, len(ordered), middle), ordered, middle)


def _long_medians(levels: Sequence[RankLevel]) -> tuple[float | None, float | None, float | None]:
    """The medians of C, of the tokens in a request's context and of the queue."""
    import numpy as np

    from specmon.analysis.longlevel import ordered_columns, ordered_numbers

    columns = [level.clean for level in levels]
    return (
        levels[0].median_cycle_ms
        if len(levels) == 1
        else median_of(ordered_numbers([(len(clean), clean.cycles_ms) for clean in columns])),
        median_of(ordered_numbers([(len(clean), clean.contexts) for clean in columns], np.float32)),
        median_of(ordered_columns([clean.queue for clean in columns])),
    )


def prefill_share(levels: Sequence[RankLevel]) -> float | None:
    """1 - (time of pure decoding at the clean cycle) / (time of the delivered windows), where C is known."""
    decoding = seconds = 0.0
    for level in levels:
        middle = level.median_cycle_ms
        if middle is not None and level.delivery.seconds > 0:
            decoding += level.decode_s(middle)
            seconds += level.delivery.seconds
    return max(0.0, 1 - decoding / seconds) if seconds > 0 else None


def _throughput(levels: Sequence[RankLevel]) -> Throughput:
    if any(len(level.clean) >= _MANY for level in levels):
        return _long_throughput(levels)
    columns = [sorted(level.clean.tok_s.every()) for level in levels]
    median = _total([median_of(column) for column in columns])
    mean = _total([math.fsum(column) / len(column) for column in columns])
    if len(columns) > 1:
        instants = levels[0].clean.at.every()
        if any(level.clean.at.every() != instants for level in levels[1:]):
            return Throughput(median=median, mean=mean)
        ordered = sorted(map(math.fsum, zip(*(level.clean.tok_s.every() for level in levels), strict=True)))
    else:
        ordered = columns[0]
    return Throughput(
        median=median,
        mean=mean,
        mad=deviation_of(ordered),
        ci95=interval_of_median(ordered),
        p5=quantile_of(ordered, 0.05),
        p95=quantile_of(ordered, 0.95),
    )


def _long_throughput(levels: Sequence[RankLevel]) -> Throughput:
    from specmon.analysis import longlevel as long

    columns = [level.clean for level in levels]
    mean = _total([long.mean_of(clean) for clean in columns])
    if len(columns) > 1:
        median = _total([median_of(long.ordered_columns([one.tok_s])) for one in columns])
        if not long.instants_agree(columns):
            return Throughput(median=median, mean=mean)
        ordered: long.Ordered | long.Tally
        ordered = long.ordered_numbers([(len(columns[0]), partial(long.summed_tok_s, columns))])
    else:
        ordered = long.ordered_columns([columns[0].tok_s])
    middle = median_of(ordered)
    ci95, p5, p95 = interval_of_median(ordered), quantile_of(ordered, 0.05), quantile_of(ordered, 0.95)
    mad = median_of(ordered.deviations(middle or 0.0))
    return Throughput(median=middle if len(columns) == 1 else median, mean=mean, mad=mad, ci95=ci95, p5=p5, p95=p95)


def _sum_of(estimates: Sequence[Estimate | None]) -> Speed:
    """Ranks add up, and so do the influences of their samples: ranks that run in step share their noise."""
    known = [estimate for estimate in estimates if estimate is not None]
    if not known or len(known) < len(estimates):
        return None, None
    total = math.fsum(estimate.value for estimate in known)
    return total, error_of([(estimate.value / total, estimate.influences) for estimate in known])


def error_of(parts: Sequence[tuple[float, Influences | None]]) -> LogError | None:
    """The error of a sum, from the share and the influences of each part; None when one has none."""
    told = [(weight, influences) for weight, influences in parts if influences is not None]
    return Influences.summed(told).error if told and len(told) == len(parts) else None


def _delivered(parts: Sequence[tuple[str, RankLevel | None]]) -> Speed:
    """Time-weighted tok/s, summed over the ranks; unknown unless every rank has a window there."""
    deliveries: list[tuple[float, Delivery]] = []
    for _, level in parts:
        if level is None or (tok_s := level.delivery.tok_s) is None:
            return None, None
        deliveries.append((tok_s, level.delivery))
    if not deliveries:
        return None, None
    total = math.fsum(tok_s for tok_s, _ in deliveries)
    if not total > 0:
        return total, None
    return total, error_of([(tok_s / total, delivery.influences) for tok_s, delivery in deliveries])


def _accept_len(levels: Sequence[RankLevel], *, is_clean: bool) -> tuple[float, float] | None:
    """A as tokens over draft rounds: of the clean samples, else of all, as idle time and prefill do not spoil A."""
    sums = [(level.running, *_accept_sums(level)) for level in levels] if is_clean else []
    if not any(cycles > 0 for _, _, cycles in sums):
        sums = [(level.running, level.accept_sum, level.accept_cycles) for level in levels]
    # Each request of the batch has a draft round a cycle.
    rounds = math.fsum(running * cycles for running, _, cycles in sums)
    return (math.fsum(running * accept for running, accept, _ in sums), rounds) if rounds > 0 else None


def _accept_sums(level: RankLevel) -> tuple[float, float]:
    """The sum of A x cycles and that of cycles over the clean samples that have an A."""
    if len(level.clean) >= _MANY:
        from specmon.analysis.longlevel import weighted

        return weighted(level.clean)
    accept, cycles = level.clean.accept_len, level.clean.cycles
    if (a := accept.only) is not None and (n := cycles.only) is not None:
        # A correctly rounded sum of equal figures is their product with their number.
        return (a * n * len(level.clean), n * len(level.clean)) if a == a and n > 0 else (0.0, 0.0)
    pairs = [(a, n) for a, n in zip(accept.every(), cycles.every(), strict=True) if a == a and n > 0]
    return math.fsum(a * n for a, n in pairs), math.fsum(n for _, n in pairs)


def _acceptance_rate(levels: Sequence[RankLevel]) -> float | None:
    drafted = math.fsum(level.drafted for level in levels)
    return math.fsum(level.accepted for level in levels) / drafted if drafted > 0 else None


def _pooled_by_position(drafting: Sequence[Drafting]) -> tuple[tuple[float, ...] | None, float | None]:
    """The shares over all rounds together, and the share of the rounds that had a proposal.

    A position that a shorter draft lacks was not accepted there.
    """
    told = [each for each in drafting if each.rounds > 0]
    rounds = math.fsum(each.rounds for each in told)
    if not rounds > 0:
        return None, None
    width = max(len(each.by_position) for each in told)
    pooled = tuple(
        math.fsum(each.rounds * each.by_position[at] for each in told if len(each.by_position) > at) / rounds
        for at in range(width)
    )
    return pooled, rounds / math.fsum(each.cycles for each in told)


def _by_position(drafting: Sequence[Drafting]) -> tuple[float, ...] | None:
    """Medians of the shares, position by position."""
    shares = [each.by_position for each in drafting]
    width = max(map(len, shares), default=0)
    columns = [sorted(share[position] for share in shares if len(share) > position) for position in range(width)]
    return tuple(middle for column in columns if (middle := median_of(column)) is not None) or None


def _prompt_share(levels: Sequence[RankLevel], *, is_clean: bool) -> float | None:
    """Prompt tokens for each generated one, over windows of the same length."""
    prompt = generated = 0.0
    for level in levels:
        if is_clean and len(level.clean) >= _MANY:
            from specmon.analysis.longlevel import prompt_sums

            sums = prompt_sums(level.clean)
            prompt, generated = prompt + sums[0], generated + sums[1]
            continue
        if is_clean and (only := level.clean.prompt_tok_s.only) is not None and only != only:
            continue
        pairs = zip(level.clean.prompt_tok_s, level.clean.tok_s, strict=True) if is_clean else level.recent_prompt_tok_s
        for prompt_tok_s, tok_s in pairs:
            if prompt_tok_s == prompt_tok_s:
                prompt += prompt_tok_s
                generated += tok_s
    if prompt > 0:
        return prompt / generated if generated > 0 else math.inf
    return 0.0 if generated > 0 else None


def graph_of(levels: Sequence[RankLevel], *, is_clean: bool) -> str:
    """Graph state of the clean samples, or of all."""
    if is_clean:
        return graph_word(set().union(*(level.clean.graphs for level in levels)))
    return graph_word({state for level in levels for state in level.graphs})


def numbers_in_order(values: Iterable[float]) -> list[float]:
    """Those that are no NaN."""
    return sorted([value for value in values if value == value])


def _middle_of(columns: Iterable[Iterable[float]]) -> float | None:
    """The median of all their figures that are no NaN."""
    return median_of(numbers_in_order(chain.from_iterable(columns)))


def _middle_of_columns(columns: Sequence[Column]) -> float | None:
    """The same; as often as not all figures are one."""
    first = columns[0].only
    if first is not None and all(len(column) and column.only == first for column in columns):
        return first
    return _middle_of(column.every() for column in columns)


def _has_gaps(values: Sequence[float]) -> bool:
    """Whether some figure is NaN."""
    return any(map(ne, values, values))


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None
