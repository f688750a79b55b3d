"""Whatever a pattern is, a line costs time in proportion to its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.formats.custom.line import LineReader
from specmon.formats.custom.linear import LONGEST_LINE, LineFinder, LinePattern
from specmon.formats.custom.model import FormatModel


@pytest.mark.parametrize("source", [r"(a*)*(a*)*b", r".*a.*a.*a.*a.*b", r"(a|aa)+$x", r"^(\w+\s?)*$y", r"(?s).*.*.*=z"])
def test_patterns_that_others_choke_on_are_harmless(source: str) -> None:
    pattern = LinePattern(f"(?P<tok_s>{source})")
    line = b"a" * LONGEST_LINE
    begun = time.process_time()
    assert pattern.search(line) is None
    assert time.process_time() - begun < 0.5  # with backtracking: minutes to for ever


def model(regex: str, prefix: str | None = None) -> FormatModel:
    return FormatModel.model_validate(
        {
            "schema": 1,
            "name": "x",
            "covers": "time",
            "prefix": prefix,
            "pattern": [{"name": "decode", "kind": "decode", "regex": regex}],
            "sample": [{"line": "x", "pattern": "decode"}],
        }
    )


PATTERNS = [
    r"B=(?P<running>\d+)\s+R=(?P<tok_s>\d+)",
    r"^B=(?P<running>\d+)[^x]*R=(?P<tok_s>\d+)$",
    r"^(?:B|R)=(?P<running>\d+) R=(?P<tok_s>\d+)|(?i)r",
]


@pytest.mark.parametrize("regex", PATTERNS)
@pytest.mark.parametrize("prefix", [None, r"^g\d> "])
@given(parts=st.lists(st.sampled_from(["B=1 R=2", "B=1", "R=2", " ", "\n", "g1> ", "x", "\r", "B=3\tR=4", "R=5 B=1"])))
def test_scanning_a_block_finds_every_line_that_reading_it_would(
    regex: str, prefix: str | None, parts: list[str]
) -> None:
    reader = LineReader(model(regex, prefix))
    block = "".join(parts).encode()
    candidates = {begin for begin, _ in reader.candidates(block)}
    begin = 0
    for line in block.split(b"\n"):
        if reader.read(line) is not None:
            assert begin in candidates
        begin += len(line) + 1


def test_candidates_are_whole_lines_in_their_order() -> None:
    finder = LineFinder([LinePattern("b")])
    assert list(finder.lines(b"a\nab\nbbb\n\nb")) == [(2, 4), (5, 8), (10, 11)]


def test_lines_longer_than_statistics_are_left_alone() -> None:
    reader = LineReader(model(PATTERNS[0]))
    assert reader.read(b"B=1 R=2" + b" " * 20 + b"x" * LONGEST_LINE) is None
