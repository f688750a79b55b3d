"""Goes over a long block of SGLang's usual lines on arrays, and leaves the others for the patterns.

A block qualifies when each of its lines begins with SGLang's stamp. What follows the stamp, up to eight bytes of the
body, says what a line may be: one of a kind that nobody reads is left out without a further look; decode lines and
answered requests are compared with the shapes that were seen before; all others are for the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto

import numpy as np

from specmon.events import Graph
from specmon.formats.sglang.findings import UVICORN
from specmon.formats.sglang.found import AccessShape, FigureShape, Found, Table
from specmon.formats.sglang.linestamps import STAMPED, LineStamps
from specmon.formats.sglang.skimmed import Skimmed
from specmon.formats.sglang.template import MOST_DIGITS, Figure, Integers, Shape, digit_places, words_at

_LONGEST = 512  # bytes of a line that is compared;
_SHORTEST = 56  # shorter lines are left to the parser
_FEWEST = 16  # lines of one length, below which they are left to the parser
_MOST_HEADS = 64  # beginnings in one block
_MOST_SHAPES = 512  # that are remembered
_MOST_REST = 0.5  # of the lines: with more left to the parser, the detour does not pay
_MOST_OF_A_SIZE = 12  # shapes of one beginning and length
_PAUSE = 8  # blocks that are left to the patterns after one in which they would have been quicker
_DEEPEST = 4  # words behind the stamp that are looked at

_HEAD = re.compile(rb"\[20.{17}((?: [A-Z_]{2,12}\d{1,6}){0,8})\] ", re.DOTALL)
_NUMBERED = re.compile(rb"(?:Decode|Prefill) batch \[(\d{1,15})\]")
# How bodies begin that the parser reads: some literals, and words after which it may say "hit an exception". A test
# holds this against the sample lines of all its patterns.
_READ = re.compile(rb"INFO|DEBUG|WARN|ERROR|CRIT|max_|kill|serv|specmon|\[|-|[A-Z][A-Za-z]*+(?: |\Z)")
_ADDRESS = re.compile(rb"\] INFO: {1,8}([^ \n\"']{1,64}) - \"")


_GROUPS = {"decode": (3, 4, 5, 6, 7, 9, 10), "prefill": (11, 12, 13, 14, 15)}  # of the parser's pattern
_GRAPH = 8


class Kind(Enum):
    """What the lines with one beginning are."""

    UNREAD = auto()
    DECODE = auto()
    PREFILL = auto()
    ANSWER = auto()
    REST = auto()
    LONGER = auto()  # the beginning must be longer to say


_COMPARED = frozenset((Kind.DECODE, Kind.PREFILL, Kind.ANSWER))


def may_be_read(body: bytes) -> bool:
    """Whether a body whose first eight bytes (or more) these are may be of a kind that the parser reads."""
    return _READ.match(body) is not None


Match = Callable[[bytes], "re.Match[bytes] | None"]


class Skimmer:
    """Remembers the beginnings and shapes of one stream's lines."""

    def __init__(
        self,
        match_line: Match,
        match_answer: Match,
        midnight: Callable[[bytes], float],
        rank_index: Callable[[str], int],
    ) -> None:
        self._match_line = match_line  # the parser's pattern, on a line between its line feeds
        self._match_answer = match_answer  # from the bracket's end on
        self._midnight = midnight
        self._rank_index = rank_index
        self._kinds: dict[tuple[int, ...], Kind] = {}
        self._figures: dict[tuple[tuple[int, ...], int], list[FigureShape]] = {}
        self._accesses: dict[tuple[tuple[int, ...], int], list[AccessShape]] = {}
        self._shapes = 0
        self._pause = 0

    def skim(self, data: bytes) -> Skimmed | None:
        """Sort the lines of a block; None when some line is no usual one, or the patterns are quicker."""
        if self._pause:
            self._pause -= 1
            return None
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
        if not len(ends) or ends[-1] != len(data) - 1:
            return None
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
        if starts[-1] + 24 > len(data):
            return None
        stamps = LineStamps(data, starts)
        if not stamps.are_usual:
            return None
        padded = data + bytes(_LONGEST + 8)
        sizes = ends - starts
        is_open = (sizes < _SHORTEST) | (sizes > _LONGEST)
        found = Found(padded, starts, sizes, stamps, [np.flatnonzero(is_open)], _MOST_REST * len(starts))
        if not self._split(found, np.flatnonzero(~is_open), ()):
            self._pause = _PAUSE
            return None
        rest = np.sort(np.concatenate(found.rest))
        decode, prefill = found.decode(self._midnight), found.prefill(self._midnight)
        if decode is None or prefill is None:
            return None
        sizes += 1  # with their line feeds
        text = b"".join([data[i : i + n] for i, n in zip(starts[rest].tolist(), sizes[rest].tolist(), strict=True)])
        rest_starts = np.cumsum(sizes[rest]) - sizes[rest]
        return Skimmed(
            text, decode, prefill, found.answers, starts, rest, rest_starts, found.recognised, found.last_answer
        )

    def _split(self, found: Found, lines: Integers, known: tuple[int, ...]) -> bool:
        """Sort lines that share the words `known` behind their stamp by the next word."""
        words = words_at(found.data, found.starts[lines] + (STAMPED + 8 * len(known)))
        heads = 0
        while len(lines):
            is_same = words == words[0]
            key, group = (*known, int(words[0])), lines[is_same]
            words, lines = words[~is_same], lines[~is_same]
            heads += 1
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kind(found.line(group[0]), len(key))
                if len(self._kinds) < _MOST_SHAPES:
                    self._kinds[key] = kind
            if kind is Kind.LONGER:
                self._split(found, group, key)
            elif kind in _COMPARED:
                self._compare(found, kind, group, key)
            elif kind is Kind.REST:
                found.leave(group)
            if not found.is_worth_it:
                return False
            if heads == _MOST_HEADS:
                found.leave(lines)
                break
        return found.is_worth_it

    def _kind(self, line: bytes, words: int) -> Kind:
        head = _HEAD.match(line)
        if head is None:
            return Kind.REST
        covered = line[head.end() : STAMPED + 8 * words]
        if len(covered) < 8:
            return Kind.LONGER if words < _DEEPEST else Kind.REST
        if covered.startswith(b"Decode"):
            return Kind.DECODE
        if covered.startswith(b"Prefill"):
            return Kind.PREFILL
        if covered.startswith(b"INFO: "):
            return Kind.ANSWER
        if not may_be_read(covered):
            return Kind.UNREAD
        # The first word may be complete with the next ones.
        return Kind.LONGER if covered.isalpha() and words < _DEEPEST else Kind.REST

    def _compare(self, found: Found, kind: Kind, lines: Integers, key: tuple[int, ...]) -> None:
        """Compare lines with the shapes of their length, and learn those that are missing."""
        begin = STAMPED + 8 * len(key)  # what comes before is the same in all of them
        for size, group in _by_size(found.sizes, lines):
            if kind is not Kind.ANSWER:
                of_kind = found.decodes if kind is Kind.DECODE else found.prefills
                self._compare_figures(found, kind, group, self._figures.setdefault((key, size), []), of_kind, begin)
            else:
                self._compare_accesses(found, group, self._accesses.setdefault((key, size), []), begin)

    def _compare_figures(
        self, found: Found, kind: Kind, lines: Integers, shapes: list[FigureShape], table: Table, begin: int
    ) -> None:
        for known in shapes:
            if len(lines):
                lines = found.take_figures(known, lines, self._rank_index, table)
        while (
            _may_learn(lines, shapes) and (learnt := self._learn_figures(found.line(lines[0]), kind, begin)) is not None
        ):
            shapes.append(learnt)
            lines = found.take_figures(learnt, lines, self._rank_index, table)
        found.leave(lines)

    def _compare_accesses(self, found: Found, lines: Integers, shapes: list[AccessShape], begin: int) -> None:
        for known in shapes:
            if len(lines):
                lines = found.take_accesses(known, lines)
        while _may_learn(lines, shapes) and (learnt := self._learn_access(found.line(lines[0]), begin)) is not None:
            shapes.append(learnt)
            lines = found.take_accesses(learnt, lines)
        found.leave(lines)

    def _learn_figures(self, line: bytes, kind: Kind, begin: int) -> FigureShape | None:
        match = self._match_line(b"\n" + line + b"\n")
        head = _HEAD.match(line)
        groups = _GROUPS["decode" if kind is Kind.DECODE else "prefill"]
        if match is None or head is None or match.lastindex != groups[-1] or match[1] or self._shapes >= _MOST_SHAPES:
            return None
        figures: list[Figure | None] = []
        for group in groups:
            first, last = match.span(group)
            figures.append(None if first < 0 else Figure.of(line, first - 1, last - 1))
        told = [figure for figure in figures if figure is not None]
        if any(len(figure.places) > MOST_DIGITS or figure.places[0] < begin for figure in told):
            return None
        digits = digit_places(told)
        if kind is Kind.PREFILL:
            # Fields that nobody reads stand between and behind those of the pattern.
            digits = _digits_in(line, max(begin, head.end()), len(line))
        if numbered := _NUMBERED.search(line):
            digits += range(max(begin, numbered.start(1)), numbered.end(1))
        graph = {b"True": Graph.TRUE, b"False": Graph.FALSE}.get(match[_GRAPH], Graph.UNKNOWN)
        rank = head[1].decode("ascii").strip()
        self._shapes += 1
        return FigureShape(Shape(line, begin, digits), rank, int(graph), tuple(figures))

    def _learn_access(self, line: bytes, begin: int) -> AccessShape | None:
        address = _ADDRESS.search(line)
        if address is None or self._shapes >= _MOST_SHAPES:
            return None
        digits = _digits_in(line, max(begin, address.start(1)), address.end(1))
        self._shapes += 1
        return AccessShape(Shape(line, begin, digits), self._match_answer(line) is not None, line.count(UVICORN))


def _digits_in(line: bytes, begin: int, end: int) -> list[int]:
    return [place for place in range(begin, end) if line[place : place + 1].isdigit()]


def _may_learn(lines: Integers, shapes: Sequence[object]) -> bool:
    return len(lines) >= _FEWEST and len(shapes) < _MOST_OF_A_SIZE


def _by_size(sizes: Integers, lines: Integers) -> Iterator[tuple[int, Integers]]:
    """Lines by their length."""
    own = sizes[lines]
    while len(lines):
        is_same = own == own[0]
        if is_same.all():
            yield int(own[0]), lines
            return
        yield int(own[0]), lines[is_same]
        own, lines = own[~is_same], lines[~is_same]
