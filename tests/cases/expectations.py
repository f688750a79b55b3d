"""Reads expectations about a JSON document: a path into it, an operator, a value.

A path is `servers[0].runs[-1].decode.samples`. In brackets stands an index, `[key=value]` for the first item
that has it, `[*key=value]` for all that have it, or `[*]` for all. After a star the rest of the path is taken
from every item, and the result is a list. Below a null everything is null; what is not there is `ABSENT`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Final

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
Found = Json | _Absent

_PART = re.compile(r"\.?(?P<name>\w+)|\[(?P<index>-?\d+)\]|\[(?P<star>\*?)(?:(?P<key>\w+)=(?P<value>[^\]]*))?\]")
_USUAL_REL = 0.005


def find(document: Found, path: str) -> Found:
    """What the path leads to."""
    if document is None or document is ABSENT or not path:
        return document
    part = _PART.match(path)
    if part is None or not part.group():
        raise ValueError(f"bad path: {path!r}")
    rest = path[part.end() :]
    if part["name"] is not None:
        inner: Found = document.get(part["name"], ABSENT) if isinstance(document, dict) else ABSENT
        return find(inner, rest)
    if not isinstance(document, list):
        return ABSENT
    if part["index"] is not None:
        index = int(part["index"])
        return find(document[index], rest) if -len(document) <= index < len(document) else ABSENT
    chosen = [item for item in document if part["key"] is None or _has(item, part["key"], part["value"])]
    if not part["star"]:
        return find(chosen[0], rest) if chosen else ABSENT
    return _collect(chosen, rest)


def _collect(items: list[Json], rest: str) -> list[Json]:
    collected: list[Json] = []
    for item in items:
        found = find(item, rest)
        if isinstance(found, list) and "[*" in rest:
            collected += found
        elif not isinstance(found, _Absent):
            collected.append(found)
    return collected


def _has(item: Json, key: str, value: str) -> bool:
    if not isinstance(item, dict) or key not in item:
        return False
    own = item[key]
    return (own if isinstance(own, str) else json.dumps(own)) == value


def failure(document: Json, expectation: Mapping[str, Json]) -> str | None:
    """Why the document does not hold to the expectation; None when it does."""
    path = expectation["path"]
    assert isinstance(path, str)
    (operator,) = set(expectation) - {"path", "rel", "why"}
    wanted, rel = expectation[operator], expectation.get("rel")
    found = find(document, path)
    tolerance = float(rel) if isinstance(rel, (int, float)) else None
    if _OPERATORS[operator](found, wanted, tolerance):
        return None
    return f"{path}: expected {operator} {wanted!r} (rel {rel}), found {found!r}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(left: object, right: object, rel: float | None = None) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and _is_number(left) and _is_number(right):
        return math.isclose(left, right, rel_tol=0, abs_tol=abs(right) * rel + 1e-12) if rel else left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(a, b, rel) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and left == right


def _contains(found: Found, wanted: Json, _: float | None) -> bool:
    texts = [text.lower() for text in (found if isinstance(found, list) else [found]) if isinstance(text, str)]
    parts = wanted if isinstance(wanted, list) else [wanted]
    return any(str(part).lower() in text for part in parts for text in texts)


def _sum(found: Found, wanted: Json, rel: float | None) -> bool:
    numbers = found if isinstance(found, list) else [found]
    known = [number for number in numbers if isinstance(number, (int, float))]
    return len(known) == len(numbers) and _same(math.fsum(known), wanted, rel)


def _one_of(found: Found, wanted: Json, rel: float | None) -> bool:
    return isinstance(wanted, list) and any(_same(found, value, rel) for value in wanted)


def _subset(found: Found, wanted: Json, _: float | None) -> bool:
    return isinstance(found, list) and isinstance(wanted, list) and all(item in wanted for item in found)


_OPERATORS: dict[str, Callable[[Found, Json, float | None], bool]] = {
    "equals": lambda found, wanted, _: _same(found, wanted),
    "approx": lambda found, wanted, rel: _is_number(found) and _same(found, wanted, rel or _USUAL_REL),
    "exists": lambda found, wanted, _: (found is not ABSENT and found is not None) == wanted,
    "null": lambda found, wanted, _: found is None,
    "absent_or_null": lambda found, wanted, _: found is ABSENT or found is None,
    "one_of": _one_of,
    "contains": _contains,
    "subset": _subset,
    "length": lambda found, wanted, _: isinstance(found, (list, dict)) and len(found) == wanted,
    "sum": _sum,
}
