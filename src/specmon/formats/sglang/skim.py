"""Goes over a long block of SGLang's usual lines on arrays, and leaves the others for the patterns.

A block qualifies when each of its lines begins with SGLang's stamp. What follows the stamp, up to eight bytes of the
body, says what a line may be: one of a kind that nobody reads is left out without a further look; decode lines and
answered requests are compared with the shapes that were seen before; all others are for the parser.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from specmon.events import Block, Clock, Graph, PrefillColumns, SampleColumns
from specmon.formats.sglang.findings import UVICORN
from specmon.formats.sglang.template import (
    MOST_DIGITS,
    Figure,
    Floats,
    Integers,
    Shape,
    Words,
    digit_places,
    words_at,
)

STAMPED = 20  # bytes of `[2026-04-30 08:57:02`
_LONGEST = 512  # bytes of a line that is compared; 
_SHORTEST = 56  # shorter lines are left to the parser
_FEWEST = 16  # lines of one length, below which they are left to the parser
_MOST_HEADS = 64  # beginnings in one block
_MOST_SHAPES = 512  # that are remembered
_MOST_REST = 0.5  # of the lines: with more left to the parser, the detour does not pay
_MOST_OF_A_SIZE = 12  # shapes of one beginning and length
_LINES_A_LOOK = 64  # that a block must have for each comparison with a shape, else the patterns are quicker
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


@dataclass(frozen=True, slots=True)
class FigureShape:
    """A shape of decode or prefill lines and where its figures are."""

    shape: Shape
    rank: str
    graph: int
    # running, #token, token usage, accept len, accept rate, throughput, queue; of a prefill: #new-token,
    # #cached-token, token usage, running, queue
    figures: tuple[Figure | None, ...]


@dataclass(slots=True)
class Skimmed:
    """What a block holds, and in `rest` the lines that are left to the parser."""

    rest: bytes
    decode: SampleColumns  # offsets are those in the block
    prefill: PrefillColumns
    answers: int
    _starts: Integers  # of all lines in the block
    _rest_lines: Integers  # numbers of those that are left
    _rest_starts: Integers  # of these in `rest`
    _recognised: int
    _last_answer: int  # number of the line, -1 without one

    def last_answer(self, in_rest: int | None) -> int | None:
        """Where the last line with an answer begins, when the parser found its last one at `in_rest`."""
        line = self._last_answer
        if in_rest is not None:
            line = max(line, int(self._rest_lines[np.searchsorted(self._rest_starts, in_rest, "right") - 1]))
        return None if line < 0 else int(self._starts[line])

    def joined(self, rest: Block, start: int, size: int) -> Block:
        """The whole block, which begins at `start`, with what the parser read in the rest."""
        decode, prefill = self.decode, self.prefill
        for columns in (decode, prefill):
            columns.offset = _integers(np.frombuffer(columns.offset, np.int64) + start) if len(columns) else columns.offset
        self._move(rest.decode, start)
        self._move(rest.prefill, start)
        return replace(
            rest,
            start=start,
            end=start + size,
            lines=len(self._starts),
            recognised=rest.recognised + self._recognised + len(decode) + len(prefill),
            clock=Clock.DATED if len(decode) or len(prefill) else rest.clock,
            decode=_merged(decode, rest.decode),
            prefill=_merged(prefill, rest.prefill),
            events=tuple(replace(event, offset=self._place(event.offset) + start) for event in rest.events),
            unparsed=array("q", (self._place(offset) + start for offset in rest.unparsed)),
        )

    def _move(self, columns: SampleColumns | PrefillColumns, start: int) -> None:
        if len(columns.offset):
            offsets = np.frombuffer(columns.offset, np.int64)
            lines = np.searchsorted(self._rest_starts, offsets, "right") - 1
            moved = offsets - self._rest_starts[lines] + self._starts[self._rest_lines[lines]]
            columns.offset = _integers(moved + start)

    def _place(self, offset: int) -> int:
        line = int(np.searchsorted(self._rest_starts, offset, "right")) - 1
        return int(self._starts[self._rest_lines[line]]) + offset - int(self._rest_starts[line])


def may_be_read(body: bytes) -> bool:
    """Whether a body whose first eight bytes (or more) these are may be of a kind that the parser reads."""
    return _READ.match(body) is not None


@dataclass(frozen=True, slots=True)
class AccessShape:
    """A shape of uvicorn's lines; digits of the address may differ."""

    shape: Shape
    is_answer: bool
    counts: int  # how often a line counts as recognised


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
        stamps = _Stamps(data, starts)
        if not stamps.are_usual:
            return None
        padded = data + bytes(_LONGEST + 8)
        sizes = ends - starts
        is_open = (sizes < _SHORTEST) | (sizes > _LONGEST)
        found = _Found(padded, starts, sizes, stamps, [np.flatnonzero(is_open)], _MOST_REST * len(starts))
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

    def _split(self, found: _Found, lines: Integers, known: tuple[int, ...]) -> bool:
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

    def _compare(self, found: _Found, kind: Kind, lines: Integers, key: tuple[int, ...]) -> None:
        """Compare lines with the shapes of their length, and learn those that are missing."""
        begin = STAMPED + 8 * len(key)  # what comes before is the same in all of them
        for size, group in _by_size(found.sizes, lines):
            if kind is not Kind.ANSWER:
                of_kind = found.decodes if kind is Kind.DECODE else found.prefills
                self._compare_figures(found, kind, group, self._figures.setdefault((key, size), []), of_kind, begin)
            else:
                self._compare_accesses(found, group, self._accesses.setdefault((key, size), []), begin)

    def _compare_figures(
        self, found: _Found, kind: Kind, lines: Integers, shapes: list[FigureShape], table: _Table, begin: int
    ) -> None:
        for known in shapes:
            if len(lines):
                lines = found.take_figures(known, lines, self._rank_index, table)
        while _may_learn(lines, shapes) and (learnt := self._learn_figures(found.line(lines[0]), kind, begin)) is not None:
            shapes.append(learnt)
            lines = found.take_figures(learnt, lines, self._rank_index, table)
        found.leave(lines)

    def _compare_accesses(self, found: _Found, lines: Integers, shapes: list[AccessShape], begin: int) -> None:
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
            digits = [place for place in range(max(begin, head.end()), len(line)) if line[place : place + 1].isdigit()]
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
        digits = [place for place in range(max(begin, address.start(1)), address.end(1)) if line[place : place + 1].isdigit()]
        self._shapes += 1
        return AccessShape(Shape(line, begin, digits), self._match_answer(line) is not None, line.count(UVICORN))


