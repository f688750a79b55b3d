"""What is known about the effect of single settings, kept as data in `effects.toml`: the user's own, then ours."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from specmon.errors import ConfigError
from specmon.faults import sentence_of, tables_of

_Text = Annotated[str, Field(min_length=1)]


class Effect(BaseModel):
    """What some settings do to decode speed, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["env", "flag", "version", "gpu"]
    weight: Literal["matters", "expected", "noise"]
    reason: _Text
    names: Annotated[tuple[_Text, ...], Field(min_length=1)]  # shell patterns


class _Effects(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    effect: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Weight:
    """How much a setting weighs, and why."""

    word: str  # "matters", "unknown", "expected", "noise"
    reason: str = ""


def own_file() -> Path:
    """Where a user's own knowledge lies."""
    import platformdirs

    return platformdirs.user_config_path("specmon") / "effects.toml"


@cache
def known_effects() -> tuple[Effect, ...]:
    """All effects in the order in which they are asked: the first that names a setting counts.

    Raises ConfigError, naming file, line and key, when the user's own file is wrong.
    """
    ours = files("specmon.references").joinpath("effects.toml").read_text(encoding="utf-8")
    return (*_own(own_file()), *_Effects.model_validate(tomllib.loads(ours)).effect)


def weigh(kind: str, name: str, *, is_speculation_expected: bool) -> Weight:
    """The weight of a setting that differs.

    Between a baseline and a speculative server the `speculative_*` flags are the subject of the study, so
    they are "expected"; between a reference and its own server they are not.
    """
    pattern, effects = pattern_of(kind, is_speculation_expected)
    if (match := pattern.match(name)) is not None and match.lastindex is not None:
        effect = effects[match.lastindex - 1]
        return Weight(effect.weight, effect.reason)
    if kind in ("version", "gpu"):
        return Weight("matters", "other kernels or another device")
    return Weight("unknown")


@cache
def pattern_of(kind: str, is_speculation_expected: bool) -> tuple[re.Pattern[str], tuple[Effect, ...]]:
    """All effects of a kind as one pattern with a group for each: an environment from anybody may have 100,000 names,
    and asking hundreds of patterns one by one for each takes minutes."""
    effects = tuple(
        effect
        for effect in known_effects()
        if effect.kind == kind and (is_speculation_expected or effect.weight != "expected")
    )
    groups = ("|".join(map(translate, effect.names)) for effect in effects)
    return re.compile("|".join(f"({group})" for group in groups) or r"(?!)"), effects


def read_effects(path: Path) -> tuple[Effect, ...]:
    """The effects of a file; ConfigError naming file, line and key."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"effects {path}: it is not UTF-8 text. Correct or remove the file.") from error
    except OSError as error:
        raise ConfigError(
            f"effects {path}: {(error.strerror or str(error)).lower()}. Check its permissions."
        ) from error
    try:
        return _Effects.model_validate(tables_of(text)).effect
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"effects {path}: it is not valid TOML: {error}. Correct or remove the file.") from error
    except ValidationError as error:
        raise ConfigError(sentence_of("effects", str(path), text, error)) from error


def _own(path: Path) -> tuple[Effect, ...]:
    return read_effects(path) if path.is_file() else ()
