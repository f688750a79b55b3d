"""The past of one server as charts ask for it: samples one by one as far back as they are held, buckets before that.

A picture of it stays as it is when the session goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from specmon.analysis import buckets as condensed
from specmon.analysis.buckets import LOW, MIDDLE, NONE, Buckets, Samples
from specmon.analysis.rules import Rule
from specmon.analysis.slices import Column, Entries
from specmon.monitor.snapshot import SamplePoint

Measure: TypeAlias = Literal["tok_s", "cycle_ms", "accept_len"]
Three: TypeAlias = "tuple[float, float, float] | None"  # least, median, greatest; None: not told

_BLOCK = 1024  # samples whose earliest and latest time are known
_MANY = 2000  # left-out samples of a window, from which only the extremes of each column are named
_WORDS = (None, *(rule.word for rule in tuple(Rule)[1:]))


@dataclass(frozen=True, slots=True)
class ChartColumns:
    """What a chart of so many columns draws of one measure."""

    shown: list[Column]  # clean samples of the level that is shown
    other: list[Column]  # clean samples of other levels, as far as the scale holds them
    beyond: frozenset[int]  # columns with samples of other levels above the scale
    left_out: tuple[tuple[int, float], ...]  # column and value
    usual_gap_s: float | None  # between two samples that are shown; None below two


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was measured in a stretch of time."""

    start: float
    end: float
    count: int  # samples that the figures are of
    left_out: int  # samples that do not count
    running: int | None  # None: of several levels
    rule: str | None  # why most are left out, where none is clean and the figures are of those
    tok_s: Three
    cycle_ms: Three
    accept_len: Three


