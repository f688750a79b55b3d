"""Answers of HTTP servers, good ones and bad ones: what is read of them, and when they are over."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.http import AnswerEnd, get, read_answer

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def packed(name: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Encoding: {name}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("size", [b"-5", b"-0", b"+3", b"0x3", b"3_0", b" 3", b"zz", b"", b"\xff", b"f" * 16])
def test_chunk_of_no_readable_size_ends_the_reading_and_is_a_fault(size: bytes) -> None:
    answer = read_answer(CHUNKED + b"3\r\nabc\r\n" + size + b"\r\nxyz\r\n0\r\n\r\n")
    assert answer is not None
    assert answer.body == b"abc"
    assert answer.fault == "comes in chunks of no readable size"
    assert not answer.is_whole


@pytest.mark.parametrize("size", [b"7fffffff", b"f" * 12])
def test_huge_chunk_gives_what_came_of_it_and_is_no_end(size: bytes) -> None:
    data = CHUNKED + size + b"\r\nabc"
    answer = read_answer(data)
    assert answer is not None
    assert (answer.body, answer.is_whole, answer.is_cut) == (b"abc", False, True)
    assert not AnswerEnd()(data)


def test_what_can_be_no_chunk_any_more_is_the_end() -> None:
    assert not AnswerEnd()(CHUNKED + b"-5\r\n")
    assert AnswerEnd()(CHUNKED + b"-5\r\n" + b"x" * 300)
    assert AnswerEnd()(b"x" * (1 << 16))  # nor can this be an answer


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=30))
def test_end_is_seen_at_the_same_byte_however_the_answer_is_cut(parts: list[bytes], cuts: list[int]) -> None:
    data = CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    end, seen, position = AnswerEnd(), bytearray(), 0
    while position < len(data):
        step = cuts[position % len(cuts)]
        seen += data[position : position + step]
        position += step
        assert end(seen) == AnswerEnd()(bytes(seen))
    assert end(seen)
    answer = read_answer(seen)
    assert answer is not None
    assert answer.body == b"".join(parts)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("gzip", gzip.compress(b"a 1\n", mtime=0)),
        ("x-gzip", gzip.compress(b"a 1\n", mtime=0)),
        ("deflate", zlib.compress(b"a 1\n")),
    ],
)
def test_packed_body_is_unpacked(name: str, body: bytes) -> None:
    answer = read_answer(packed(name, body))
    assert answer is not None
    assert (answer.body, answer.fault, answer.is_cut) == (b"a 1\n", "", False)


@pytest.mark.parametrize(
    ("data", "fault", "is_cut"),
    [
        (packed("br", b"abc"), "is packed as br", False),
        (packed("gzip", b"no gzip at all"), "is packed and damaged", False),
        (packed("gzip", gzip.compress(b"a 1\n" * 99, mtime=0)[:-9]), "", True),
    ],
)
def test_body_that_cannot_be_unpacked_says_so(data: bytes, fault: str, is_cut: bool) -> None:
    answer = read_answer(data)
    assert answer is not None
    assert (answer.fault, answer.is_cut) == (fault, is_cut)


def test_body_that_unpacks_without_end_is_given_up() -> None:
    answer = read_answer(packed("gzip", gzip.compress(bytes(64 << 20), 1)))
    assert answer is not None
    assert len(answer.body) == 16 << 20


def test_body_shorter_than_announced_is_cut() -> None:
    answer = read_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
    assert answer is not None
    assert answer.is_cut


def test_key_is_one_line_of_the_request() -> None:
    assert b"\r\nAuthorization: Bearer abc\r\n" in get("/metrics", "::1", 1, authorization="Bearer abc")
    assert b"uthorization" not in get("/metrics", "::1", 1)
