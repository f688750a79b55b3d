"""The condensed past: what is folded stays true, in whatever portions and order it came."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.buckets import BUCKET, HIGH, LOW, MEASURES, MIDDLE, MIXED, MOST_LEVELS, Samples, fold, merged

_line = st.tuples(
    st.integers(0, 600).map(lambda tenths: 1e6 + tenths / 10),
    st.integers(1, 90_000).map(lambda hundredths: hundredths / 100),  # tok/s
    st.one_of(st.just(float("nan")), st.integers(100, 400).map(lambda hundredths: hundredths / 100)),
    st.integers(1, 8),  # running
    st.sampled_from([0, 0, 0, 2, 6]),  # rule
)
_lines = st.lists(_line, max_size=60)


def samples(lines: list[tuple[float, float, float, int, int]]) -> Samples:
    at, tok_s, accept, running, rule = (np.array(column) for column in zip(*lines, strict=True)) if lines else [[]] * 5
    speed, length = np.asarray(tok_s, float), np.asarray(accept, float)
    return Samples(
        np.asarray(at, float),
        speed,
        1000 * length / speed if lines else speed,
        length,
        np.asarray(running, np.int32),
        np.asarray(rule, np.uint8),
    )


@given(_lines, st.data())
def test_portions_of_whole_slots_in_any_order_give_the_same(
    lines: list[tuple[float, float, float, int, int]], data: st.DataObject
) -> None:
    whole = fold(samples(lines))
    cut = data.draw(st.integers(0, 6)) * 10 + 1e6
    shuffled = data.draw(st.permutations(lines))
    early, late = [line for line in shuffled if line[0] < cut], [line for line in shuffled if line[0] >= cut]
    parts = np.concatenate([fold(samples(late)), fold(samples(early))])
    assert merged(parts).tobytes() == whole.tobytes()


@given(_lines)
def test_a_bucket_tells_count_minimum_median_and_maximum_of_its_samples(
    lines: list[tuple[float, float, float, int, int]],
) -> None:
    made = fold(samples(lines))
    assert made["count"].sum() == len(lines)
    assert made["count"][made["rule"] != 0].sum() == sum(line[4] != 0 for line in lines)
    for row in made:
        inside = [line for line in lines if row["start"] <= line[0] < row["start"] + row["span_s"]]
        if row["rule"]:
            same = [line for line in inside if line[4]]
        elif row["running"] == MIXED:
            continue
        else:
            same = [line for line in inside if not line[4] and line[3] == row["running"]]
        speeds = [line[1] for line in same]
        assert row["count"] == len(same)
        assert row["tok_s"].tolist() == [np.float32(each) for each in (min(speeds), median(speeds), max(speeds))]


@given(_lines, st.lists(st.integers(0, 60), max_size=3), st.sampled_from([None, 10.0, 60.0]))
def test_slots_that_are_folded_twice_keep_counts_and_extremes(
    lines: list[tuple[float, float, float, int, int]], cuts: list[int], span_s: float | None
) -> None:
    ends = [0, *sorted(cuts), len(lines)]
    parts = [fold(samples(lines[begin:end])) for begin, end in pairwise(ends)]
    made = merged(np.concatenate(parts), span_s)
    assert made["count"].sum() == len(lines)
    if lines:
        assert np.nanmin(made["tok_s"][:, LOW]) == np.float32(min(line[1] for line in lines))
        assert np.nanmax(made["tok_s"][:, HIGH]) == np.float32(max(line[1] for line in lines))
    for name in MEASURES:
        low, middle, high = made[name].T
        told = ~np.isnan(low)
        assert (told == ~np.isnan(middle)).all()
        assert (low[told] <= middle[told]).all()
        assert (middle[told] <= high[told]).all()


def test_a_load_that_wanders_has_few_buckets_a_slot_and_loses_no_sample() -> None:
    lines = [(1e6 + number / 100, 50.0 + number, 2.0, 1 + number % 40, 0) for number in range(900)]
    made = fold(samples(lines))
    assert len(made) == MOST_LEVELS + 1
    assert made["running"][0] == MIXED
    assert made["count"].sum() == 900
    assert made["tok_s"][:, HIGH].max() == 949.0


def test_a_late_part_weighs_by_its_samples() -> None:
    many = fold(samples([(1e6, 80.0, 2.0, 1, 0)] * 9))
    late = fold(samples([(1e6 + 1, 10.0, 2.0, 1, 0)]))
    (only,) = merged(np.concatenate([late, many]))
    assert (only["count"], only["tok_s"][LOW], only["tok_s"][MIDDLE], only["tok_s"][HIGH]) == (10, 10.0, 80.0, 80.0)


def test_a_bucket_takes_less_than_sixty_bytes() -> None:
    assert BUCKET.itemsize < 60
