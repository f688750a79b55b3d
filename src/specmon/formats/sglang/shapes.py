"""Shapes of lines that are known, and how one is learnt from the first line of its kind.

What the patterns, or the reading field by field, find in one line tells where the figures are in all lines that
differ from it in digits only. No name of a field has a digit in it, so each digit behind the head may be another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from specmon.formats.sglang.findings import UVICORN
from specmon.formats.sglang.statistics import (
    DECODE_NAMES,
    PREFILL_NAMES,
    Names,
    locate_figures,
    read_decode,
    read_prefill,
)
from specmon.formats.sglang.template import MOST_DIGITS, Figure, Shape

Match = Callable[[bytes], "re.Match[bytes] | None"]

_TAGS = rb"((?: [A-Z_]{2,12}\d{1,6}){0,8})\] "
_HEADS = {20: re.compile(rb"\[20.{17}" + _TAGS, re.DOTALL), 24: re.compile(rb"\[20.{21}" + _TAGS, re.DOTALL)}
_ADDRESS = re.compile(rb"\] INFO: {1,8}([^ \n\"']{1,64}) - \"")
_SECOND_RECORD = re.compile(rb"\] (?:Decode|Prefill) batch")
_FIGURE = re.compile(rb"\d{1,15}(?:\.\d{1,12})?")
_OWN_WORD = 8  # bytes at the beginning of a foreign line that all of its shape share


@dataclass(frozen=True, slots=True)
class FigureShape:
    """A shape of decode or prefill lines and where its figures are."""

    shape: Shape
    rank: str
    graph: int
    figures: tuple[Figure | None, ...]  # in the order of `DECODE_NAMES` or `PREFILL_NAMES`


@dataclass(frozen=True, slots=True)
class AccessShape:
    """A shape of uvicorn's lines; digits of the address may differ."""

    shape: Shape
    is_answer: bool
    counts: int  # how often a line counts as recognised


def head_of(line: bytes, stamp: int) -> re.Match[bytes] | None:
    """SGLang's bracket and the blank behind it, whose stamp takes so many bytes; the tags are its group."""
    return _HEADS[stamp].match(line)


def learn_decode(line: bytes, head: re.Match[bytes], begin: int) -> FigureShape | None:
    """The shape of a decode line that the parser reads, from position `begin` on; None where it is no plain one."""
    body = line[head.end() :]
    read = read_decode(body)
    if read.is_clipped or read.running is None or read.tok_s != read.tok_s:
        return None
    figures = _figures(line, head.end(), begin, DECODE_NAMES)
    # A count with decimals would be cut, and is nobody's.
    if figures is None or figures[0] is None or figures[0].decimals or figures[5] is None:
        return None
    return FigureShape(_shape(line, begin, head.end()), _rank(head), read.graph, figures)


def learn_prefill(line: bytes, head: re.Match[bytes], begin: int) -> FigureShape | None:
    """The shape of a prefill line; the same."""
    read = read_prefill(line[head.end() :])
    if read.is_clipped or read.new_tokens != read.new_tokens:
        return None
    figures = _figures(line, head.end(), begin, PREFILL_NAMES)
    if figures is None or figures[0] is None:
        return None
    return FigureShape(_shape(line, begin, head.end()), _rank(head), 0, figures)


def learn_access(line: bytes, begin: int, match_answer: Match) -> AccessShape | None:
    """The shape of a line of uvicorn behind SGLang's bracket."""
    if (address := _ADDRESS.search(line)) is None:
        return None
    digits = _digits_in(line, max(begin, address.start(1)), address.end(1))
    return AccessShape(Shape(line, begin, digits), match_answer(line) is not None, line.count(UVICORN))


def learn_foreign(line: bytes) -> Shape:
    """The shape of a line without SGLang's bracket in which there is nothing to read."""
    return Shape(line, _OWN_WORD, _digits_in(line, _OWN_WORD, len(line)))


def _figures(line: bytes, body: int, begin: int, names: Names) -> tuple[Figure | None, ...] | None:
    if b"\x1b" in line or _SECOND_RECORD.search(line, body):
        return None
    figures: list[Figure | None] = []
    for span in locate_figures(line[body:], names):
        if span is None:
            figures.append(None)
            continue
        first, last = body + span[0], body + span[1]
        if first < begin or _FIGURE.fullmatch(line, first, last) is None:
            return None
        figure = Figure.of(line, first, last)
        if len(figure.places) > MOST_DIGITS:
            return None
        figures.append(figure)
    return tuple(figures)


def _shape(line: bytes, begin: int, body: int) -> Shape:
    return Shape(line, begin, _digits_in(line, max(begin, body), len(line)))


def _rank(head: re.Match[bytes]) -> str:
    return head[1].decode("ascii").strip()


def _digits_in(line: bytes, begin: int, end: int) -> list[int]:
    return [place for place in range(begin, end) if line[place : place + 1].isdigit()]
