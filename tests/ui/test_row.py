"""Rows: they drop, flow and cut, but never break a number and never wrap."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from specmon.ui.row import cut, cut_fields, first_that_fits, fit, fit_ends, flow, piece, visible

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_words = st.lists(
    st.one_of(
        st.from_regex(r"[a-z_/#]{1,12}", fullmatch=True),
        st.from_regex(r"[0-9]{1,4}[.,][0-9]{1,3}", fullmatch=True),
        st.from_regex(r"[0-9]{1,8}", fullmatch=True),
        st.sampled_from(["(−29.2", "%)", "tok/s", "16:41:43", "×", "88.8×", "漢字"]),
    ),
    max_size=14,
).map(" ".join)


@given(_words, st.integers(1, 60))
@example("NCCL_BUFFSIZE=16777216", 18)
def test_cut_text_fits_and_breaks_no_number(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    whole = _NUMBER.findall(text)
    assert all(number in whole for number in _NUMBER.findall(short))


@given(_words, st.integers(4, 40), st.integers(1, 4))
def test_flowing_text_fits_and_breaks_no_number(text: str, width: int, rows: int) -> None:
    lines = flow(text, width, rows)
    assert len(lines) <= rows
    assert all(cell_len(line) <= width for line in lines)
    whole = _NUMBER.findall(text)
    assert all(number in whole for line in lines for number in _NUMBER.findall(line))


def test_a_number_keeps_its_unit_on_its_row() -> None:
    assert flow("not connected: retry in 4 s", 26, 2) == ["not connected: retry in", "4 s"]


def test_the_least_important_piece_goes_first() -> None:
    pieces = [piece("62.9 tok/s"), piece("±0.4", rank=2), piece("delivered 58.9", rank=1)]
    assert fit(pieces, 40).plain == "62.9 tok/s  ±0.4  delivered 58.9"
    assert fit(pieces, 30).plain == "62.9 tok/s  delivered 58.9"
    assert fit(pieces, 12).plain == "62.9 tok/s"


def test_ends_stand_at_both_edges() -> None:
    assert fit_ends([piece("left")], [piece("right")], 14).plain == "left     right"
    assert fit_ends([piece("left")], [piece("right", rank=1)], 8).plain == "left"


def test_the_longest_wording_that_fits_is_taken() -> None:
    long, short = [piece("0.85× against the reference")], [piece("0.85× vs ref")]
    assert first_that_fits(40, long, short).plain == "0.85× against the reference"
    assert first_that_fits(15, long, short).plain == "0.85× vs ref"


def test_statistics_line_keeps_what_is_looked_for() -> None:
    line = (
        "Decode batch, #running-req: 1, #token: 338, token usage: 0.00, gen throughput (token/s): 62.66, #queue-req: 0"
    )
    assert "gen throughput (token/s): 62.66" in cut_fields(line, 60)


@pytest.mark.parametrize("head", ["Engine 000: ", "2 Engines Aggregated: ", ""])
@pytest.mark.parametrize("width", [24, 30, 50, 60, 100])
def test_an_engine_line_of_vllm_keeps_its_speed_and_then_its_load(head: str, width: int) -> None:
    line = (
        f"{head}Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 95.5 tokens/s, Running: 3 reqs, "
        "Waiting: 1 reqs, GPU KV cache usage: 2.4%, Prefix cache hit rate: 11.0%"
    )
    short = cut_fields(line, width)
    assert len(short) <= width
    assert "gen 95.5 tok/s" in short
    assert "Running: 3" in short or width < 50 or (width < 60 and head.startswith("2"))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\tb", "a b"),
        ("\x00", "␀"),
        ("\x7f", "␡"),
        ("\u202eabc", "�abc"),
        ("\x9b1m", "�1m"),
    ],
)
def test_control_characters_become_visible(raw: str, shown: str) -> None:
    assert visible(raw) == shown
