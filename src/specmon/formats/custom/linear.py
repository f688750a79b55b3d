"""Regular expressions whose time is linear in the length of the line, whatever somebody wrote into a format.

A pattern of a user runs over every line of a log that other people's prompts end up in. With backtracking three
`.*` are enough for minutes over one long line, and no test of a pattern's text tells the harmful ones from the
harmless ones without refusing what everybody writes. RE2 searches with automata instead: it has neither look-around
nor back references, and needs neither a time limit nor trust.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol, cast

import re2  # type: ignore[import-untyped]  # the wheel has no types; what is used of it is told below

LONGEST_LINE = 8192  # bytes of a line that are looked at; longer lines are no statistics
_MOST_MEMORY = 4 << 20  # bytes of automaton for one pattern; a repetition of repetitions needs more
_GROUP = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_WHOLE_TEXT = re.compile(r"(?<!\\)(?:\\\\)*\\[AzZ]")
_QUOTED = re.compile(r"(?<!\\)(?:\\\\)*\\Q")
# An escape, a class, or the end of the line; only the last is changed in what scans a block.
_ATOMS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
_REASONS = (
    ("invalid perl operator: (?", "look-ahead, look-behind and the like can take for ever, so they are not allowed"),
    ("invalid escape sequence", "there is no such escape, or it is a back reference, which can take for ever"),
    ("invalid repetition size", "it repeats too much: at most 1000 times in all"),
    ("pattern too large", "it grows too large: repeat less"),
)


class FaultyPattern(ValueError):
    """A pattern that cannot be used; the text says why."""


class Found(Protocol):
    """Where a pattern was found."""

    def start(self) -> int: ...

    def end(self) -> int: ...

    def groupdict(self) -> dict[str | bytes, bytes | None]: ...


class _Compiled(Protocol):
    groupindex: dict[bytes | str, int]

    def search(self, text: bytes) -> Found | None: ...

    def finditer(self, text: bytes) -> Iterator[Found]: ...


class LinePattern:
    """A pattern that is looked for within one line."""

    def __init__(self, source: str) -> None:
        names = _GROUP.findall(source)
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise FaultyPattern(f"the group `{twice[0]}` is there twice; give a second pattern instead")
        if _WHOLE_TEXT.search(source):
            raise FaultyPattern(r"write ^ and $ for the ends of the line, not \A and \z")
        if _QUOTED.search(source):
            raise FaultyPattern(r"write a backslash before each sign instead of \Q and \E")
        self.source = source
        self.is_anchored = source.startswith("^")
        self._compiled = _compile(source)
        self.names = tuple(name.decode() if isinstance(name, bytes) else name for name in self._compiled.groupindex)
        if self._compiled.search(b"") is not None:
            raise FaultyPattern("it matches an empty line, so it would match every line")

    def search(self, line: bytes) -> Found | None:
        """Where it is in a line that has no line feed."""
        return self._compiled.search(line)


class LineFinder:
    """Finds the lines of a block in which one of several patterns may be; a scan at the speed of memory.

    A pattern may reach over a line feed here (`\\s` matches one), so a line that is found is a candidate only, while
    one that is not found holds none of the patterns.
    """

    def __init__(self, patterns: Iterable[LinePattern], prefix: str = "") -> None:
        """`prefix` may stand before what the patterns see of a line."""
        sources = [_behind(prefix, _GROUP.sub("(?:", _ends_in_blanks(pattern.source))) for pattern in patterns]
        joined = "|".join(f"(?:{source})" for source in sources)
        self._compiled = _compile(f"(?m){joined}", factor=max(len(sources), 1)) if sources else None

    def lines(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Begin and end (before the line feed) of each candidate line."""
        if self._compiled is None:
            return
        done = 0
        for found in self._compiled.finditer(block):
            if found.end() <= done:
                continue
            # A find that began in a line that has been looked at may hide one behind its end.
            begin = max(block.rfind(b"\n", 0, found.start()) + 1, done)
            last = max(found.end(), begin)
            while begin <= last and begin < len(block):
                end = block.find(b"\n", begin)
                end = len(block) if end < 0 else end
                yield begin, end
                begin = done = end + 1


def _behind(prefix: str, source: str) -> str:
    """A pattern that is found wherever `source` is, before or after the prefix has been dropped."""
    if not prefix or "^" not in source.replace("[^", ""):
        return source
    if "^" in source[1:].replace("[^", ""):
        return "."  # too clever an anchor: every line may be one
    return f"^(?:{_GROUP.sub('(?:', prefix).removeprefix('^')})?(?:{source.removeprefix('^')})|{source}"


def _ends_in_blanks(source: str) -> str:
    """A line is read without the blanks at its end, which are still there in a block."""
    return _ATOMS.sub(lambda atom: " *$" if atom[0] == "$" else atom[0], source)


def _compile(source: str, *, factor: int = 1) -> _Compiled:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = factor * _MOST_MEMORY
    try:
        compiled = re2.compile(source.encode(), options)
    except re2.error as error:
        raise FaultyPattern(_reason(error)) from None
    return cast(_Compiled, compiled)


def _reason(error: Exception) -> str:
    text = error.args[0] if error.args else b""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return next((f"{reason} ({text})" for start, reason in _REASONS if text.startswith(start)), text)