class HeldSamples(Sequence[SamplePoint]):
    """Oldest first; as a sequence, the samples that are held one by one."""

    __slots__ = ("_blocks", "_by_slots", "_samples", "buckets")

    def __init__(
        self, samples: Samples, buckets: Buckets = NONE, by_slots: Callable[[], HeldSamples] | None = None
    ) -> None:
        """`by_slots`: makes the same in buckets, without the slot of time that still goes on."""
        self._samples = samples
        self.buckets = buckets
        self._by_slots = by_slots
        self._blocks: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, points: Sequence[SamplePoint]) -> HeldSamples:
        """Samples that were made elsewhere."""
        if isinstance(points, HeldSamples):
            return points

        def told(values: Iterator[float | None]) -> npt.NDArray[np.float64]:
            return np.array([math.nan if value is None else value for value in values], np.float64)

        return cls(
            Samples(
                told(point.at for point in points),
                told(point.tok_s for point in points),
                told(point.cycle_ms for point in points),
                told(point.accept_len for point in points),
                np.array([point.running for point in points], np.int32),
                np.array([_WORDS.index(point.excluded) for point in points], np.uint8),
            )
        )

    # -- one by one --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, index: int) -> SamplePoint: ...
    @overload
    def __getitem__(self, index: slice) -> HeldSamples: ...
    def __getitem__(self, index: int | slice) -> SamplePoint | HeldSamples:
        own = self._samples
        if isinstance(index, slice):
            return HeldSamples(own.part(index))
        return SamplePoint(
            float(own.at[index]),
            float(own.tok_s[index]),
            int(own.running[index]),
            _known(own.accept_len[index]),
            _known(own.cycle_ms[index]),
            _WORDS[own.rule[index]],
        )

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Sequence):
            return self is other
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list: it may be long

    # -- in time -----------------------------------------------------------------------------------

    @property
    def by_slots(self) -> HeldSamples:
        """All in buckets, up to the last whole slot: the same object as long as the next one goes on."""
        return self if self._by_slots is None else self._by_slots()

    @property
    def started_at(self) -> float | None:
        """The time of the oldest sample or bucket."""
        if len(self.buckets):
            return float(self.buckets["start"][0])
        return float(self._samples.at[0]) if len(self) else None

    @property
    def ended_at(self) -> float | None:
        """The time of the newest sample."""
        return float(self._samples.at[-1]) if len(self) else self.condensed_until

    @property
    def condensed_until(self) -> float | None:
        """Before this moment there are buckets only; None without any."""
        return float(self.buckets["start"][-1] + self.buckets["span_s"][-1]) if len(self.buckets) else None

    def before(self, at: float) -> float | None:
        """The time of the last sample before a moment, else the middle of the last bucket before it."""
        times = self._samples.at[self._samples.at < at]
        if len(times):
            return float(times.max())
        middles = self._bucket_middles()
        return float(middles.max()) if len(middles := middles[middles < at]) else None

    def after(self, at: float) -> float | None:
        """The middle of the first bucket after a moment, else the time of the first sample after it."""
        middles = self._bucket_middles()
        if len(middles := middles[middles > at]):
            return float(middles.min())
        times = self._samples.at[self._samples.at > at]
        return float(times.min()) if len(times) else None

    def has_sample_at(self, at: float) -> bool:
        """Whether a sample that is held one by one has just this time."""
        return bool(np.any(self._near(at, at).at == at))

    def reach(self, at: float, start: float, end: float) -> tuple[float, float]:
        """[start, end], or the bucket that holds `at` where that is longer."""
        rows = self.buckets[(self.buckets["start"] <= at) & (at < self.buckets["start"] + self.buckets["span_s"])]
        if not len(rows) or rows["span_s"][0] <= end - start:
            return start, end
        return float(rows["start"][0]), float(rows["start"][0] + rows["span_s"][0])

    def _bucket_middles(self) -> npt.NDArray[np.float64]:
        middles: npt.NDArray[np.float64] = self.buckets["start"] + self.buckets["span_s"] / 2
        return middles

    def _near(self, start: float, end: float) -> Samples:
        """The samples of [start, end] and some around them, without a look at each of very many."""
        count = len(self)
        if count <= 2 * _BLOCK:
            return self._samples
        if self._blocks is None:
            begins = np.arange(0, count, _BLOCK)
            at = self._samples.at
            self._blocks = np.minimum.reduceat(at, begins), np.maximum.reduceat(at, begins)
        earliest, latest = self._blocks
        found = np.flatnonzero((latest >= start) & (earliest <= end))
        if not len(found):
            return self._samples.part(slice(0, 0))
        return self._samples.part(slice(int(found[0]) * _BLOCK, (int(found[-1]) + 1) * _BLOCK))

    # -- as a whole --------------------------------------------------------------------------------

    def columns(
        self, measure: Measure, start: float, end: float, count: int, running: int | None, high: float = math.inf
    ) -> ChartColumns:
        """What of [start, end] stands in each of `count` columns; `running` is the level that is shown, None: every."""
        entries = Entries.of(self._near(start, end), self.buckets, measure, start, end)
        is_shown = entries.is_clean if running is None else entries.is_clean & (entries.running == running)
        shown, other = entries.those(is_shown), entries.those(entries.is_clean & ~is_shown)
        beyond = other.those(other.high > high)
        first, last = beyond.places(count) if count > 0 else (np.zeros(0, int), np.zeros(0, int))
        return ChartColumns(
            shown=shown.columns(count),
            other=_within(other.those(other.low <= high).columns(count), high),
            beyond=frozenset(first.tolist()) | frozenset(last.tolist()),
            left_out=tuple(_hollow(entries.those(~entries.is_clean), count)),
            usual_gap_s=shown.usual_gap_s(),
        )

    def greatest(self, measure: Measure, start: float, end: float, running: int | None) -> float | None:
        """Of the clean samples of a level within [start, end], or of all levels where that one has none there."""
        entries = Entries.of(self._near(start, end), self.buckets, measure, start, end)
        entries = entries.those(entries.is_clean)
        level = entries if running is None else entries.those(entries.running == running)
        return _known((level if len(level) else entries).greatest())

    def has_level(self, start: float, end: float, running: int | None) -> bool:
        """Whether a level has a clean sample within [start, end]."""
        entries = Entries.of(self._near(start, end), self.buckets, "tok_s", start, end)
        return running is not None and bool(np.any(entries.is_clean & (entries.running == running)))

    def medians(self, start: float, end: float, slice_s: float, low: int, high: int) -> dict[int, float]:
        """The median clean speed of B from `low` to `high` in each whole slice of [start, end), by the slice's number.

        Slices lie on a fixed grid. Where only buckets are held it is the weighted median of theirs.
        """
        first, last = math.ceil(start / slice_s), math.floor(end / slice_s)
        own = self._near(start, end)
        place = np.floor(own.at / slice_s)
        wanted = (place >= first) & (place < last) & (own.rule == 0) & (own.tok_s > 0)
        wanted &= (own.running >= low) & (own.running <= high)
        rows = self.buckets
        row_place = np.floor(self._bucket_middles() / slice_s)
        old = (row_place >= first) & (row_place < last) & (rows["rule"] == 0) & (rows["tok_s"][:, MIDDLE] > 0)
        old &= (rows["running"] >= low) & (rows["running"] <= high)
        found: dict[int, float] = {}
        if old.any():
            places, group = np.unique(row_place[old], return_inverse=True)
            values = condensed.weighted_medians(group, rows["tok_s"][old, MIDDLE], rows["count"][old], len(places))
            found.update(zip(places.astype(int).tolist(), values.tolist(), strict=True))
        if wanted.any():
            places, group = np.unique(place[wanted], return_inverse=True)
            speeds = condensed.extremes(group, own.tok_s[wanted], len(places))[:, MIDDLE]
            found.update(zip(places.astype(int).tolist(), speeds.tolist(), strict=True))
        return found

    def stretches(self) -> Iterator[Stretch]:
        """Every bucket, oldest first."""
        for row in self.buckets:
            is_out, running = bool(row["rule"]), int(row["running"])
            yield Stretch(
                start=float(row["start"]),
                end=float(row["start"] + row["span_s"]),
                count=int(row["count"]),
                left_out=int(row["count"]) if is_out else 0,
                running=None if is_out or running == condensed.MIXED else running,
                rule=_WORDS[row["rule"]],
                tok_s=_three(row["tok_s"]),
                cycle_ms=_three(row["cycle_ms"]),
                accept_len=_three(row["accept_len"]),
            )

    def stretch(self, start: float, end: float, running: int | None) -> Stretch | None:
        """What was measured within [start, end): of a level where it ran there, else of every level.

        A bucket counts where its middle lies. None where nothing was measured.
        """
        own, middles = self._near(start, end), self._bucket_middles()
        samples = own.part((own.at >= start) & (own.at < end))
        rows = self.buckets[(middles >= start) & (middles < end)]
        # One slot that holds it all, whatever its length.
        moved = Samples(
            np.zeros(len(samples)), samples.tok_s, samples.cycle_ms, samples.accept_len, samples.running, samples.rule
        )
        rows = np.concatenate([condensed.fold(moved), rows])
        if not len(rows):
            return None
        rows["start"] = 0.0
        clean, out = rows[rows["rule"] == 0], rows[rows["rule"] != 0]
        level = clean if running is None else clean[clean["running"] == running]
        chosen = (level if len(level) else clean if len(clean) else out).copy()
        ran = set(chosen["running"].tolist())
        chosen["running"] = 0
        (only,) = condensed.merged(chosen)
        return Stretch(
            start=start,
            end=end,
            count=int(only["count"]),
            left_out=int(out["count"].sum()),
            running=ran.pop() if len(ran) == 1 and len(clean) else None,
            rule=None if len(clean) else _WORDS[only["rule"]],
            tok_s=_three(only["tok_s"]),
            cycle_ms=_three(only["cycle_ms"]),
            accept_len=_three(only["accept_len"]),
        )


def _within(columns: list[Column], high: float) -> list[Column]:
    """No higher than the scale."""
    return [None if column is None else (column[0], min(column[1], high)) for column in columns]


def _hollow(entries: Entries, count: int) -> Iterator[tuple[int, float]]:
    """Where left-out samples lie; of very many, and of a bucket, the extremes."""
    if count <= 0:
        return
    if len(entries) > _MANY:
        for place, column in enumerate(entries.columns(count)):
            if column is not None:
                yield from ((place, value) for value in dict.fromkeys(column))
        return
    first, last = entries.places(count)
    for place, low, high in zip(
        ((first + last) // 2).tolist(), entries.low.tolist(), entries.high.tolist(), strict=True
    ):
        yield from ((place, value) for value in dict.fromkeys((low, high)))


def _three(figures: npt.NDArray[np.float32]) -> Three:
    low, middle, high = figures.tolist()
    return None if math.isnan(figures[LOW]) else (low, middle, high)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
