"""One screen row made of pieces: it drops the less important ones until the rest fits, and never wraps.

Text that does not fit is cut between words and never inside a number: half a number is a lie.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rich.cells import cell_len, set_cell_size
from textual.content import Content

_ELLIPSIS = "…"
_REMEMBERED = 1024  # rows: a frame asks for a few hundred, and most of them are those of the frame before
_UNITS = frozenset({"s", "ms", "min", "h", "d", "%", "tok/s", "×"})
# C0 and C1 controls, line separators, zero-width and direction marks: none of them may reach a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_IN_NUMBER = re.compile(r"[\w.,:×%−+-]")


def _show_control(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0x09:
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "�"


def visible(text: str) -> str:
    """The text with every control character replaced by a sign that stands for it."""
    return _CONTROL.sub(_show_control, text)


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells; when it is too long it ends in an ellipsis, not inside a number."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return _ELLIPSIS[:width]
    kept = set_cell_size(text, width - 1)
    rest = text[len(kept.rstrip()) :] if kept != kept.rstrip() else text[len(kept) :]
    kept = kept.rstrip()
    if rest[:1] and not rest[:1].isspace() and kept:
        space = kept.rfind(" ")
        word = kept[space + 1 :]
        if space > 0 and (len(word) < 3 or any(c.isdigit() for c in word + rest.split(" ", 1)[0])):
            kept = kept[:space].rstrip()
        elif any(c.isdigit() for c in word):
            # One long token such as a path: cut it where no number runs on.
            while kept and _IN_NUMBER.match(kept[-1]):
                kept = kept[:-1]
    return kept.rstrip(" ,;:·(") + _ELLIPSIS


# What a reader looks for in a statistics line, the most wanted first; the other fields go before these.
_WANTED = (
    "gen throughput", "gen ", "accept len", "#new-token", "#running-req", "Running: ", "#queue-req", "Waiting: ",
)  # fmt: skip
# Long names that leave no cell for a figure, and what they become where there is no room.
_SHORTER = (
    ("Avg prompt throughput: ", "prompt "), ("Avg generation throughput: ", "gen "), (" tokens/s", " tok/s"),
    (" reqs,", ","),
)  # fmt: skip


def cut_fields(text: str, width: int) -> str:
    """A list of `name: value` fields in at most `width` cells: whole fields go, the less wanted ones first."""
    if cell_len(text) <= width:
        return text
    for long, shorter in _SHORTER:
        text = text.replace(long, shorter)
    if cell_len(text) <= width:
        return text
    heading, separator, rest = text.partition(": ")
    if separator and "," not in heading and rest.startswith(_SHORTER[0][1]):
        # "Engine 000: prompt 0.0 tok/s, …": the first field stands behind a heading, and may go like the others.
        fields = [f"{heading}:", *rest.split(", ")]
    elif text.startswith(_SHORTER[0][1]):
        return cut_fields(f", {text}", width).lstrip(", ")
    else:
        heading, fields = "", text.split(", ")
    places = list(range(1, len(fields)))
    places.sort(key=lambda place: (next((i for i, w in enumerate(_WANTED) if w in fields[place]), 99), place))
    while places:
        kept = [0, *sorted(places)]
        short = fields[0]
        for before, place in pairwise(kept):
            next_to = " " if short.endswith(":") else ", "
            short += (next_to if place == before + 1 else " … ") + fields[place]
        short += "" if kept[-1] == len(fields) - 1 else " …"
        if cell_len(short) <= width:
            return short
        places.pop()
    return cut_fields(f", {rest}", width).lstrip(", ") if heading else cut(text, width)


def _words(text: str) -> list[str]:
    # A number and its unit stay on one row.
    words: list[str] = []
    for word in text.split():
        if words and words[-1][-1:].isdigit() and word.rstrip(".,;:)") in _UNITS:
            words[-1] += " " + word
        else:
            words.append(word)
    return words


def flow(text: str, width: int, rows: int) -> list[str]:
    """The text in at most `rows` rows, broken between words; what is left over ends in an ellipsis."""
    return list(_flow(text, width, rows))


@lru_cache(_REMEMBERED)
def _flow(text: str, width: int, rows: int) -> tuple[str, ...]:
    words = _words(text)
    lines: list[str] = []
    while words and len(lines) < rows:
        if len(lines) == rows - 1:
            lines.append(cut(" ".join(words), width))
            break
        line = words.pop(0)
        while words and cell_len(line) + 1 + cell_len(words[0]) <= width:
            line += " " + words.pop(0)
        lines.append(cut(line, width))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a row that stays whole or goes; 0 always stays, the highest rank goes first."""

    spans: tuple[tuple[str, str], ...]
    rank: int = 0

    @property
    def width(self) -> int:
        """Cells it takes."""
        return sum(cell_len(text) for text, _ in self.spans)


