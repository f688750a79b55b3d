"""Command-line words of a server as flags: `--tp-size 8` becomes `tp_size: 8`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from specmon.secrets import drop_secrets, is_secret_name

FlagValue: TypeAlias = str | int | float | bool | list[str | int | float]

HIDDEN = "***"

# SGLang's short spellings; its log and its own records use the long names.
_ALIASES = {
    "model": "model_path",
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "ep": "ep_size",
    "expert_parallel_size": "ep_size",
    "speculative_draft_model": "speculative_draft_model_path",
}
_INT = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")


def parse_flags(words: Sequence[str]) -> dict[str, FlagValue]:
    """Read `--name value`, `--name=value`, `--name` and `--name v1 v2`; secrets are left out."""
    flags: dict[str, FlagValue] = {}
    for name, values in _options(words):
        if is_secret_name(name) or not all(is_harmless(name, value) for value in values):
            continue
        typed = [_typed(value) for value in values]
        flags[name] = True if not typed else typed[0] if len(typed) == 1 else typed
    return flags


def hide_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """The same words with the values of secret options replaced."""
    shown: list[str] = []
    is_hidden = False  # whether values of a secret option follow
    for word in words:
        option, equals, value = word.partition("=")
        if _is_option(word):
            is_hidden = is_secret_name(_name(option)) and not equals
            is_secret = bool(equals) and not is_harmless(_name(option), value)
            shown.append(f"{option}={HIDDEN}" if is_secret else word)
        else:
            shown.append(HIDDEN if is_hidden or not is_harmless("word", word) else word)
    return tuple(shown)


def is_harmless(name: str, value: str) -> bool:
    """Whether neither a name nor what is in its value, JSON included, has to be kept secret."""
    return bool(drop_secrets({name: value}))


def _options(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    options: list[tuple[str, list[str]]] = []
    for word in words:
        if _is_option(word):
            option, equals, value = word.partition("=")
            options.append((_name(option), [value] if equals else []))
        elif options:
            options[-1][1].append(word)
    return options


def _is_option(word: str) -> bool:
    return len(word) > 2 and word.startswith("--")


def _name(option: str) -> str:
    name = option.removeprefix("--").replace("-", "_")
    return _ALIASES.get(name, name)


def _typed(value: str) -> str | int | float:
    if _INT.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    return value
