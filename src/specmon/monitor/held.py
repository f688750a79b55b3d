"""The past of one server as charts ask for it: samples one by one as far back as they are held, buckets before that.

A picture of it stays as it is when the session goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from specmon.analysis import buckets as condensed
from specmon.analysis.buckets import LOW, MIDDLE, NONE, Buckets, Samples
from specmon.analysis.rules import Rule
from specmon.analysis.slices import Column, Entries, Extremes, Hollow
from specmon.monitor.bucketrows import joined
from specmon.monitor.pieces import View
from specmon.monitor.snapshot import SamplePoint

Measure: TypeAlias = Literal["tok_s", "cycle_ms", "accept_len"]
Three: TypeAlias = "tuple[float, float, float] | None"  # least, median, greatest; None: not told

_AT_ONCE = 32_768  # buckets that are looked at together: a chart needs no array as long as its past
_NAMES = tuple(each.name for each in fields(Samples))
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

    __slots__ = ("_by_slots", "_rows", "_shift_s", "_view")

    def __init__(
        self,
        view: View,
        rows: Sequence[Buckets] = (),
        by_slots: Callable[[], HeldSamples] | None = None,
        *,
        shift_s: float = 0.0,
    ) -> None:
        """Columns of samples, and buckets in parts, all in order; every time is moved by `shift_s`.

        `by_slots`: makes the same in buckets, without the slot of time that still goes on.
        """
        self._view = view
        self._rows = tuple(part for part in rows if len(part))
        self._by_slots = by_slots
        self._shift_s = shift_s

    @classmethod
    def of(cls, points: Sequence[SamplePoint]) -> HeldSamples:
        """Samples that were made elsewhere."""
        if isinstance(points, HeldSamples):
            return points

        def told(values: Iterator[float | None]) -> npt.NDArray[np.float64]:
            return np.array([math.nan if value is None else value for value in values], np.float64)

        return cls(
            View.of(
                {
                    "at": told(point.at for point in points),
                    "tok_s": told(point.tok_s for point in points),
                    "cycle_ms": told(point.cycle_ms for point in points),
                    "accept_len": told(point.accept_len for point in points),
                    "running": np.array([point.running for point in points], np.int32),
                    "rule": np.array([_WORDS.index(point.excluded) for point in points], np.uint8),
                }
            )
        )

    # -- one by one --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._view)

    @overload
    def __getitem__(self, index: int) -> SamplePoint: ...
    @overload
    def __getitem__(self, index: slice) -> HeldSamples: ...
    def __getitem__(self, index: int | slice) -> SamplePoint | HeldSamples:
        view = self._view
        if isinstance(index, slice):
            if index.step in (None, 1):
                return HeldSamples(view.part(index), shift_s=self._shift_s)
            return HeldSamples(View.of({name: view.numbers(name)[index] for name in _NAMES}), shift_s=self._shift_s)
        return SamplePoint(
            float(view.at("at", index)) + self._shift_s,
            float(view.at("tok_s", index)),
            int(view.at("running", index)),
            _known(float(view.at("accept_len", index))),
            _known(float(view.at("cycle_ms", index))),
            _WORDS[int(view.at("rule", index))],
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
    def buckets(self) -> Buckets:
        """All buckets as one array, oldest first."""
        return self._moved(joined(self._rows))

    @property
    def started_at(self) -> float | None:
        """The time of the oldest sample or bucket."""
        if self._rows:
            return float(self._rows[0]["start"][0]) + self._shift_s
        return float(self._view.at("at", 0)) + self._shift_s if len(self) else None

    @property
    def ended_at(self) -> float | None:
        """The time of the newest sample."""
        return float(self._view.at("at", -1)) + self._shift_s if len(self) else self.condensed_until

    @property
    def condensed_until(self) -> float | None:
        """Before this moment there are buckets only; None without any."""
        if not self._rows:
            return None
        newest = self._rows[-1][-1]
        return float(newest["start"] + newest["span_s"]) + self._shift_s

    def before(self, at: float) -> float | None:
        """The time of the last sample before a moment, else the middle of the last bucket before it."""
        for found in (self._times(), self._middles()):
            earlier = [float(part.max()) for times in found if len(part := times[times < at])]
            if earlier:
                return max(earlier)
        return None

    def after(self, at: float) -> float | None:
        """The middle of the first bucket after a moment, else the time of the first sample after it."""
        for found in (self._middles(), self._times()):
            later = [float(part.min()) for times in found if len(part := times[times > at])]
            if later:
                return min(later)
        return None

    def has_sample_at(self, at: float) -> bool:
        """Whether a sample that is held one by one has just this time."""
        return bool(np.any(self._near(at, at).at == at))

    def reach(self, at: float, start: float, end: float) -> tuple[float, float]:
        """[start, end], or the bucket that holds `at` where that is longer."""
        for part in self._rows:
            begins = part["start"] + self._shift_s
            rows = np.flatnonzero((begins <= at) & (at < begins + part["span_s"]))
            if len(rows):
                begin, span_s = float(begins[rows[0]]), float(part["span_s"][rows[0]])
                return (start, end) if span_s <= end - start else (begin, begin + span_s)
        return start, end

    def _times(self) -> Iterator[npt.NDArray[np.float64]]:
        """Of the samples, piece by piece."""
        for part in self._view.arrays("at"):
            yield part.astype(np.float64, copy=False) + self._shift_s

    def _middles(self) -> Iterator[npt.NDArray[np.float64]]:
        """Of the buckets, part by part."""
        for part in self._rows:
            yield part["start"] + self._shift_s + part["span_s"] / 2

    def _near(self, start: float, end: float) -> Samples:
        """The samples of [start, end] and some around them, without a look at each of very many."""
        return self._samples(self._around(start, end))

    def _around(self, start: float, end: float) -> View:
        # A second more on both sides, because a shifted time that is shifted back may be another by its last digit.
        return self._view.around("at", start - self._shift_s - 1, end - self._shift_s + 1)

    def _samples(self, view: View) -> Samples:
        found = samples_of(view)
        return replace(found, at=found.at + self._shift_s) if self._shift_s else found

    def _moved(self, rows: Buckets) -> Buckets:
        if self._shift_s:
            rows = rows.copy()
            rows["start"] += self._shift_s
        return rows

    def _entries(self, measure: Measure, start: float, end: float) -> Iterator[Entries]:
        """What tells a measure within [start, end], in parts: samples first, then buckets."""
        near = self._around(start, end)
        while len(near):
            yield Entries.of(self._samples(near.part(slice(0, _AT_ONCE))), NONE, measure, start, end)
            near = near.part(slice(_AT_ONCE, None))
        parts: list[Buckets] = []
        for part in self._rows:
            newest = part[-1]
            if part["start"][0] + self._shift_s > end or newest["start"] + newest["span_s"] + self._shift_s <= start:
                continue
            parts.append(part)
            if sum(map(len, parts)) >= _AT_ONCE:
                yield Entries.of(_NO_SAMPLES, self._moved(joined(parts)), measure, start, end)
                parts.clear()
        if parts:
            yield Entries.of(_NO_SAMPLES, self._moved(joined(parts)), measure, start, end)

    # -- as a whole --------------------------------------------------------------------------------

    def columns(
        self, measure: Measure, start: float, end: float, count: int, running: int | None, high: float = math.inf
    ) -> ChartColumns:
        """What of [start, end] stands in each of `count` columns; `running` is the level that is shown, None: every."""
        shown, other, left_out = Extremes(count), Extremes(count), Hollow(count)
        beyond: set[int] = set()
        for entries in self._entries(measure, start, end):
            is_shown = entries.is_clean if running is None else entries.is_clean & (entries.running == running)
            shown.take(entries.those(is_shown))
            if is_shown.all():
                continue
            rest = entries.those(entries.is_clean & ~is_shown)
            other.take(rest.those(rest.low <= high))
            far = rest.those(rest.high > high)
            if len(far) and count > 0:
                beyond.update(*(places.tolist() for places in far.places(count)))
            left_out.take(entries.those(~entries.is_clean))
        return ChartColumns(
            shown=shown.columns(),
            other=_within(other.columns(), high),
            beyond=frozenset(beyond),
            left_out=tuple(left_out.told()),
            usual_gap_s=shown.usual_gap_s(),
        )

    def greatest(self, measure: Measure, start: float, end: float, running: int | None) -> float | None:
        """Of the clean samples of a level within [start, end], or of all levels where that one has none there."""
        level, every = math.nan, math.nan
        for entries in self._entries(measure, start, end):
            clean = entries.those(entries.is_clean)
            every = _greater(every, clean.greatest())
            if running is not None:
                level = _greater(level, clean.those(clean.running == running).greatest())
        return _known(every if math.isnan(level) else level)

    def has_level(self, start: float, end: float, running: int | None) -> bool:
        """Whether a level has a clean sample within [start, end]."""
        return running is not None and any(
            bool(np.any(entries.is_clean & (entries.running == running)))
            for entries in self._entries("tok_s", start, end)
        )

    def medians(self, start: float, end: float, slice_s: float, low: int, high: int) -> dict[int, float]:
        """The median clean speed of B from `low` to `high` in each whole slice of [start, end), by the slice's number.

        Slices lie on a fixed grid. Where only buckets are held it is the weighted median of theirs.
        """
        first, last = math.ceil(start / slice_s), math.floor(end / slice_s)
        own = self._near(start, end)
        place = np.floor(own.at / slice_s)
        wanted = (place >= first) & (place < last) & (own.rule == 0) & (own.tok_s > 0)
        wanted &= (own.running >= low) & (own.running <= high)
        old = []
        for rows, middles in zip(self._rows, self._middles(), strict=True):
            row_place = np.floor(middles / slice_s)
            which = (row_place >= first) & (row_place < last) & (rows["rule"] == 0) & (rows["tok_s"][:, MIDDLE] > 0)
            which &= (rows["running"] >= low) & (rows["running"] <= high)
            if which.any():
                old.append((row_place[which], rows["tok_s"][which, MIDDLE], rows["count"][which]))
        found: dict[int, float] = {}
        if old:
            row_place, speeds, counts = map(np.concatenate, zip(*old, strict=True))
            places, group = np.unique(row_place, return_inverse=True)
            values = condensed.weighted_medians(group, speeds, counts, len(places))
            found.update(zip(places.astype(int).tolist(), values.tolist(), strict=True))
        if wanted.any():
            places, group = np.unique(place[wanted], return_inverse=True)
            speeds = condensed.extremes(group, own.tok_s[wanted], len(places))[:, MIDDLE]
            found.update(zip(places.astype(int).tolist(), speeds.tolist(), strict=True))
        return found

    def stretches(self) -> Iterator[Stretch]:
        """Every bucket, oldest first."""
        for row in (row for part in self._rows for row in self._moved(part)):
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
        own = self._near(start, end)
        samples = own.part((own.at >= start) & (own.at < end))
        inside = [
            rows[(middles >= start) & (middles < end)]
            for rows, middles in zip(self._rows, self._middles(), strict=True)
        ]
        # One slot that holds it all, whatever its length.
        moved = Samples(
            np.zeros(len(samples)), samples.tok_s, samples.cycle_ms, samples.accept_len, samples.running, samples.rule
        )
        rows = np.concatenate([condensed.fold(moved), *inside])
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


def samples_of(view: View) -> Samples:
    """Samples as columns; of one piece they share its memory."""

    def floats(name: str) -> npt.NDArray[np.float64]:
        return view.numbers(name).astype(np.float64, copy=False)

    return Samples(
        at=floats("at"),
        tok_s=floats("tok_s"),
        cycle_ms=floats("cycle_ms"),
        accept_len=floats("accept_len"),
        running=view.numbers("running").astype(np.int32, copy=False),
        rule=view.numbers("rule").astype(np.uint8, copy=False),
    )


_NO_SAMPLES = samples_of(View((), 1, 0, 0))


def _greater(one: float, other: float) -> float:
    """Of two values, NaN for none."""
    return one if other != other or one > other else other


def _three(figures: npt.NDArray[np.float32]) -> Three:
    low, middle, high = figures.tolist()
    return None if math.isnan(figures[LOW]) else (low, middle, high)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
