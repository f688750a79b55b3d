"""Lines come out of the framer whole, once, and at their true offsets, wherever the bytes were cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.framing import Framed, LineFramer

_BYTES = st.lists(
    st.sampled_from([b"a", b"bc", b" ", b"\n", b"\r", b"\r\n", b"\0", b"\0\0\0\n", b"\xef\xbb\xbf", b"\xff", b"x" * 30])
).map(b"".join)


def _frame(data: bytes, cuts: list[int], max_line: int = 16) -> list[Framed]:
    framer = LineFramer(max_line)
    edges = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    framed = [framer.feed(data[low:high], low) for low, high in itertools.pairwise(edges)]
    framed.append(framer.finish())
    return [block for block in framed if block is not None]


def _lines(blocks: list[Framed]) -> list[tuple[int, bytes]]:
    """Lines with the offset of their first byte; blanks put in for NULs and for skipped bytes do not matter."""
    found = []
    for block in blocks:
        offset = block.offset
        for line in block.data.split(b"\n"):
            if text := line.strip():
                found.append((offset + len(line) - len(line.lstrip()), text))
            offset += len(line) + 1
    return found


@given(_BYTES, st.lists(st.integers(0, 200)))
def test_cut_of_the_bytes_does_not_matter(data: bytes, cuts: list[int]) -> None:
    whole, cut = _frame(data, []), _frame(data, cuts)
    assert _lines(cut) == _lines(whole)
    assert sum(block.line_ends for block in cut) == sum(block.line_ends for block in whole)
    assert sum(block.skipped for block in cut) == sum(block.skipped for block in whole)


@given(_BYTES)
def test_byte_by_byte_gives_the_same(data: bytes) -> None:
    assert _lines(_frame(data, list(range(len(data))))) == _lines(_frame(data, []))


@given(_BYTES, st.lists(st.integers(0, 200)))
def test_offsets_are_offsets_of_the_file(data: bytes, cuts: list[int]) -> None:
    for offset, text in _lines(_frame(data, cuts, max_line=1000)):
        assert data[offset : offset + len(text)].replace(b"\0", b" ").replace(b"\r\n", b" \n") == text


@given(_BYTES, st.lists(st.integers(0, 200)))
def test_every_line_feed_is_counted_once(data: bytes, cuts: list[int]) -> None:
    blocks = _frame(data, cuts, max_line=1000)
    assert sum(block.line_ends for block in blocks) == data.count(b"\n")
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])


def test_half_a_line_is_kept_until_it_ends() -> None:
    framer = LineFramer()
    assert framer.feed(b"one\ntw", 100) == Framed(b"one\n", 100)
    assert framer.feed(b"o", 106) is None
    assert framer.feed(b"\nthree", 107) == Framed(b"two\n", 104)
    assert framer.finish() == Framed(b"three", 108)
    assert framer.finish() is None


def test_half_a_line_is_forgotten_after_a_gap() -> None:
    framer = LineFramer()
    framer.feed(b"lost", 0)
    framer.reset()
    assert framer.feed(b"next\n", 5000) == Framed(b"next\n", 5000)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\r\nb\r\n", Framed(b"a \nb \n", 0)),
        (b"bar\rbar\rdone\n", Framed(b"bar\rbar\rdone\n", 0)),
        (b"\xef\xbb\xbffirst\n", Framed(b"first\n", 3)),
        (b"a\0b\n", Framed(b"a b\n", 0)),
        (b"\n\n\n", Framed(b"\n\n\n", 0)),
        (b"caf\xe9 \xff\n", Framed(b"caf\xe9 \xff\n", 0)),
    ],
    ids=["crlf", "progress bar", "byte order mark", "nul", "blank lines", "no utf-8"],
)
def test_what_is_put_right_stays_in_its_place(data: bytes, expected: Framed) -> None:
    assert LineFramer().feed(data, 0) == expected


def test_hole_of_nuls_costs_neither_memory_nor_the_line_behind_it() -> None:
    framer = LineFramer()
    hole = b"\0" * 65_536
    for index in range(100):
        assert framer.feed(hole, index * len(hole)) is None
        assert framer.pending_bytes == 0
    assert framer.feed(b"[2026\n", 100 * len(hole)) == Framed(b"[2026\n", 100 * len(hole))


def test_line_without_end_is_cut_and_counted() -> None:
    framer = LineFramer(max_line=8)
    assert framer.feed(b"0123456789", 0) == Framed(b"0123456\n", 0, skipped=3)
    assert framer.feed(b"more", 10) is None
    assert framer.feed(b"\nnext\n", 14) == Framed(b"next\n", 15, skipped=4)


def test_long_line_inside_a_block_is_blanked_in_place() -> None:
    framed = LineFramer(max_line=8).feed(b"a\n0123456789\nb\n", 0)
    assert framed == Framed(b"a\n0123456   \nb\n", 0, skipped=3)
