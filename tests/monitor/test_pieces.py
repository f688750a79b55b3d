"""Columns in pieces are as columns in one stretch of memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.buckets import BUCKET, Buckets, merged
from specmon.monitor.bucketrows import BucketRows, joined
from specmon.monitor.pieces import Pieces, View

KINDS = (("at", "f8"), ("rule", "u1"))
_DEEDS = st.lists(
    st.tuples(st.sampled_from(["extend", "forget", "put", "cut"]), st.integers(0, 30), st.integers(0, 30)), max_size=30
)


def columns(first: int, count: int) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
    number = np.arange(first, first + count)
    return {"at": number.astype(np.float64), "rule": (number % 250).astype(np.uint8)}


def told(view: View) -> list[tuple[float, int]]:
    return list(zip(view.numbers("at").tolist(), view.numbers("rule").tolist(), strict=True))


@given(_DEEDS, st.integers(1, 9))
def test_pieces_hold_what_plain_columns_hold_and_what_was_given_away_stays(
    deeds: list[tuple[str, int, int]], size: int
) -> None:
    pieces, plain, came = Pieces(KINDS, piece=size), list[tuple[float, int]](), 0
    given_away: list[tuple[View, list[tuple[float, int]]]] = []
    for deed, one, other in deeds:
        given_away.append((pieces.view(), list(plain)))
        if deed == "extend":
            new = columns(came, one)
            came += one
            pieces.extend(new)
            plain += zip(new["at"].tolist(), new["rule"].tolist(), strict=True)
        elif deed == "forget":
            pieces.forget(one)
            del plain[:one]
        elif deed == "cut":
            pieces.cut(one)
            del plain[one:]
        else:
            begin = min(one, len(plain))
            rule = np.full(min(other, len(plain) - begin), 251, np.uint8)
            pieces.put(begin, {"rule": rule})
            plain[begin : begin + len(rule)] = [(at, 251) for at, _ in plain[begin : begin + len(rule)]]
        assert len(pieces) == len(plain)
        assert told(pieces.view()) == plain
        assert pieces.nbytes <= 9 * (len(plain) + 2 * size)
    for view, before in given_away:
        assert told(view) == before


@given(st.lists(st.floats(-50, 50), max_size=40), st.integers(1, 9), st.integers(0, 12), st.data())
def test_a_view_answers_as_a_list_does(values: list[float], size: int, gone: int, data: st.DataObject) -> None:
    pieces = Pieces(KINDS, piece=size)
    pieces.extend({"at": np.array(values, np.float64), "rule": np.zeros(len(values), np.uint8)})
    pieces.forget(gone)
    plain, view = values[gone:], pieces.view()
    which = slice(*(data.draw(st.none() | st.integers(-45, 45)) for _ in range(2)))
    assert view.part(which).numbers("at").tolist() == plain[which]
    for place in (-len(plain) - 1, len(plain)):
        with pytest.raises(IndexError):
            view.at("at", place)
    assert [view.at("at", place) for place in range(-len(plain), len(plain))] == plain * 2
    low = data.draw(st.floats(-60, 60))
    high = low + data.draw(st.floats(0, 60))
    around = view.around("at", low, high).numbers("at").tolist()
    assert [each for each in around if low <= each <= high] == [each for each in plain if low <= each <= high]


def rows(starts: list[int]) -> Buckets:
    made = np.zeros(len(starts), BUCKET)
    made["start"], made["span_s"], made["count"] = starts, 10.0, 1
    return made


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=8), st.integers(1, 5), st.integers(0, 50))
def test_bucket_rows_are_one_for_each_slot_in_order(portions: list[list[int]], size: int, limit: int) -> None:
    held, given_away, before = BucketRows(piece=size), [], list[list[float]]()
    for portion in portions:
        given_away.append(held.parts)
        before.append(joined(held.parts)["start"].tolist())
        held.add(merged(rows(sorted(portion))))
    everything = [start for portion in portions for start in portion]
    found = joined(held.parts)
    assert found["start"].tolist() == sorted(set(everything))
    assert found["count"].tolist() == [everything.count(start) for start in sorted(set(everything))]
    assert [joined(parts)["start"].tolist() for parts in given_away] == before
    taken = held.take_before(limit)
    assert taken["start"].tolist() == [start for start in sorted(set(everything)) if start < limit]
    assert len(held) == len(set(everything)) - len(taken)
