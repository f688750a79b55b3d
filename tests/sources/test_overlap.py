"""Lines are cut and told apart by their bytes alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.overlap import BorderCut, told_again

OLD = b"line 0001\nline 0002\n"
NEW = b"line 0003\nline 0004\nline 0005\n"


@pytest.mark.parametrize(
    ("delivered", "beginning", "told"),
    [
        (OLD, NEW, 0),
        (OLD + NEW[:10], NEW, 10),
        (OLD + NEW[:20], NEW, 20),
        (OLD + NEW[:25], NEW, 20),  # the half line comes again as a whole
        (OLD + NEW[:9], NEW, 0),
        (OLD + NEW, NEW, 30),
        (b"", NEW, 0),
        (OLD, b"", 0),
        (OLD + b"\n", b"\n", 0),  # too short to be more than chance
    ],
)
def test_beginning_that_was_delivered_is_found(delivered: bytes, beginning: bytes, told: int) -> None:
    assert told_again(delivered, beginning) == told


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_border_cut_does_not_depend_on_the_chunks(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    cut = BorderCut()
    out = b"".join(cut.cut(data[start:end]) for start, end in pairwise(edges))
    assert out == data.partition(b"\n")[2]


def test_line_that_never_ends_is_not_waited_for() -> None:
    cut = BorderCut()
    assert cut.cut(b"x" * (1024 * 1024 + 1)) == b""
    assert cut.cut(b"yz") == b"yz"
