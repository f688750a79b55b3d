"""The condensed past: minimum, median and maximum of the samples of every ten seconds. Pure, on arrays.

A bucket is of one slot of time and of one kind of samples: the clean ones at one B, or those that are left out. Slots
lie on a fixed grid, so the same samples give the same buckets in whatever portions and order they are folded, as long
as no slot is folded twice. Where one is (a sample that came very late, a longer slot made of short ones), counts,
minima and maxima stay exact, and the median is the weighted median of the parts' medians.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

SLOT_S = 10.0
MIXED = -1  # the B of a bucket of several rare levels
MOST_LEVELS = 4  # of a slot, that have a bucket of their own
MEASURES = ("tok_s", "cycle_ms", "accept_len")
LOW, MIDDLE, HIGH = 0, 1, 2  # in a bucket's figures
_ABSURD = 1e38  # no server means it, and a bucket cannot hold much more
_RULES = 16  # more than there are

Floats = npt.NDArray[np.float64]
Buckets = npt.NDArray[np.void]

BUCKET = np.dtype(
    [
        ("start", "f8"),  # of the slot, on the clock of the log
        ("span_s", "f4"),
        ("running", "i4"),  # 0 where samples are left out, whatever they ran
        ("rule", "u1"),  # 0: clean; else the rule that leaves most of them out
        ("count", "u4"),
        *((name, "f4", 3) for name in MEASURES),  # low, middle, high; NaN: not told
    ]
)
NONE: Buckets = np.zeros(0, BUCKET)


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples as columns of one length. NaN: the log does not tell it."""

    at: Floats  # seconds on the clock of the log
    tok_s: Floats  # of the whole server
    cycle_ms: Floats
    accept_len: Floats
    running: npt.NDArray[np.int32]
    rule: npt.NDArray[np.uint8]  # 0: clean

    def __len__(self) -> int:
        return len(self.at)

    def part(self, which: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Samples:
        """Some of them; a slice shares the memory."""
        return Samples(*(getattr(self, each.name)[which] for each in fields(self)))


def fold(samples: Samples, span_s: float = SLOT_S) -> Buckets:
    """The buckets of samples, by time; those of one slot by B, and what is left out last."""
    samples = samples.part(np.isfinite(samples.at))
    if not len(samples):
        return NONE
    slot = np.floor(samples.at / span_s)
    out = samples.rule != 0
    running = np.where(out, 0, samples.running).astype(np.int32)
    running = _with_rare_ones_mixed(slot, running, out)
    group, first, count = _groups(slot, out, running)
    made = np.zeros(len(first), BUCKET)
    made["start"], made["span_s"] = slot[first] * span_s, span_s
    made["running"], made["count"] = running[first], count
    made["rule"] = _commonest(group, samples.rule, np.ones(len(group)), len(first))
    for name in MEASURES:
        values = getattr(samples, name)
        made[name] = extremes(group, np.where(np.abs(values) < _ABSURD, values, np.nan), len(first))
    return made


def merged(buckets: Buckets, span_s: float | None = None) -> Buckets:
    """Buckets of one kind and slot as one, in order; with `span_s` those of each such stretch of time."""
    if not len(buckets):
        return NONE
    start = buckets["start"] if span_s is None else np.floor(buckets["start"] / span_s) * span_s
    group, first, _ = _groups(start, buckets["rule"] != 0, buckets["running"])
    made = buckets[first].copy()
    made["start"] = start[first]
    if span_s is not None:
        made["span_s"] = span_s
    else:
        np.maximum.at(made["span_s"], group, buckets["span_s"])
    made["count"] = np.bincount(group, buckets["count"], len(first))
    made["rule"] = _commonest(group, buckets["rule"], buckets["count"], len(first))
    for name in MEASURES:
        made[name][:, LOW] = _reduced(np.fmin, group, buckets[name][:, LOW], len(first))
        made[name][:, HIGH] = _reduced(np.fmax, group, buckets[name][:, HIGH], len(first))
        made[name][:, MIDDLE] = weighted_medians(group, buckets[name][:, MIDDLE], buckets["count"], len(first))
    return made


def _groups(
    slot: Floats, out: npt.NDArray[np.bool_], running: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The group of each entry, the first entry of each group, and how many it has; groups in order."""
    order = np.lexsort((running, out, slot))
    key = slot[order], out[order], running[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(key[0]) != 0) | (np.diff(key[1].astype(np.int8)) != 0) | (np.diff(key[2]) != 0)
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(begins) - 1
    at = np.flatnonzero(begins)
    return group, order[at], np.diff(at, append=len(order))


def _with_rare_ones_mixed(
    slot: Floats, running: npt.NDArray[np.int32], out: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Of a load that wanders only the commonest levels of a slot keep a bucket of their own."""
    group, first, count = _groups(slot, out, running)
    order = np.lexsort((running[first], -count, out[first], slot[first]))
    begins = np.flatnonzero(np.diff(slot[first][order], prepend=np.nan) != 0)
    place = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    is_rare = np.zeros(len(first), bool)
    is_rare[order] = (place >= MOST_LEVELS) & ~out[first][order]
    return np.where(is_rare[group], MIXED, running).astype(np.int32)


def extremes(group: npt.NDArray[np.int64], values: Floats, count: int) -> Floats:
    """Low, middle and high of each group; NaN is no value. Of an even number the middle lies between two."""
    order = np.lexsort((values, group))  # NaN comes last
    ordered = values[order]
    told = np.bincount(group, ~np.isnan(values), count).astype(np.int64)
    first = np.searchsorted(group[order], np.arange(count))
    has = told > 0
    found = np.full((count, 3), np.nan)
    begin, many = first[has], told[has]
    found[has, LOW], found[has, HIGH] = ordered[begin], ordered[begin + many - 1]
    with np.errstate(over="ignore"):
        middle = (ordered[begin + (many - 1) // 2] + ordered[begin + many // 2]) / 2
    found[has, MIDDLE] = np.clip(middle, found[has, LOW], found[has, HIGH])
    return found


def weighted_medians(
    group: npt.NDArray[np.int64], values: npt.NDArray[np.float32], weight: npt.NDArray[np.uint32], count: int
) -> npt.NDArray[np.float32]:
    """The weighted median of each group; NaN weighs nothing."""
    weighs = np.where(np.isnan(values), 0, weight).astype(np.float64)
    order = np.lexsort((values, group))
    ordered, owner = values[order], group[order]
    total = np.bincount(group, weighs, count)
    so_far = np.cumsum(weighs[order]) - (np.cumsum(total) - total)[owner]
    is_enough = (so_far * 2 >= total[owner]) & (weighs[order] > 0)
    found = np.full(count, np.nan, np.float32)
    # The first of each group: written last, so that it stays.
    at = np.flatnonzero(is_enough)[::-1]
    found[owner[at]] = ordered[at]
    return found


def _reduced(
    ufunc: np.ufunc, group: npt.NDArray[np.int64], values: npt.NDArray[np.float32], count: int
) -> npt.NDArray[np.float32]:
    found = np.full(count, np.nan, np.float32)
    ufunc.at(found, group, values)
    return found


def _commonest(
    group: npt.NDArray[np.int64], rules: npt.NDArray[np.uint8], weight: npt.NDArray[np.generic], count: int
) -> npt.NDArray[np.uint8]:
    """The rule of most samples of each group; of equal ones the first that is tried."""
    per_rule = np.bincount(group * _RULES + rules, weight, count * _RULES).reshape(count, _RULES)
    found: npt.NDArray[np.uint8] = per_rule.argmax(axis=1).astype(np.uint8)
    return found
