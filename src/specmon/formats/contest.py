"""Whose log a stream is, when custom formats are at hand as well as the built-in dialects.

Of each the statistics lines are counted. The log belongs to whose lines it has more of; at a tie it stays with whom
it had, and at the first such line a built-in dialect comes before a custom one. Until that line the stream is held,
for so many lines at most as a launch may have, and only if there is a custom format that reads decode lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specmon.events import FormatsClash, LogEvent
from specmon.formats import Dialect
from specmon.formats.detect import Detector, Signed

if TYPE_CHECKING:
    from specmon.formats.custom import CustomDialect

_PATIENCE = 400  # lines behind the first proof of a built-in engine, in which a statistics line of anybody may come
_FRONT = rb"\n[^\n]{0,240}?"
_STATISTICS = {
    "sglang": _FRONT + rb"(?:Decode|Prefill) batch(?: \[\d{1,15}\])?[.,] ?#",
    "vllm": _FRONT + rb"(?:Avg prompt throughput|SpecDecoding metrics|Speculative metrics): ",
    "llama.cpp": _FRONT + rb"(?:prompt eval|eval|generation eval) time +=",
    "tensorrt-llm": _FRONT + rb"iter = \d{1,15}, ",
}

Claim = tuple[int, tuple[Dialect, ...]]  # position of the line feed before a statistics line, and who reads it


class Contest:
    """Finds the engine of one stream. As a `Detector`, but it remembers what it has counted."""

    def __init__(self, detector: Detector, customs: Sequence[CustomDialect]) -> None:
        self._detector = detector
        self._customs = [custom for custom in customs if custom.model.owns_logs]
        self._patterns: list[tuple[Dialect, re.Pattern[bytes]]] = []
        for dialect in detector.dialects:
            own = dialect.signature if isinstance(dialect, Signed) else _STATISTICS.get(dialect.engine)
            if own:
                self._patterns.append((dialect, re.compile(own)))
        self._tally: Counter[str] = Counter()
        self._owner: Dialect | None = None
        self._proof: Dialect | None = None  # a built-in dialect whose engine has shown itself
        self._lines_since = 0
        self._is_counted = False  # the line at the beginning of what comes next
        self._clashes: list[tuple[str, str]] = []  # who reads a line, and who could
        self._known_clashes: set[frozenset[str]] = set()
        self._rest: tuple[int, list[Claim], int, int] | None = None  # of a text that is looked at again further on
        self._changes: dict[str, tuple[int, Dialect] | None] = {}  # by engine; bytes from there to the text's end
        self._here: tuple[int, list[Claim], int, int] = (0, [], 0, 0)

    @property
    def dialects(self) -> Sequence[Dialect]:
        """All dialects; the first one reads what is nobody's."""
        return (*self._detector.dialects, *self._customs)

    def readers_of(self, line: bytes) -> list[str]:
        """The engines whose statistics a line would be."""
        return [reader.engine for _, readers in self._found(b"\n" + line + b"\n") for reader in readers]

    def take_clashes(self, offset: int) -> list[LogEvent]:
        """What several formats can read, each two of them once, as events at an offset."""
        clashes, self._clashes = self._clashes, []
        return [FormatsClash(offset, reads=reads, other=other) for reads, other in clashes]

    def first(self, text: bytes) -> tuple[int, Dialect] | None:
        """The line that decides whose log this is, by its line feed. Each text must come once, and in order."""
        limit: int | None = None
        if self._proof is None and (proof := self._detector.first(text)) is not None:
            self._proof = proof[1]
            limit = _nth_line(text, proof[0] + 1, _PATIENCE)
            self._lines_since = text.count(b"\n", proof[0] + 1)
        elif self._proof is not None:
            limit = _nth_line(text, 1, _PATIENCE - self._lines_since)
            self._lines_since += text.count(b"\n", 1)
        for position, readers in self._claims(text):
            if limit is not None and position >= limit:
                break
            self._count(readers)
            return self._give(position, readers[0])
        if self._proof is not None and limit is not None:
            return self._give(limit, self._proof, is_counted=False)
        return None

    def change(self, text: bytes, engine: str) -> tuple[int, Dialect] | None:
        """The first line at which the log of `engine` becomes another's."""
        is_custom = any(custom.engine == engine for custom in self._customs)
        change = None if is_custom else self._other_engine(text, engine)
        for position, readers in self._claims(text):
            if change is not None and position >= change[0]:
                break
            if self._is_counted and position == 0:
                continue
            self._count(readers)
            best = max(readers, key=lambda reader: self._tally[reader.engine])
            if best.engine != engine and self._tally[best.engine] > self._tally[engine]:
                return self._give(position, best)
        self._is_counted = False
        if change is not None:
            self._tally[change[1].engine] = max(self._tally.values(), default=0)
            return self._give(change[0], change[1], is_counted=False)
        return None

    def _other_engine(self, text: bytes, engine: str) -> tuple[int, Dialect] | None:
        """As `Detector.change`, with what is known of the rest of a text that has been searched before."""
        if self._rest is None or self._rest[0] != len(text):
            self._changes.clear()
        if engine in self._changes:
            known = self._changes[engine]
            if known is None:
                return None
            if known[0] <= len(text):
                return len(text) - known[0], known[1]
        change = self._detector.change(text, engine)
        self._changes[engine] = None if change is None else (len(text) - change[0], change[1])
        return change

    def _give(self, position: int, dialect: Dialect, *, is_counted: bool = True) -> tuple[int, Dialect]:
        self._owner, self._is_counted = dialect, is_counted
        # The rest of the text is asked about next. What has been found in it need not be found again.
        size, claims, index, base = self._here
        self._rest = size - position, claims, index, base + position
        return position, dialect

    def _count(self, readers: tuple[Dialect, ...]) -> None:
        for reader in readers:
            self._tally[reader.engine] += 1
        names = [reader.engine for reader in readers]
        owner = self._owner.engine if self._owner is not None and self._owner.engine in names else names[0]
        for name in names:
            if name != owner and (pair := frozenset((name, owner))) not in self._known_clashes:
                self._known_clashes.add(pair)
                self._clashes.append((owner, name))

    def _claims(self, text: bytes) -> Iterator[Claim]:
        """The statistics lines of a text. Of one whose beginning has been looked at, they are known already."""
        if self._rest is not None and self._rest[0] == len(text):
            _, claims, index, base = self._rest
        else:
            claims, index, base = self._found(text), 0, 0
        self._rest = None
        while index < len(claims):
            position, readers = claims[index]
            self._here = len(text), claims, index, base
            yield position - base, readers
            index += 1
        self._here = len(text), claims, index, base

    def _found(self, text: bytes) -> list[Claim]:
        """Each statistics line with all that read it, built-in dialects first."""
        found: dict[int, list[Dialect]] = {}
        for dialect, pattern in self._patterns:
            for match in pattern.finditer(text):
                found.setdefault(match.start(), []).append(dialect)
        for custom in self._customs:
            for begin, _, line in custom.reader.lines(text[1:]):
                if line.kind in ("decode", "prefill"):
                    found.setdefault(begin, []).append(custom)
        return [(position, tuple(found[position])) for position in sorted(found)]


def _nth_line(text: bytes, begin: int, count: int) -> int | None:
    """The line feed before the line that is `count` lines behind the one at `begin`; None when it is not there."""
    position = begin - 1
    for _ in range(max(count, 0)):
        position = text.find(b"\n", position + 1)
        if position < 0 or position == len(text) - 1:
            return None
    return position
