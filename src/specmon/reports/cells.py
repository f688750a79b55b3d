"""Cells of tables that leave the terminal: CSV, Markdown, HTML. What a log says can neither break nor command them."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from specmon.visible import visible

_COMMANDS = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#!&])")


def cell(value: object) -> str:
    """A CSV cell: empty for null, numbers as they are; a text that a spreadsheet would compute gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = visible(str(value))
    return f"'{text}" if text.startswith(_COMMANDS) else text


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> str:
    """A table of plain texts; the columns in `right` are numbers."""
    rule = ["---:" if position in right else "---" for position in range(len(headings))]
    lines = [[markdown(heading) for heading in headings], rule, *([markdown(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
