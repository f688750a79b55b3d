"""Many decode lines at once: the clean-sample rules on columns, with the results that one by one would give.

A whole log has millions of lines of which nearly all are judged alike, so what a rule needs to know (the window
before, the gap, the batch) is worked out for all of them together. Two rules compare with the running median of
the level, which each sample moves. It cannot leave certain bounds, however, and a sample that lies on the same
side of both needs no closer look. Where one lies between them, or an outlier may move its level, the samples of
that level are judged one by one. Sums are accumulated in line order, so that they agree to the last bit.

Imported when a long block comes, and never for single lines: numpy takes a tenth of a second to import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from specmon.analysis.clean import CleanPart
from specmon.analysis.delivery import add_equals
from specmon.analysis.level import Judgement, RankLevel
from specmon.analysis.lines import Batch, Floats, Integers, Lines, different
from specmon.analysis.rank import RankStatistics
from specmon.analysis.rules import (
    FINE_S,
    IDLE_FACTOR,
    MOVED_AFTER,
    OUTLIER_FACTOR,
    OUTLIER_NEEDS,
    STEADY_SHARE,
    Cadence,
    Rule,
)
from specmon.analysis.sample import Sample

Flags: TypeAlias = npt.NDArray[np.bool_]
MakeSample: TypeAlias = Callable[[int], Sample]  # the sample at a position of the batch

_FEWEST_A_LEVEL = 16  # below, columns cost more than they save


def add_lines(
    lines: Lines, ranks: Mapping[int, RankStatistics], first_index: int, cadence: Cadence, make: MakeSample
) -> tuple[bytes, list[tuple[RankStatistics, Judgement]]]:
    """Judge the lines of each rank; answer a `Rule` for each line, and the earlier verdicts that change with them.

    `ranks` holds the rank of each number in `lines`; two numbers may mean one rank.
    """
    rules = np.zeros(len(lines), np.uint8)
    all_changed: list[tuple[RankStatistics, Judgement]] = []
    for rank in {id(rank): rank for rank in ranks.values()}.values():
        numbers = [number for number, other in ranks.items() if other is rank]
        positions = np.flatnonzero(np.isin(lines.rank, numbers)) if len(ranks) > 1 else np.arange(len(lines))
        is_own = np.isin(lines.prefill_rank, numbers) if len(ranks) > 1 else slice(None)
        prefills = lines.prefill_before[is_own]
        new_tokens = lines.prefill_tokens[is_own]
        rank.prefill_batches += len(prefills)
        rank.prefill_tokens = _add_up(rank.prefill_tokens, new_tokens[new_tokens == new_tokens])
        if not len(positions):
            rank.prefill_in_window |= bool(len(prefills))
            continue
        changed: list[Judgement] = []
        batch = lines.batch if len(positions) == len(lines) else lines.batch.take(positions)
        judged = _add_to_rank(rank, batch, positions, prefills, first_index, cadence, make, changed)
        rules[positions] = judged
        for rule, count in enumerate(np.bincount(judged).tolist()):
            if count:
                rank.verdicts[rule] += count
        all_changed += [(rank, judgement) for judgement in changed]
    return rules.tobytes(), all_changed


@dataclass(slots=True)
class _Windows:
    """What lay between each sample of a rank and the one before it."""

    surely_s: Floats  # since the previous line, as far as the stamps can tell
    before_running: Integers
    before_at: Floats
    after_prefill: Flags
    has_gap: Flags
    is_changed: Flags
    is_retracted: Flags


def _add_to_rank(
    rank: RankStatistics,
    batch: Batch,
    positions: Integers,
    prefills: Integers,
    first_index: int,
    cadence: Cadence,
    make: MakeSample,
    changed: list[Judgement],
) -> npt.NDArray[np.uint8]:
    """Judge the samples of one rank that has had one before; answer a `Rule` for each.

    `positions` are theirs among all lines of the batch, `prefills` those of the samples before which one ran (the
    rank's own, counted among all lines).
    """
    windows = _windows(rank, batch, positions, prefills)
    accept_sum, accept_cycles = rank.accept_sum, rank.accept_cycles
    rules = np.empty(len(positions), np.uint8)
    levels = different(batch.running)
    for running in levels:
        which = np.flatnonzero(batch.running == running) if len(levels) > 1 else np.arange(len(positions))
        level = rank.level(running)
        judged = None
        if len(which) >= _FEWEST_A_LEVEL and running > 0:
            own = batch if len(which) == len(positions) else batch.take(which)
            judged = _Level(level, own, windows, which, cadence).judge(positions[which], first_index, make)
        if judged is not None:
            rules[which] = judged
            rank.samples += len(which)
            rank.after_prefill += int(np.count_nonzero(windows.after_prefill[which]))
            continue
        for position in which.tolist():
            rank.prefill_in_window = bool(windows.after_prefill[position])
            rank.gap_in_window = bool(windows.has_gap[position])
            rank.retraction_in_window = bool(windows.is_retracted[position])
            rank.last_at = float(windows.before_at[position])
            rank.last_running = int(windows.before_running[position])
            rules[position] = rank.add(make(int(positions[position])), cadence, changed)
    rounds = float(cadence.cycles_per_sample) * batch.running
    known = batch.accept_len == batch.accept_len
    rank.accept_sum = _add_up(accept_sum, (batch.accept_len * rounds)[known])
    rank.accept_cycles = _add_up(accept_cycles, rounds[known])
    rank.last_tok_s = float(batch.tok_s[-1])
    rank.last_at, rank.last_running = float(batch.at[-1]), int(batch.running[-1])
    rank.gap_in_window = rank.retraction_in_window = False
    rank.prefill_in_window = bool(len(prefills)) and bool(prefills[-1] > positions[-1])
    return rules


def _windows(rank: RankStatistics, batch: Batch, positions: Integers, prefills: Integers) -> _Windows:
    count = len(positions)
    before_at = np.concatenate(([rank.last_at], batch.at[:-1]))
    before_running = np.concatenate(([rank.last_running], batch.running[:-1]))
    after_prefill = np.zeros(count + 1, np.bool_)
    after_prefill[0] = rank.prefill_in_window
    after_prefill[np.searchsorted(positions, prefills)] = True
    has_gap = np.zeros(count, np.bool_)
    has_gap[0] = rank.gap_in_window
    is_retracted = np.zeros(count, np.bool_)
    is_retracted[0] = rank.retraction_in_window
    steps = np.abs(batch.running - before_running)
    # As `resolution_s` has it.
    is_cut = (np.floor(batch.at) == batch.at) | (np.floor(before_at) == before_at)
    return _Windows(
        surely_s=batch.at - before_at - np.where(is_cut, 1.0, FINE_S),
        before_running=before_running,
        before_at=before_at,
        after_prefill=after_prefill[:count],
        has_gap=has_gap,
        is_changed=(batch.running == 0) | (steps > STEADY_SHARE * before_running),
        is_retracted=is_retracted,
    )


class _Level:
    """The samples of one rank at one B."""

    def __init__(self, level: RankLevel, batch: Batch, windows: _Windows, which: Integers, cadence: Cadence) -> None:
        self._level = level
        self._batch = batch
        self._windows = windows
        self._which = which
        self._cadence = cadence
        running = level.running
        with np.errstate(divide="ignore", invalid="ignore"):
            self._cycle_ms = np.where(batch.tok_s > 0, 1000 * batch.accept_len * running / batch.tok_s, math.nan)

    def judge(self, positions: Integers, first_index: int, make: MakeSample) -> npt.NDArray[np.uint8] | None:
        """A rule for each sample, or None, and nothing taken in, where they must be looked at one by one."""
        level, windows, which = self._level, self._windows, self._which
        if len(level.clean) < OUTLIER_NEEDS or (bounds := level.median.bounds(len(which))) is None:
            return None
        is_idle = self._idle(bounds)
        if is_idle is None:
            return None
        rules = np.full(len(which), Rule.CLEAN, np.uint8)
        rules[windows.is_retracted[which]] = Rule.RETRACTION
        rules[windows.is_changed[which]] = Rule.BATCH_CHANGED
        rules[is_idle] = Rule.AFTER_IDLE
        rules[windows.after_prefill[which]] = Rule.AFTER_PREFILL
        admitted = np.flatnonzero(rules == Rule.CLEAN)
        cycle_ms = self._cycle_ms[admitted]
        is_outlier = cycle_ms > OUTLIER_FACTOR * bounds[1]
        if np.any((cycle_ms > OUTLIER_FACTOR * bounds[0]) & ~is_outlier):
            return None
        last_outliers = 0
        if np.any(is_outlier) or level.streak:
            others = np.flatnonzero(~is_outlier)
            # How many outliers lie before, between and behind the others.
            runs = np.diff(np.concatenate(([-1], others, [len(admitted)]))) - 1
            runs[0] += len(level.streak)
            if runs.max() >= MOVED_AFTER:
                return None
            last_outliers = int(runs[-1]) if len(others) else int(np.count_nonzero(is_outlier))
            if len(others):
                level.streak.clear()
            rules[admitted[is_outlier]] = Rule.CYCLE_OUTLIER
            level.outliers += int(np.count_nonzero(is_outlier))
        self._count()
        self._deliver(~is_idle)
        self._take(admitted[~is_outlier], positions + first_index)
        if last_outliers:
            level.streak += [make(int(positions[each])) for each in admitted[-last_outliers:]]
        return rules

    def _idle(self, bounds: tuple[float, float]) -> Flags | None:
        """Rule 3; None when a sample lies between the bounds of the median."""
        windows, cadence = self._windows, self._cadence
        beyond_s = windows.surely_s[self._which]
        is_idle = windows.has_gap[self._which] | (self._batch.tok_s <= 0)
        surely, perhaps = (
            is_idle | (beyond_s > IDLE_FACTOR * (cadence.cycles_per_sample * middle / 1000))
            for middle in (bounds[1], bounds[0])
        )
        return surely if np.array_equal(surely, perhaps) else None

    def _count(self) -> None:
        """What `RankLevel.count` does with each sample."""
        level, batch, cycles = self._level, self._batch, float(self._cadence.cycles_per_sample)
        level.samples += len(batch.at)
        for state in different(batch.graph):
            level.graphs[state] += int(np.count_nonzero(batch.graph == state))
        kept = level.recent_context.maxlen or 0
        level.recent_context.extend((batch.context_tokens[-kept:] / level.running).tolist())
        level.recent_queue.extend(batch.queue[-kept:].tolist())
        accept = batch.accept_len[batch.accept_len == batch.accept_len]
        level.accept_sum = _add_up(level.accept_sum, accept * cycles)
        level.accept_cycles = add_equals(level.accept_cycles, cycles, len(accept))
        timed = self._cycle_ms[self._cycle_ms == self._cycle_ms]
        level.timed_ms = _add_up(level.timed_ms, timed * cycles)
        level.timed_cycles = add_equals(level.timed_cycles, cycles, len(timed))

    def _deliver(self, is_busy: Flags) -> None:
        """What `RankLevel.deliver` does with each window that holds no idle time."""
        level, batch, cycles = self._level, self._batch, float(self._cadence.cycles_per_sample)
        tokens = cycles * batch.accept_len * level.running
        with np.errstate(divide="ignore", invalid="ignore"):
            window_s = tokens / batch.tok_s
        told = is_busy & (batch.tok_s > 0) & (window_s > 0)
        level.delivery.extend(tokens[told], window_s[told], cycles)
        since_s = (batch.at - self._windows.before_at[self._which])[told]
        level.stamped_s = _add_up(level.stamped_s, since_s[since_s == since_s])
        level.idle_windows += int(np.count_nonzero(~is_busy))

    def _take(self, clean: Integers, index: Integers) -> None:
        level, batch = self._level, self._batch
        cycle_ms = self._cycle_ms[clean]
        level.clean.extend(
            CleanPart(
                index=index[clean].astype(np.uint32),
                at=batch.at[clean],
                tok_s=batch.tok_s[clean],
                accept_len=batch.accept_len[clean],
                cycle_ms=cycle_ms,
                cycles=np.full(len(clean), float(self._cadence.cycles_per_sample)),
                context_tokens=(batch.context_tokens[clean] / level.running).astype(np.float32),
                queue=batch.queue[clean],
                graph=batch.graph[clean].astype(np.int8),
                prompt_tok_s=np.full(len(clean), math.nan),
            )
        )
        known = cycle_ms[cycle_ms == cycle_ms]
        if len(known):
            level.median.extend(known)


def _add_up(start: float, values: Floats) -> float:
    """Add one after the other: rounded as single additions are, which a pairwise sum is not."""
    return float(np.cumsum(np.concatenate(([start], values)))[-1])
