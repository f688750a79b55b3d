"""Command-line words of a server as flags: `--tp-size 8` becomes `tp_size: 8`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeAlias

from specmon.secrets import HIDDEN, Json, drop_secrets, is_secret_name
from specmon.sources.engines import SGLANG, Engine

FlagValue: TypeAlias = Json

_INT = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_SHORT = re.compile(r"-[A-Za-z][A-Za-z_-]{0,15}")  # -tp, -ngl; not -1
_LONGEST_JSON = 65536


def parse_flags(words: Sequence[str], engine: Engine = SGLANG) -> dict[str, FlagValue]:
    """Read `--name value`, `--name=value`, `--name` and `--name v1 v2`; secrets are left out."""
    flags: dict[str, FlagValue] = {}
    for name, values in _options(words, engine):
        if is_secret_name(name) or not all(is_harmless(name, value) for value in values):
            continue
        typed: list[Json] = [_typed(value) for value in values]
        flags[name] = True if not typed else typed[0] if len(typed) == 1 else typed
    return flags


def hide_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """The same words with the values of secret options replaced."""
    shown: list[str] = []
    is_hidden = False  # whether values of a secret option follow
    for word in words:
        option, equals, value = word.partition("=")
        if _is_option(word):
            is_hidden = is_secret_name(_plain(option)) and not equals
            is_secret = bool(equals) and not is_harmless(_plain(option), value)
            shown.append(f"{option}={HIDDEN}" if is_secret else word)
        else:
            shown.append(HIDDEN if is_hidden or not is_harmless("word", word) else word)
    return tuple(shown)


def is_harmless(name: str, value: str) -> bool:
    """Whether neither a name nor what is in its value, JSON included, has to be kept secret."""
    return bool(drop_secrets({name: value}))


def _options(words: Sequence[str], engine: Engine) -> list[tuple[str, list[str]]]:
    options: list[tuple[str, list[str]]] = []
    # A word before every option: `vllm serve MODEL --port 1`.
    if engine.positional is not None and words and not _is_option(words[0]):
        options.append((engine.positional, [words[0]]))
        words = words[1:]
    for word in words:
        if _is_option(word):
            option, equals, value = word.partition("=")
            name = _plain(option)
            options.append((engine.aliases.get(name, name), [value] if equals else []))
        elif options:
            options[-1][1].append(word)
    return options


def _is_option(word: str) -> bool:
    return (len(word) > 2 and word.startswith("--")) or _SHORT.fullmatch(word.partition("=")[0]) is not None


def _plain(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _typed(value: str) -> Json:
    if _INT.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    if value[:1] in ("{", "[") and len(value) < _LONGEST_JSON:
        try:  # as the engines' own records show it
            read: Json = json.loads(value, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return value
        return read
    return value


def _refuse(constant: str) -> Json:
    raise ValueError(constant)  # NaN and Infinity are no JSON
