"""Reads TOML from anybody, and says where in a text a fault lies, so that a message can name file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

Keys = Sequence[int | str]

_STRING = re.compile(r"""\"(?:[^"\\]|\\.)*\"|'[^']*'""")
_BORDER = re.compile(r"[=,{}\[\]]")
_MOST_DOTS = 32  # in one key; tomllib's time grows with their square

_NAME = re.compile(r"""([\w-]+)|["']([^"']*)["']""")
_ONE = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_NAMES = rf"{_ONE}(?:\s*\.\s*{_ONE})*"
_HEADER = re.compile(rf"\s*\[(?P<array>\[)?\s*(?P<names>{_NAMES})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*(?P<names>{_NAMES})\s*=")


def tables_of(text: str) -> dict[str, object]:
    """Read a TOML text of unknown origin; TOMLDecodeError also for what would take for ever or nests without end."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > _MOST_DOTS and any(
            part.count(".") > _MOST_DOTS for part in _BORDER.split(_STRING.sub("", line))
        ):
            raise tomllib.TOMLDecodeError(f"a key of too many parts (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("its tables are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no integer of more than 4,300 digits, and tomllib lets that through
        raise tomllib.TOMLDecodeError("a number of too many digits") from None


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
    wanted = tuple(keys)
    best: tuple[int, int] | None = None  # how many keys of the place a line names, and its number
    for number, place in _places(text.splitlines()):
        if place == wanted[: len(place)] and (best is None or len(place) > best[0]):
            best = len(place), number
    return None if best is None else best[1]


def lowered(message: str) -> str:
    """A foreign message as a part of a sentence; what is quoted in it stays as it is."""
    return message[:1].lower() + message[1:].rstrip(".")


def _places(lines: Iterable[str]) -> Iterator[tuple[int, tuple[int | str, ...]]]:
    """Each line that begins a table or gives a key, with its whole place: `("level", 1, "tok_s")`."""
    counts: dict[tuple[int | str, ...], int] = {}  # elements so far of each [[array]]
    table: tuple[int | str, ...] = ()
    for number, line in enumerate(lines, start=1):
        if (header := _HEADER.match(line)) is not None:
            *parents, last = _names(header["names"])
            table = ()
            for name in parents:
                table = (*table, name)
                if table in counts:
                    table = (*table, counts[table] - 1)
            table = (*table, last)
            if header["array"]:
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table] - 1)
            yield number, table
        elif (key := _KEY.match(line)) is not None:
            yield number, (*table, *_names(key["names"]))


def _names(dotted_names: str) -> list[str]:
    return [bare or quoted for bare, quoted in _NAME.findall(dotted_names)]