def _may_learn(lines: Integers, shapes: Sequence[object]) -> bool:
    return len(lines) >= _FEWEST and len(shapes) < _MOST_OF_A_SIZE


_Table = list[tuple[Integers, list[Floats]]]  # lines and their figures, shape by shape


class _Stamps:
    """The first 24 bytes of each line, and whether all of them are stamps."""

    _TEXT = np.frombuffer(b"[2000-00-00 00:00:00\0\0\0\0", "<u8")
    _MASK = np.frombuffer(bytes(0xF0 if sign == 48 else 0xFF for sign in b"[2x00-00-00 00:00:00") + b"\0" * 4, "<u8")
    _CARRY = np.frombuffer(bytes(6 if sign == 48 else 0 for sign in b"[2x00-00-00 00:00:00") + b"\0" * 4, "<u8")

    def __init__(self, data: bytes, starts: Integers) -> None:
        self._words = [words_at(data, starts + place) for place in (0, 8, 16)]
        self._is_one_hour = True  # and ten minutes: the first words of all lines are the same
        self.are_usual = True
        for word, text, mask, carry in zip(self._words, self._TEXT, self._MASK, self._CARRY, strict=True):
            if (word == word[0]).all():
                word = word[:1]
            elif word is not self._words[2]:
                self._is_one_hour = False
            told = word ^ text
            self.are_usual = self.are_usual and not (((told + carry) | told) & mask).any()

    def seconds(self, lines: Integers, midnight: Callable[[bytes], float]) -> Floats | None:
        """Seconds since 1970 of some lines; None when one of them has no such day or time."""
        which = lines[:1] if self._is_one_hour else lines
        first, second = self._words[0][which], self._words[1][which]
        third = self._words[2][lines]
        hours = _digit(second, 4) * 10 + _digit(second, 5)
        minutes = _digit(second, 7) * 10 + _digit(third, 0)
        seconds = _digit(third, 2) * 10 + _digit(third, 3)
        if (hours > 23).any() or (minutes > 59).any() or (seconds > 60).any():
            return None
        days = (first >> np.uint64(24)) ^ (second << np.uint64(40))  # the digits of year, month and day
        starts = np.zeros(len(which))
        for position in np.unique(days, return_index=True)[1] if (days != days[0]).any() else (0,):
            start = midnight(_day(int(first[position]), int(second[position])))
            if start != start:
                return None
            starts[days == days[position]] = start
        return starts + (hours * 3600 + minutes * 60 + seconds)


