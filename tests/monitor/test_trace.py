"""What charts get of a server's past: whole samples for a day, extremes of everything before."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.analysis.buckets import SLOT_S
from specmon.monitor.held import HeldSamples
from specmon.monitor.life import Life
from specmon.monitor.snapshot import SamplePoint
from specmon.monitor.trace import COARSE_S, Floats, Trace

HOUR = 3600.0
T0 = 1_772_100_000.0


def filled(
    trace: Trace, hours: float, *, every_s: float = 5.0, spike_at: float | None = None, portion: int = 500
) -> None:
    """A steady server, one of whose samples may be a spike."""
    life = Life(1)
    for begin in range(0, int(hours * HOUR / every_s), portion):
        number = np.arange(begin, begin + portion)
        at: Floats = T0 + number * np.float64(every_s)
        speed: Floats = np.array([80.0 + each % 7 / 10 for each in number.tolist()])
        if spike_at is not None:
            speed[(at >= spike_at) & (at < spike_at + every_s)] = 400.0
        trace.extend(life, number, at, speed, speed, np.ones(portion, int), np.full(portion, math.nan))


def highest(held: HeldSamples, start: float, end: float, columns: int = 60) -> list[float]:
    found = held.columns("tok_s", start, end, columns, 1).shown
    assert None not in found
    return [column[1] for column in found if column is not None]


def test_the_spike_of_the_first_hour_stands_in_its_column_after_thirty_hours() -> None:
    trace = Trace()
    filled(trace, 30, spike_at=T0 + 1.25 * HOUR)
    held = trace.points(0)
    assert held.condensed_until is not None
    assert held.started_at == T0 // SLOT_S * SLOT_S
    assert 24 * HOUR <= (held.ended_at or 0) - held[0].at < 27 * HOUR + 60
    tops = highest(held, held.started_at, held.ended_at or 0)
    assert [place for place, top in enumerate(tops) if top > 100] == [2]
    assert max(tops) == 400.0
    cell = 30 * HOUR / 60
    told = held.stretch(T0 + 2 * cell, T0 + 3 * cell, 1)
    assert told is not None
    assert told.tok_s == pytest.approx((80.0, 80.3, 400.0))
    assert told.count == cell / 5


@given(st.lists(st.integers(1, 900), min_size=1, max_size=8), st.booleans())
@settings(max_examples=20, deadline=None)
def test_in_whatever_portions_samples_come_the_same_is_kept(portions: list[int], is_single: bool) -> None:
    chance, whole, cut = random.Random(3), Trace(samples=400, whole_s=600.0), Trace(samples=400, whole_s=600.0)
    life, count = Life(1), sum(portions)
    at = T0 + np.cumsum([chance.choice([0.0, 0.5, 0.5, 30.0]) for _ in range(count)])
    speed = np.array([round(chance.gauss(80, 2), 2) for _ in range(count)])
    running = np.array([chance.choice([1, 1, 1, 2]) for _ in range(count)])
    number, accept = np.arange(count), np.full(count, 2.4)
    whole.extend(life, number, at, speed, speed, running, accept)
    begin = 0
    for portion in portions:
        part = slice(begin, begin + portion)
        if is_single:
            for place in range(begin, begin + portion):
                cut.add(life, place, at[place], speed[place], speed[place], running[place], 2.4)
        else:
            cut.extend(life, number[part], at[part], speed[part], speed[part], running[part], accept[part])
        cut.points(0)
        begin += portion
    one, other = whole.points(0), cut.points(0)
    assert other.by_slots.ended_at == one.by_slots.ended_at
    # How much is still whole depends on when there was a look; what is shown of it does not.
    start, end = T0, float(at[-1]) + 1
    for window in (end - start, 100.0):
        grid = start // SLOT_S * SLOT_S + np.arange(0, 10) * SLOT_S * math.ceil(window / 100)
        for begins, ends in pairwise(grid.tolist()):
            mine, theirs = one.stretch(begins, ends, 1), other.stretch(begins, ends, 1)
            assert (mine and (mine.count, mine.left_out)) == (theirs and (theirs.count, theirs.left_out))
            if mine and theirs and mine.tok_s and theirs.tok_s:
                assert mine.tok_s[::2] == pytest.approx(theirs.tok_s[::2])


def test_a_picture_stays_as_it_is_when_the_session_goes_on() -> None:
    trace = Trace(samples=2000)
    filled(trace, 1)
    before = trace.points(0)
    kept, count = list(before)[-5:], len(before)
    filled(trace, 12)
    assert trace.points(0) is not before
    assert (list(before)[-5:], len(before)) == (kept, count)


def test_whole_samples_and_buckets_are_bounded_and_old_buckets_become_coarse() -> None:
    trace = Trace(samples=1000, buckets=900)
    filled(trace, 240, spike_at=T0 + 200 * HOUR)
    held = trace.points(0)
    assert len(held) <= 1000 * 9 // 8
    assert len(held.buckets) <= 900
    assert {10.0, COARSE_S} == {float(span) for span in held.buckets["span_s"]}
    start = held.started_at
    assert start is not None
    assert start > T0  # what is older than even these have room for is gone
    assert max(highest(held, start, held.ended_at or 0)) == 400.0
    assert held.buckets["count"].sum() + len(held) <= 240 * HOUR / 5


def test_a_clock_that_was_put_back_neither_fills_the_memory_nor_loses_the_newest() -> None:
    trace, life = Trace(samples=1000), Life(1)
    for number in range(40):
        index = np.arange(200)
        at: Floats = T0 + (number % 2) * -5 * 86400 + index.astype(float)
        speed = np.full(200, 80.0)
        trace.extend(life, index, at, speed, speed, np.ones(200, int), np.full(200, math.nan))
        held = trace.points(0)
        assert len(held) <= 1000 * 9 // 8
        assert held.ended_at == at[-1]
    assert held.buckets["count"].sum() + len(held) == 40 * 200


def test_single_samples_and_many_at_once_are_the_same() -> None:
    single, many = Trace(), Trace()
    filled(many, 1, portion=720)
    life = Life(1)
    for number in range(720):
        single.add(life, number, T0 + number * 5.0, 80.0 + number % 7 / 10, 80.0 + number % 7 / 10, 1, math.nan)
    assert single.points(0) == many.points(0)
    assert single.points(0) is single.points(0)


def test_while_a_slot_goes_on_long_windows_have_nothing_new_to_draw() -> None:
    trace, life = Trace(), Life(1)
    start = T0 // SLOT_S * SLOT_S
    seen = []
    for number in range(60):
        trace.add(life, number, start + number * 0.5, 80.0, 80.0, 1, math.nan)
        seen.append(trace.points(0).by_slots)
    assert len({id(each) for each in seen}) == 3
    assert [int(each.buckets["count"].sum()) for each in seen[::20]] == [0, 20, 40]
    assert trace.points(0).by_slots is seen[-1]


def test_columns_are_those_of_the_samples_whether_whole_or_not() -> None:
    chance = random.Random(5)
    points = [
        SamplePoint(T0 + i * 2.0, chance.uniform(50, 90), chance.choice([1, 1, 2]), None, None,
                    chance.choice([None, None, "after_prefill"]))
        for i in range(3000)
    ]  # fmt: skip
    held = HeldSamples.of(points)
    found = held.columns("tok_s", T0, T0 + 6000, 50, 1, 85.0)
    for place in range(50):
        inside = [p for p in points if T0 + place * 120 <= p.at < T0 + (place + 1) * 120]
        shown = [p.tok_s for p in inside if p.excluded is None and p.running == 1]
        other = [p.tok_s for p in inside if p.excluded is None and p.running == 2]
        assert found.shown[place] == (min(shown), max(shown))
        assert (place in found.beyond) == (max(other) > 85.0)
    assert len(found.left_out) == sum(p.excluded is not None for p in points)


def test_a_week_of_samples_holds_a_day_of_them_and_a_few_buckets() -> None:
    trace, life, held = Trace(), Life(1), []
    for begin in range(0, 7 * 86_400, 4 * 3600):
        number = np.arange(begin, begin + 4 * 3600, 2)
        at, speed = T0 + number.astype(np.float64), np.full(len(number), 80.0)
        trace.extend(life, number, at, speed, speed, np.ones(len(number), int), np.full(len(number), math.nan))
        trace.points(0).by_slots.columns("tok_s", T0, float(at[-1]), 50, 1)
        held.append(trace.nbytes / 2**20)
    # A day has 43,200 samples of 41 bytes, and 8,640 buckets of 57 bytes.
    assert max(held[:6]) < 3.2
    assert max(held) < 3.2 + 6 * 0.6


def test_a_moved_sample_is_found_at_the_time_that_is_shown() -> None:
    trace = Trace()
    filled(trace, 1, every_s=0.1, portion=6000)
    held = trace.points(0, shift_s=0.3)
    for place in (0, 4095, 4096, len(held) - 1):
        assert held.has_sample_at(held[place].at)
    assert held[0].at == T0 + 0.3
    assert not held.has_sample_at(T0 + 0.35)


def test_a_server_without_samples_has_no_verdicts_to_look_at() -> None:
    assert len(Trace().points(1)) == 0
