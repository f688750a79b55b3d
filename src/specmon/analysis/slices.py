"""Values over time, cut into the columns of a chart. Pure, on arrays.

An entry is one sample, or a bucket of many that reaches over some time. Each column keeps the least and the greatest
value of all entries that reach into it, so that a single spike survives however many share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from specmon.analysis.buckets import HIGH, LOW, Buckets, Samples

Column: TypeAlias = "tuple[float, float] | None"  # least and greatest
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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

    def usual_gap_s(self) -> float | None:
        """The median time between the newest ones; None below two."""
        gaps = np.diff(np.sort(self.at[-4 * _USUAL :]))
        gaps = gaps[gaps > 0][-_USUAL:]
        return float(np.median(gaps)) if len(gaps) else None

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

    def columns(self, count: int) -> list[Column]:
        """The extremes of each of `count` equal parts of the window."""
        found: list[Column] = [None] * count
        if not len(self) or count <= 0:
            return found
        first, last = self.places(count)
        width = last - first + 1
        entry = np.repeat(np.arange(len(self)), width)
        place = first[entry] + np.arange(len(entry)) - np.repeat(np.cumsum(width) - width, width)
        if np.any(np.diff(place) < 0):
            order = np.argsort(place, kind="stable")
            place, entry = place[order], entry[order]
        begins = np.flatnonzero(np.diff(place, prepend=-1))
        lows = np.minimum.reduceat(self.low[entry], begins).tolist()
        highs = np.maximum.reduceat(self.high[entry], begins).tolist()
        for each, low, high in zip(place[begins].tolist(), lows, highs, strict=True):
            found[each] = (low, high)
        return found

    def greatest(self) -> float:
        """The greatest value; NaN without any."""
        return float(self.high.max()) if len(self) else math.nan
