"""Where in a TOML text a fault lies, so that a message can name file, line and key."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

Keys = Sequence[int | str]


def dotted(keys: Keys) -> str:
    """A place in a file as people write it: `level.2.tok_s` is the second [[level]]."""
    return ".".join(str(key + 1) if isinstance(key, int) else key for key in keys) or "the file"


def sentence_of(what: str, place: str, text: str, error: ValidationError) -> str:
    """The first fault of a file as one sentence; `what` is the kind of file, `place` how it is called."""
    fault = error.errors()[0]
    keys = fault["loc"]
    known = "is not known" if fault["type"] == "extra_forbidden" else None
    message = known or lowered(fault["msg"].removeprefix("Value error, "))
    more = error.error_count() - 1
    rest = f" ({more} more like this)" if more else ""
    return f"{what} {located(place, text, keys)}: {dotted(keys)}: {message}{rest}. Correct the file."


def located(place: str, text: str, keys: Keys) -> str:
    """`place` with the line of a key where that can be found."""
    line = line_of(text, keys)
    return f"{place}:{line}" if line else place


def line_of(text: str, keys: Keys) -> int | None:
    """The line of a key, else that of what should hold it: the inline table, or the header of the table."""
    names = [key for key in keys if isinstance(key, str)]
    wanted = next((key for key in keys if isinstance(key, int)), 0) + 1
    lines = text.splitlines()
    while names:
        if (found := _header(lines, names, wanted) or _key(lines, names, wanted)) is not None:
            return found
        names.pop()
    return None


def lowered(message: str) -> str:
    """A foreign message as a part of a sentence; what is quoted in it stays as it is."""
    return message[:1].lower() + message[1:].rstrip(".")


def _key(lines: Sequence[str], names: Sequence[str], wanted: int) -> int | None:
    """The line of `key =` behind the header of its table, or behind the `wanted`th of several."""
    header = _header_pattern(names[:-1]) if len(names) > 1 else None
    key = re.compile(rf"\s*[\"']?{re.escape(names[-1])}[\"']?\s*=")
    seen, is_inside = 0, header is None
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("["):
            is_its = header is not None and header.match(line) is not None
            seen += is_its
            is_inside = is_its and seen == wanted
        elif is_inside and key.match(line):
            return number
    return None


def _header(lines: Sequence[str], names: Sequence[str], wanted: int) -> int | None:
    header = _header_pattern(names)
    found = [number for number, line in enumerate(lines, start=1) if header.match(line)]
    return found[wanted - 1] if len(found) >= wanted else None


def _header_pattern(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\s*\[\[?\s*{re.escape('.'.join(names))}\s*\]\]?")