def piece(*spans: str | tuple[str, str], rank: int = 0) -> Piece:
    """A piece of plain or styled text; control characters are made visible here, once for all panels."""
    return Piece(
        tuple((visible(span), "") if isinstance(span, str) else (visible(span[0]), span[1]) for span in spans), rank
    )


def _total(pieces: Sequence[Piece], gap: int) -> int:
    return sum(p.width for p in pieces) + gap * max(0, len(pieces) - 1)


def fits(pieces: Sequence[Piece], width: int, gap: str = "  ") -> bool:
    """Whether all pieces stand in the row."""
    return _total(pieces, cell_len(gap)) <= width


def fit(pieces: Sequence[Piece], width: int, gap: str = "  ", gap_style: str = "$quiet") -> Content:
    """The row in at most `width` cells."""
    return _fit(tuple(pieces), width, gap, gap_style)


@lru_cache(_REMEMBERED)
def _fit(pieces: tuple[Piece, ...], width: int, gap: str, gap_style: str) -> Content:
    kept = [p for p in pieces if p.spans]
    while len(kept) > 1 and not fits(kept, width, gap):
        worst = max(p.rank for p in kept)
        if worst == 0:
            break
        last = max(i for i, p in enumerate(kept) if p.rank == worst)
        del kept[last]
    spans: list[tuple[str, str]] = []
    for index, part in enumerate(kept):
        if index:
            spans.append((gap, gap_style))
        spans.extend(part.spans)
    return _cut_spans(spans, width)


def _cut_spans(spans: Sequence[tuple[str, str]], width: int) -> Content:
    whole = "".join(text for text, _ in spans)
    if cell_len(whole) <= width:
        return Content.assemble(*spans)
    short = cut(whole, width)
    left = len(short) - 1 if short.endswith(_ELLIPSIS) else len(short)
    kept: list[tuple[str, str]] = []
    for text, style in spans:
        if left <= 0:
            break
        kept.append((text[:left], style))
        left -= len(text)
    return Content.assemble(*kept, short[-1:])


def fit_ends(left: Sequence[Piece], right: Sequence[Piece], width: int, gap: str = "  ") -> Content:
    """Pieces at both ends of a row; those of the highest rank go first, whichever end they stand at."""
    tagged = [(0, p) for p in left if p.spans] + [(1, p) for p in right if p.spans]
    step = cell_len(gap)
    while len(tagged) > 1 and _total([p for _, p in tagged], step) > width:
        worst = max(p.rank for _, p in tagged)
        if worst == 0:
            break
        last = max(i for i, (_, p) in enumerate(tagged) if p.rank == worst)
        del tagged[last]
    start = fit([p for side, p in tagged if side == 0], width, gap)
    end = [p for side, p in tagged if side == 1]
    room = width - start.cell_length
    if not end or _total(end, step) > room - 1:
        return start
    tail = fit(end, room, gap)
    return Content.assemble(start, " " * (room - tail.cell_length), tail)


def first_that_fits(width: int, *choices: Sequence[Piece], gap: str = "  ") -> Content:
    """The first wording whose lasting pieces stand in the row whole, else the last one made to fit."""
    for choice in choices:
        if fits([part for part in choice if part.rank == 0], width, gap):
            return fit(choice, width, gap)
    return fit(choices[-1], width, gap)
