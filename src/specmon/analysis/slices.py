"""Values over time, cut into the columns of a chart. Pure, on arrays.

An entry is one sample, or a bucket of many that reaches over some time. Each column keeps the least and the greatest
value of all entries that reach into it, so that a single spike survives however many share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from specmon.analysis.buckets import HIGH, LOW, Buckets, Samples

Column: TypeAlias = "tuple[float, float] | None"  # least and greatest
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MANY = 2000  # left-out samples of a window, from which only the extremes of each column are named
_USUAL = 200  # gaps that tell how far apart samples usually lie


@dataclass(frozen=True, slots=True)
class Entries:
    """What tells one measure within a window, as columns of one length; samples first, then buckets."""

    start: float
    end: float
    at: Floats
    span_s: Floats  # 0 for a sample
    low: Floats
    high: Floats
    is_clean: Flags
    running: npt.NDArray[np.int32]

    @classmethod
    def of(cls, samples: Samples, buckets: Buckets, measure: str, start: float, end: float) -> Entries:
        """Those of [start, end]; a bucket from before counts as far as it reaches into it."""
        if len(buckets) and buckets["start"][-1] + buckets["span_s"][-1] <= start:
            buckets = buckets[:0]
        values: Floats = getattr(samples, measure)
        inside = (samples.at >= start) & (samples.at <= end) & np.isfinite(values)
        reaches = (buckets["start"] + buckets["span_s"] > start) & (buckets["start"] <= end)
        rows = buckets[reaches & np.isfinite(buckets[measure][:, LOW])]
        own = values[inside]
        if not len(rows):  # every frame asks this of every chart
            at, is_clean, running = samples.at[inside], samples.rule[inside] == 0, samples.running[inside]
            return cls(start, end, at, np.zeros(len(own)), own, own, is_clean, running)
        return cls(
            start,
            end,
            np.concatenate([samples.at[inside], rows["start"]]),
            np.concatenate([np.zeros(len(own)), rows["span_s"]]),
            np.concatenate([own, rows[measure][:, LOW]]),
            np.concatenate([own, rows[measure][:, HIGH]]),
            np.concatenate([samples.rule[inside] == 0, rows["rule"] == 0]),
            np.concatenate([samples.running[inside], rows["running"]]),
        )

    def __len__(self) -> int:
        return len(self.at)

    def those(self, which: Flags) -> Entries:
        """Some of them."""
        if which.all():
            return self
        return Entries(
            self.start,
            self.end,
            self.at[which],
            self.span_s[which],
            self.low[which],
            self.high[which],
            self.is_clean[which],
            self.running[which],
        )

    def places(self, count: int) -> tuple[Integers, Integers]:
        """The first and the last of `count` columns that each entry stands in.

        What is longer than a column stands in all that it reaches into, else in that of its middle.
        """
        scale = count / (self.end - self.start)
        is_long = self.span_s * scale > 1
        begin = np.where(is_long, self.at, self.at + self.span_s / 2)
        first = np.clip(((begin - self.start) * scale).astype(np.int64), 0, count - 1)
        last = np.ceil((self.at + self.span_s - self.start) * scale - 1e-9).astype(np.int64) - 1
        return first, np.clip(np.where(is_long, last, first), first, count - 1)

    def greatest(self) -> float:
        """The greatest value; NaN without any."""
        return float(self.high.max()) if len(self) else math.nan


class Extremes:
    """The least and the greatest value of each of `count` equal parts of a window, from entries that come in parts."""

    def __init__(self, count: int) -> None:
        self._count = max(count, 0)
        self._low = np.full(self._count, math.inf)
        self._high = np.full(self._count, -math.inf)
        self._newest: Floats = np.zeros(0)  # times of the last ones that came

    def take(self, entries: Entries) -> None:
        """Take some in; all are of one window."""
        if not len(entries):
            return
        newest = entries.at[-4 * _USUAL :]
        self._newest = np.concatenate([self._newest, newest])[-4 * _USUAL :]
        if not self._count:
            return
        first, last = entries.places(self._count)
        if np.array_equal(first, last):
            entry, place = np.arange(len(entries)), first
        else:
            width = last - first + 1
            entry = np.repeat(np.arange(len(entries)), width)
            place = first[entry] + np.arange(len(entry)) - np.repeat(np.cumsum(width) - width, width)
        if np.any(np.diff(place) < 0):
            order = np.argsort(place, kind="stable")
            place, entry = place[order], entry[order]
        begins = np.flatnonzero(np.diff(place, prepend=-1))
        place = place[begins]
        self._low[place] = np.minimum(self._low[place], np.minimum.reduceat(entries.low[entry], begins))
        self._high[place] = np.maximum(self._high[place], np.maximum.reduceat(entries.high[entry], begins))

    def columns(self) -> list[Column]:
        """Those of each part, None where nothing reaches into it."""
        return [
            (low, high) if low <= high else None
            for low, high in zip(self._low.tolist(), self._high.tolist(), strict=True)
        ]

    def usual_gap_s(self) -> float | None:
        """The median time between the newest ones; None below two."""
        gaps = np.diff(np.sort(self._newest))
        gaps = gaps[gaps > 0][-_USUAL:]
        return float(np.median(gaps)) if len(gaps) else None


class Hollow:
    """Where left-out samples lie, by column; of very many, and of a bucket, the extremes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._extremes = Extremes(count)
        self._each: list[tuple[int, float]] = []
        self._seen = 0

    def take(self, entries: Entries) -> None:
        """Take some in; all are of one window."""
        if self._count <= 0 or not len(entries):
            return
        self._extremes.take(entries)
        self._seen += len(entries)
        if self._seen > _MANY:
            return
        first, last = entries.places(self._count)
        middles = ((first + last) // 2).tolist()
        for place, low, high in zip(middles, entries.low.tolist(), entries.high.tolist(), strict=True):
            self._each += ((place, value) for value in dict.fromkeys((low, high)))

    def told(self) -> Iterator[tuple[int, float]]:
        """Columns and values."""
        if self._seen <= _MANY:
            yield from self._each
            return
        for place, column in enumerate(self._extremes.columns()):
            if column is not None:
                yield from ((place, value) for value in dict.fromkeys(column))
