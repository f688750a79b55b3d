"""Cells of tables that leave the terminal: CSV, Markdown, HTML. What a log says can neither break nor command them."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from specmon.visible import visible

_COMMANDS = ("=", "+", "-", "@", "\t", "\r")
_PLACE = r"[\w./:@=+-]"  # what names, flags and paths are made of
_MARKDOWN = re.compile(
    # A word that we have quoted, or one with an underscore within: people copy it, so it must not be changed.
    rf"`(?P<quoted>[\w.+-]+)`|(?<!{_PLACE})(?P<name>{_PLACE}*[A-Za-z0-9]_[A-Za-z0-9]{_PLACE}*(?<=\w))"
    r"|(?P<sign>[\\`*_\[\]<>|~#!&])"
)


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
    """Text that Markdown shows as it is; names such as NCCL_PROTO as code."""
    return _MARKDOWN.sub(_as_it_is, " ".join(visible(text).split()))


def _as_it_is(found: re.Match[str]) -> str:
    code = found["quoted"] or found["name"]
    return f"`{code}`" if code else f"\\{found['sign']}"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> str:
    """A table of plain texts; the columns in `right` are numbers."""
    rule = ["---:" if position in right else "---" for position in range(len(headings))]
    lines = [[markdown(heading) for heading in headings], rule, *([markdown(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
