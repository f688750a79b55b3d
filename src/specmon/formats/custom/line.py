"""Reads one line by a custom format: which pattern it is, and what its fields say in the units of `FIELDS`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from specmon.events import MISSING, Covers, Graph
from specmon.formats.custom.fields import DECODE, FIELDS, PHASES
from specmon.formats.custom.linear import LONGEST_LINE, LineFinder, LinePattern
from specmon.formats.custom.model import FormatModel, PatternModel

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})?(?:\.\d{0,18})?(?:[eE][+-]?\d{1,3})?")
_NO_FIGURE = frozenset({"nan", "n/a", "na", "-", "--", "none", "null", "inf", "unknown"})
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


@dataclass(slots=True)
class CustomLine:
    """What one line says. A figure that it does not give is in neither mapping."""

    pattern: PatternModel
    figures: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)  # fields of which the line says that there is no figure

    @property
    def kind(self) -> str:
        """Of the pattern."""
        return self.pattern.kind

    def figure(self, name: str) -> float:
        """A figure, NaN without it."""
        return self.figures.get(name, MISSING)

    @property
    def graph(self) -> Graph:
        """Whether the batch ran through a captured graph."""
        word = self.words.get("graph", "").lower()
        return Graph.TRUE if word in _TRUE else Graph.FALSE if word in _FALSE else Graph.UNKNOWN


Placed = tuple[int, int, CustomLine]  # begin and end in a block


class LineReader:
    """Reads lines by one format; the first pattern that is found counts."""

    def __init__(self, model: FormatModel) -> None:
        self.model = model
        self._prefix = LinePattern(model.prefix) if model.prefix else None
        self._patterns = model.patterns
        self._finder = LineFinder([pattern.compiled for pattern in model.patterns], model.prefix or "")
        self._last: tuple[bytes, list[Placed]] = (b"", [])  # several ask for the lines of one block
        self._units = {pattern.name: {**model.unit, **pattern.unit} for pattern in model.patterns}

    def lines(self, block: bytes) -> list[Placed]:
        """All lines of a block that are of this format, with their places; they must not be changed."""
        if block != self._last[0]:
            found = []
            for begin, end in self.candidates(block):
                if (line := self.read(block[begin:end], is_ended=end < len(block))) is not None:
                    found.append((begin, end, line))
            self._last = block, found
        return self._last[1]

    def candidates(self, block: bytes) -> list[tuple[int, int]]:
        """Begin and end of the lines of a block that may be of this format."""
        if b"\x1b" not in block and b"\r" not in block:
            return list(self._finder.lines(block))
        # A colour may stand inside what a pattern looks for, a state of a progress bar before it.
        found, begin = [], 0
        while begin < len(block):
            end = block.find(b"\n", begin)
            end = len(block) if end < 0 else end
            found.append((begin, end))
            begin = end + 1
        return found

    def read(self, line: bytes, *, is_ended: bool = True) -> CustomLine | None:
        """Read a line; of one without its line feed only what cannot be half a figure."""
        line = _shown(line)
        if len(line) > LONGEST_LINE:
            return None
        if self._prefix is not None and (found := self._prefix.search(line)) is not None and found.start() == 0:
            line = line[found.end() :]
        for pattern in self._patterns:
            if (match := pattern.compiled.search(line)) is None:
                continue
            if not is_ended and match.end() == len(line):
                return None
            groups = {_text(name): _text(value) for name, value in match.groupdict().items() if value is not None}
            return self._line(pattern, groups)
        return None

    def claims(self, line: bytes) -> bool:
        """A pattern that begins at the beginning of the line is there: nothing must be taken off the line."""
        if len(line) > LONGEST_LINE or line[:1] in (b"{", b'"'):
            return False
        return any(pattern.compiled.is_anchored and pattern.compiled.search(line) for pattern in self._patterns)

    def _line(self, pattern: PatternModel, groups: dict[str, str]) -> CustomLine:
        line = CustomLine(pattern)
        for name, value in pattern.constants.items():
            if FIELDS[name].is_text:
                line.words[name] = str(value)
            else:
                line.figures[name] = float(value)
        units = self._units[pattern.name]
        for name, text in groups.items():
            if FIELDS[name].is_text:
                line.words[name] = text.strip()
            elif (figure := _figure(text)) is not None:
                line.figures[name] = figure * units.get(name, 1.0)
            else:
                line.figures.pop(name, None)
                if text.strip().lower() in _NO_FIGURE:
                    line.withheld.add(name)
        if line.kind in (DECODE, PHASES):
            self._derive(line)
        return line

    def _derive(self, line: CustomLine) -> None:
        """Figures that follow from others, where the line does not print them itself."""
        figures, get = line.figures, line.figure
        if "accept_len" not in figures and "accepted_per_cycle" in figures:
            figures["accept_len"] = figures["accepted_per_cycle"] + 1
        if "accept_len" not in figures and get("drafts") > 0 and "accepted" in figures:
            figures["accept_len"] = figures["accepted"] / figures["drafts"] + 1
        if line.kind != DECODE or "tok_s" in figures or "tok_s" in line.withheld:
            return
        running = get("running")
        is_request = self.model.covers_what is Covers.REQUEST
        accept = get("accept_len") if "accept_len" in line.pattern.given else figures.get("accept_len", 1.0)
        if "tok_s_per_request" in figures:
            tok_s = figures["tok_s_per_request"] * (1 if is_request else running)
        elif get("ms_per_token") > 0:
            tok_s = 1000 * (1 if is_request else running) / figures["ms_per_token"]
        elif get("window_s") > 0 and "tokens" in figures:
            tok_s = figures["tokens"] / figures["window_s"]
        elif get("cycle_ms") > 0:
            tok_s = 1000 * accept * (1 if is_request else running) / figures["cycle_ms"]
        else:
            return
        if tok_s == tok_s:
            figures["tok_s"] = tok_s


def _shown(line: bytes) -> bytes:
    """The last state of a progress bar, without colours."""
    line = line.rstrip(b"\r\n ")
    line = line[line.rfind(b"\r") + 1 :]
    return _COLOURS.sub(b"", line) if b"\x1b" in line else line


_COLOURS = re.compile(rb"\x1b\[[\d;]{0,32}m")


def _figure(text: str) -> float | None:
    text = text.strip()
    if not text or not text.lstrip("+-")[:1].strip("eE") or _NUMBER.fullmatch(text) is None:
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
