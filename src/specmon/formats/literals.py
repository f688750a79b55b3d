"""Reads Python literals out of log records into JSON values, without trusting a single byte of them."""

from __future__ import annotations

import ast
import math
import re
import warnings

from specmon.events import Json

_PLAIN = {"None": None, "True": True, "False": False}
_INTEGER = re.compile(r"[+-]?\d{1,40}")
_FLOAT = re.compile(r"[+-]?\d{1,40}\.\d{0,40}(?:[eE][+-]?\d{1,3})?|[+-]?\d{1,40}[eE][+-]?\d{1,3}")
_TEXT = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")
_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|(?P<open>[\[({])|(?P<close>[\])}])|(?P<comma>,)|(?P<torn>['\"])|[^\[\](){},'\"]++",
    re.DOTALL,
)
_LONGEST = 65_536  # characters of one value that are evaluated; longer ones stay text
_DEEPEST = 50


def read_literal(text: str) -> Json:
    """The JSON value of a Python literal; its own text when it is none (`Config(a=1)`)."""
    text = text.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _TEXT.fullmatch(text):
        return text[1:-1]
    if _FLOAT.fullmatch(text):
        return value if math.isfinite(value := float(text)) else text
    if len(text) > _LONGEST:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a foreign string is no fault of ours
            return _as_json(ast.literal_eval(text), 0)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def is_self_ended(text: str) -> bool:
    """Whether a literal cannot go on behind its last character, as a number or a bare word can."""
    text = text.strip()
    return text in _PLAIN or text.endswith(("'", '"', ")", "]", "}"))


def split_items(text: str) -> tuple[list[str], str, int]:
    """Split at the commas of the outermost level.

    Answers the whole items, the unfinished rest, and the position of the bracket that ends the record
    (-1 when there is none).
    """
    items: list[str] = []
    depth = 0
    start = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth < 0:
                return items, text[start : match.start()], match.start()
        elif kind == "comma" and depth == 0:
            items.append(text[start : match.start()])
            start = match.end()
        elif kind == "torn":
            break  # a string without an end: the rest belongs to it
    return items, text[start:], -1


def _as_json(value: object, depth: int) -> Json:
    if depth > _DEEPEST:
        raise RecursionError("a literal nested too deep")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, list | tuple):
        return [_as_json(item, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_as_json(item, depth + 1) for item in value), key=repr)
    if isinstance(value, dict):
        return {
            name if isinstance(name, str) else repr(name): _as_json(item, depth + 1) for name, item in value.items()
        }
    return repr(value)
