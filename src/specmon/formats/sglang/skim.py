"""Goes over a long block of SGLang's usual lines on arrays, and leaves the others for the patterns.

What follows a stamp, up to eight bytes of the body, says what the line may be: one of a kind that nobody reads is left
out without a further look; decode lines and answered requests are compared with the shapes that were seen before.
Lines without a stamp are others' (bars, prints, uvicorn's own): those that say nothing by themselves are left out too,
unless the line before may go on in them. All others are for the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

from specmon.formats.sglang.found import Found
from specmon.formats.sglang.linestamps import LineStamps, form_in
from specmon.formats.sglang.shapes import (
    AccessShape,
    FigureShape,
    Match,
    head_of,
    learn_access,
    learn_decode,
    learn_foreign,
    learn_prefill,
)
from specmon.formats.sglang.skimmed import Skimmed
from specmon.formats.sglang.template import Integers, Shape, words_at

_LONGEST = 512  # bytes of a line that is compared;
_SHORTEST = 56  # shorter lines are left to the parser,
_SHORTEST_FOREIGN = 16  # and those without a stamp
_FEWEST = 16  # lines of one length, below which they are left to the parser
_MOST_HEADS = 64  # beginnings in one block
_MOST_SHAPES = 512  # that are remembered
_MOST_REST = 0.5  # of the lines: with more left to the parser, the detour does not pay
_MOST_OF_A_SIZE = 12  # shapes of one beginning and length
_PAUSE = 8  # blocks that are left to the patterns after one in which they would have been quicker
_PIECE = 1 << 17  # bytes that are searched for line feeds at once, which stay near the processor
_DEEPEST = 4  # words behind the stamp that are looked at

# How bodies begin that the parser reads: some literals, and words after which it may say "hit an exception". A test
# holds this against the sample lines of all its patterns.
_READ = re.compile(rb"INFO|DEBUG|WARN|ERROR|CRIT|max_|kill|serv|\x1b|\[|-|[A-Z][A-Za-z]*+(?: |\Z)")


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


Known = tuple[int, ...]  # bytes of the stamp, then the words behind it


class Skimmer:
    """Remembers the beginnings and shapes of one stream's lines."""

    def __init__(
        self,
        is_statistics: Callable[[bytes], bool],
        match_answer: Match,
        is_silent: Callable[[bytes], bool],
        midnight: Callable[[bytes], float],
        rank_index: Callable[[str], int],
    ) -> None:
        """What the parser knows of single lines: of decode or prefill lines, of answers, of foreign ones."""
        self._is_statistics = is_statistics
        self._match_answer = match_answer
        self._is_silent = is_silent
        self._midnight = midnight
        self._rank_index = rank_index
        self._kinds: dict[Known, Kind] = {}
        self._figures: dict[tuple[Known, int], list[FigureShape]] = {}
        self._accesses: dict[tuple[Known, int], list[AccessShape]] = {}
        self._foreign: dict[tuple[int, int], list[Shape]] = {}
        self._shapes = 0
        self._pause = 0

    def skim(self, data: bytes, *, is_awaited: bool) -> Skimmed | None:
        """Sort the lines of a block; None when the patterns are quicker, or a stamp is none.

        `is_awaited`: the first line may go on with what an earlier block began.
        """
        if self._pause:
            self._pause -= 1
            return None
        ends = _line_feeds(data)
        if not len(ends) or ends[-1] != len(data) - 1:
            return None
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
        sizes = ends - starts
        # What is compared may go beyond a line's end, so the last lines are left to the patterns.
        count = int(np.searchsorted(starts, len(data) - _LONGEST - 8))
        if not count:
            return None
        form = form_in(data)
        stamps = LineStamps(data, starts[:count], form)
        words = words_at(data, starts[:count] + form.size, _DEEPEST)
        found = Found(data, starts[:count], sizes[:count], stamps, words, _MOST_REST * count)
        if not self._sort(found, (form.size,)):
            self._pause = _PAUSE
            return None
        rest = np.concatenate((found.rest_lines(is_awaited=is_awaited), np.arange(count, len(starts))))
        decode, prefill = found.decode(self._midnight), found.prefill(self._midnight)
        if decode is None or prefill is None:
            return None
        sizes += 1  # with their line feeds
        text = b"".join([data[i : i + n] for i, n in zip(starts[rest].tolist(), sizes[rest].tolist(), strict=True)])
        return Skimmed(
            rest=text,
            samples=b"".join(line + b"\n" for line in found.samples),
            decode=decode,
            prefill=prefill,
            answers=found.answers,
            starts=starts,
            rest_lines=rest,
            rest_starts=np.cumsum(sizes[rest]) - sizes[rest],
            recognised=found.recognised,
            last_answer=found.last_answer,
        )

    def _sort(self, found: Found, known: Known) -> bool:
        """Sort all lines; False when the patterns are quicker."""
        is_open = (found.sizes < _SHORTEST) | (found.sizes > _LONGEST)
        if found.is_foreign is None:
            found.leave(np.flatnonzero(is_open))
            return self._split(found, np.flatnonzero(~is_open), known)
        found.leave(np.flatnonzero(is_open & ~found.is_foreign))
        is_quick = self._sort_foreign(found, found.is_foreign)
        return is_quick and self._split(found, np.flatnonzero(~(is_open | found.is_foreign)), known)

    def _sort_foreign(self, found: Found, is_foreign: npt.NDArray[np.bool_]) -> bool:
        """Leave out the lines without a stamp that are known to say nothing, and the others to the parser."""
        is_open = (found.sizes < _SHORTEST_FOREIGN) | (found.sizes > _LONGEST)
        found.leave(np.flatnonzero(is_foreign & is_open))
        lines = np.flatnonzero(is_foreign & ~is_open)
        (words,) = words_at(found.data, found.starts[lines])
        heads = 0
        while len(lines):
            is_same = words == words[0]
            word, group = int(words[0]), lines[is_same]
            words, lines = words[~is_same], lines[~is_same]
            for size, own in _by_size(found.sizes, group):
                shapes = self._foreign.get((word, size), [])
                for known in shapes:
                    own = found.leave_out(known, own) if len(own) else own
                while self._may_learn(own, shapes) and self._is_silent(line := found.line(own[0])):
                    shapes = self._foreign.setdefault((word, size), [])
                    shapes.append(shape := learn_foreign(line))
                    self._shapes += 1
                    own = found.leave_out(shape, own)
                found.leave(own)
            heads += 1
            if heads == _MOST_HEADS:
                found.leave(lines)
                break
        return found.is_worth_it

    def _split(self, found: Found, lines: Integers, known: Known) -> bool:
        """Sort lines that share the stamp's size and the words behind it by the next word."""
        words = found.words[len(known) - 1][lines]
        heads = 0
        while len(lines):
            is_same = words == words[0]
            key, group = (*known, int(words[0])), lines[is_same]
            others = np.flatnonzero(~is_same)
            words, lines = words[others], lines[others]
            heads += 1
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kind(found.line(group[0]), key)
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

    def _kind(self, line: bytes, known: Known) -> Kind:
        head = head_of(line, known[0])
        if head is None:
            return Kind.REST
        covered = line[head.end() : _behind(known)]
        is_deep = len(known) > _DEEPEST
        if len(covered) < 8:
            return Kind.REST if is_deep else Kind.LONGER
        if covered.startswith(b"Decode"):
            return Kind.DECODE
        if covered.startswith(b"Prefill"):
            return Kind.PREFILL
        if covered.startswith(b"INFO: "):
            return Kind.ANSWER
        if not may_be_read(covered):
            return Kind.UNREAD
        # The first word may be complete with the next ones.
        return Kind.LONGER if covered.isalpha() and not is_deep else Kind.REST

    def _compare(self, found: Found, kind: Kind, lines: Integers, key: Known) -> None:
        """Compare lines with the shapes of their length, and learn those that are missing."""
        for size, group in _by_size(found.sizes, lines):
            if kind is not Kind.ANSWER:
                self._compare_figures(found, kind, group, key, size)
            else:
                self._compare_accesses(found, group, key, size)

    def _compare_figures(self, found: Found, kind: Kind, lines: Integers, key: Known, size: int) -> None:
        table = found.decodes if kind is Kind.DECODE else found.prefills
        shapes = self._figures.setdefault((key, size), [])
        for known in shapes:
            if len(lines):
                lines = found.take_figures(known, lines, self._rank_index, table)
        while self._may_learn(lines, shapes) and (learnt := self._learn(found.line(lines[0]), kind, key)) is not None:
            shapes.append(learnt)
            self._shapes += 1
            lines = found.take_figures(learnt, lines, self._rank_index, table)
        found.leave(lines)

    def _learn(self, line: bytes, kind: Kind, key: Known) -> FigureShape | None:
        head = head_of(line, key[0])
        if head is None or not self._is_statistics(line):
            return None
        return (learn_decode if kind is Kind.DECODE else learn_prefill)(line, head, _behind(key))

    def _compare_accesses(self, found: Found, lines: Integers, key: Known, size: int) -> None:
        shapes = self._accesses.setdefault((key, size), [])
        for known in shapes:
            if len(lines):
                lines = found.take_accesses(known, lines)
        while (
            self._may_learn(lines, shapes)
            and (learnt := learn_access(found.line(lines[0]), _behind(key), self._match_answer)) is not None
        ):
            shapes.append(learnt)
            self._shapes += 1
            lines = found.take_accesses(learnt, lines)
        found.leave(lines)

    def _may_learn(self, lines: Integers, shapes: Sequence[object]) -> bool:
        return len(lines) >= _FEWEST and len(shapes) < _MOST_OF_A_SIZE and self._shapes < _MOST_SHAPES


def _line_feeds(data: bytes) -> Integers:
    """Where they stand."""
    signs = np.frombuffer(data, np.uint8)
    pieces = [np.flatnonzero(signs[at : at + _PIECE] == 10) + at for at in range(0, len(signs), _PIECE)]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


def _behind(known: Known) -> int:
    """The position in a line up to which it is known."""
    return known[0] + 8 * (len(known) - 1)


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