class _Found:
    """What the lines of one block have been found to be."""

    def __init__(
        self, data: bytes, starts: Integers, sizes: Integers, stamps: _Stamps, rest: list[Integers], most_rest: float
    ) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self.rest = rest
        self.left = sum(map(len, rest))
        self.most_rest = most_rest
        self.looks = 0
        self.most_looks = len(starts) // _LINES_A_LOOK
        self.answers = 0
        self.recognised = 0
        self.last_answer = -1
        self._stamps = stamps
        self.decodes: _Table = []
        self.prefills: _Table = []

    def line(self, number: int) -> bytes:
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])]

    @property
    def is_worth_it(self) -> bool:
        return self.left <= self.most_rest and self.looks <= self.most_looks

    def leave(self, lines: Integers) -> None:
        self.rest.append(lines)
        self.left += len(lines)

    def take_figures(
        self, shape: FigureShape, lines: Integers, rank_index: Callable[[str], int], table: _Table
    ) -> Integers:
        """Read the lines of a shape; answer the others."""
        self.looks += 1
        is_same, signs = shape.shape.match(self.data, self.starts[lines])
        others = lines[:0]
        if not is_same.all():
            lines, others, signs = lines[is_same], lines[~is_same], signs[is_same]
        if count := len(lines):
            told = [
                np.full(count, np.nan) if figure is None else shape.shape.value(figure, signs)
                for figure in shape.figures
            ]
            own = (float(shape.graph), float(rank_index(shape.rank)))
            table.append((lines, [*told, *(np.full(count, value) for value in own)]))
        return others

    def take_accesses(self, shape: AccessShape, lines: Integers) -> Integers:
        """Count the lines of a shape; answer the others."""
        self.looks += 1
        is_same, _ = shape.shape.match(self.data, self.starts[lines])
        own = lines[is_same]
        if len(own):
            self.recognised += shape.counts * len(own)
            if shape.is_answer:
                self.answers += len(own)
                self.last_answer = max(self.last_answer, int(own[-1]))
        return lines[~is_same]

    def decode(self, midnight: Callable[[bytes], float]) -> SampleColumns | None:
        """The decode lines in line order; None when one of them has a stamp that is no time."""
        if not self.decodes:
            return SampleColumns()
        lines, columns = _in_order(self.decodes)
        if (at := self._stamps.seconds(lines, midnight)) is None:
            return None
        running, context, usage, accept_len, accept_rate, tok_s, queue, graph, rank = columns
        return SampleColumns(
            offset=_integers(self.starts[lines]),
            at=_floats(at),
            rank=_integers(rank),
            process=array("q", [-1]) * len(lines),
            running=_integers(running),
            tok_s=_floats(tok_s),
            accept_len=_floats(accept_len),
            accept_rate=_floats(accept_rate),
            context_tokens=_floats(context),
            usage=_floats(usage),
            queue=_floats(queue),
            graph=_integers(graph),
        )

    def prefill(self, midnight: Callable[[bytes], float]) -> PrefillColumns | None:
        """The prefill lines in line order; None as for `decode`."""
        if not self.prefills:
            return PrefillColumns()
        lines, columns = _in_order(self.prefills)
        if (at := self._stamps.seconds(lines, midnight)) is None:
            return None
        new_tokens, cached_tokens, usage, running, queue, _, rank = columns
        return PrefillColumns(
            offset=_integers(self.starts[lines]),
            at=_floats(at),
            rank=_integers(rank),
            process=array("q", [-1]) * len(lines),
            new_tokens=_floats(new_tokens),
            cached_tokens=_floats(cached_tokens),
            running=_floats(running),
            queue=_floats(queue),
            usage=_floats(usage),
        )


def _in_order(table: _Table) -> tuple[Integers, list[Floats]]:
    """The lines of several shapes with their figures, in line order."""
    if len(table) == 1:
        return table[0]
    lines = np.concatenate([numbers for numbers, _ in table])
    order = np.argsort(lines, kind="stable")  # quick on a few ordered runs
    columns = zip(*(columns for _, columns in table), strict=True)
    return lines[order], [np.concatenate(parts)[order] for parts in columns]


_Columns = TypeVar("_Columns", SampleColumns, PrefillColumns)


def _merged(quick: _Columns, slow: _Columns) -> _Columns:
    """Both in line order."""
    if not len(slow) or not len(quick):
        return slow if len(slow) else quick
    order = np.argsort(np.concatenate((np.frombuffer(quick.offset, np.int64), np.frombuffer(slow.offset, np.int64))))
    for name in quick.__slots__:
        column = getattr(quick, name)
        if len(column):
            kind = np.int64 if column.typecode == "q" else np.float64
            column.extend(getattr(slow, name))
            in_order = array(column.typecode)
            in_order.frombytes(np.frombuffer(column, kind)[order].data.cast("B"))
            setattr(quick, name, in_order)
    return quick


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


def _digit(words: Words, place: int) -> Integers:
    return ((words >> np.uint64(8 * place)) & np.uint64(15)).astype(np.int64)


def _day(first: int, second: int) -> bytes:
    """`2026-04-30` out of the first two words of a line."""
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little"))[1:11]


def _floats(values: Floats) -> array[float]:
    column = array("d")
    column.frombytes(np.ascontiguousarray(values).data.cast("B"))
    return column


def _integers(values: npt.NDArray[np.generic]) -> array[int]:
    column = array("q")
    column.frombytes(np.ascontiguousarray(values, np.int64).data.cast("B"))
    return column
