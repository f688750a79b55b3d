"""A backfill begins at a line's border."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.border import BorderCut


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
