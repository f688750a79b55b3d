"""Takes long stretches of a block into a history at once, where nothing rare lies between their lines."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from specmon.analysis.lines import Batch, Floats, Integers, Lines
from specmon.events import Block, Covers
from specmon.monitor.life import Life
from specmon.monitor.lives import CLOCK_BACKWARDS_S

if TYPE_CHECKING:
    from specmon.monitor.history import History

FULL_CACHE = 0.98  # usage from which waiting requests mean that the cache is the limit
_FEWEST = 128  # decode lines, below which they come singly
_UNUSUAL = ("cycle_ms", "window_s", "tokens", "prompt_tok_s", "drafts", "drafted", "accepted", "by_position")


def absorb_stretch(history: History, block: Block, i: int, j: int, end: int) -> tuple[int, int] | None:
    """Take in the decode lines from the i-th and the prefills from the j-th on that lie before offset `end`.

    Answers where to go on; None, and nothing taken in, when the lines must come singly.
    """
    decode, prefill, life = block.decode, block.prefill, history.lives.current
    if life is None or len(block.steps) or block.habits.covers is not Covers.WINDOW:
        return None
    if any(len(getattr(decode, name)) for name in _UNUSUAL):
        return None
    stop = bisect_left(decode.offset, end, i)
    # Few samples say little about where the median will be when many more have come.
    if stop - i > (most := max(2 * _FEWEST, life.statistics.samples // 2)):
        stop = i + most
        end = decode.offset[stop]
    prefill_stop = bisect_left(prefill.offset, end, j)
    if stop - i < _FEWEST:
        return None
    samples, prefills = slice(i, stop), slice(j, prefill_stop)
    at, prefill_at = _floats(decode.at, samples), _floats(prefill.at, prefills)
    before = np.searchsorted(_integers(decode.offset, samples), _integers(prefill.offset, prefills))
    is_carried = (_integers(decode.process, samples) >= 0).any() or (_integers(prefill.process, prefills) >= 0).any()
    if is_carried or not _is_one_life(life, at, prefill_at, before):
        return None
    lines = Lines(
        batch=Batch(
            at=at,
            running=_integers(decode.running, samples),
            tok_s=_floats(decode.tok_s, samples),
            accept_len=_floats(decode.accept_len, samples, len(at)),
            context_tokens=_floats(decode.context_tokens, samples, len(at)),
            queue=_floats(decode.queue, samples, len(at)),
            graph=_integers(decode.graph, samples) if len(decode.graph) else np.full(len(at), -1),
        ),
        rank=_integers(decode.rank, samples),
        tags=block.ranks,
        prefill_before=before,
        prefill_rank=_integers(prefill.rank, prefills),
        prefill_tokens=_floats(prefill.new_tokens, prefills),
        has_drafts=any(_is_told(column, samples) for column in (decode.accept_len, decode.accept_rate)),
    )
    life.set_habits(block.habits)
    first, told_accept = life.statistics.samples, lines.batch.accept_len
    totals = list(life.statistics.totals(lines)) if history.is_watched else []
    if not life.statistics.add_many(lines):
        return None
    queue, usage = lines.batch.queue, _floats(decode.usage, samples, len(at))
    life.kv_full += int(np.count_nonzero((queue > 0) & (usage >= FULL_CACHE)))
    _note_lines(life, lines, at, prefill_at, before)
    last_at = prefill_at[-1] if len(before) and before[-1] == len(at) else at[-1]
    history.note_time(float(last_at))
    if history.is_watched:
        _show(history, life, lines, told_accept, decode.offset[i:stop], first, totals)
    return stop, prefill_stop


def is_any_below(times: array[float], limit: float) -> bool:
    """Whether some time lies before `limit`; NaN is no time."""
    return bool((np.frombuffer(times, np.float64) < limit).any())


def _is_one_life(life: Life, at: Floats, prefill_at: Floats, before: Integers) -> bool:
    """Whether the clock runs as within one life, by the rule of `Lives.of_stats`; a line without a time is unusual."""
    merged = np.insert(at, before, prefill_at)
    if life.last_stats_at is not None:
        merged = np.concatenate(([life.last_stats_at], merged))
    return bool(np.all(merged == merged) and np.all(np.diff(merged) >= -CLOCK_BACKWARDS_S))


def _note_lines(life: Life, lines: Lines, at: Floats, prefill_at: Floats, before: Integers) -> None:
    """What each line would have told its life."""
    if len(before):
        life.stats_line(float(prefill_at[-1]))
    for number in lines.decode_ranks:
        life.stats_line(float(at[-1]), lines.tags[number])
    if len(before) and before[-1] == len(at):
        life.stats_line(float(prefill_at[-1]))
    for position in (0, -1):
        life.sampled(float(at[position]), int(lines.batch.running[position]))


def _show(
    history: History,
    life: Life,
    lines: Lines,
    told_accept: Floats,
    offsets: array[int],
    first: int,
    totals: list[float | None],
) -> None:
    """Points for the charts and marks for the log pane."""
    batch = lines.batch
    total = np.array([math.nan if each is None else each for each in totals])
    counts = np.isfinite(total) & np.isfinite(batch.at)  # a duplicate's line is of no rank that adds up
    index = np.arange(first, first + len(total))
    history.trace.extend(
        life, *(each[counts] for each in (index, batch.at, total, batch.tok_s, batch.running, told_accept))
    )
    history.remember(zip(offsets, range(first, first + len(offsets)), strict=True), life)


def _floats(column: array[float], part: slice, count: int = 0) -> Floats:
    """A part of a column; NaN for a column that the dialect never fills."""
    if not len(column):
        return np.full(count, np.nan)
    return np.frombuffer(column, np.float64)[part]


def _integers(column: array[int], part: slice) -> Integers:
    return np.frombuffer(column, np.int64)[part] if len(column) else np.zeros(0, np.int64)


def _is_told(column: array[float], part: slice) -> bool:
    values = _floats(column, part)
    return bool(np.any(values == values))
