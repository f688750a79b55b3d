"""What is known about the effect of single settings, kept as data in `effects.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Effect(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["env", "flag", "version", "gpu"]
    weight: Literal["matters", "expected", "noise"]
    reason: str
    names: tuple[str, ...]


class _Effects(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    effect: tuple[_Effect, ...]


@dataclass(frozen=True, slots=True)
class Weight:
    """How much a setting weighs, and why."""

    word: str  # "matters", "unknown", "expected", "noise"
    reason: str = ""


@cache
def _known() -> tuple[_Effect, ...]:
    text = files("specmon.references").joinpath("effects.toml").read_text(encoding="utf-8")
    return _Effects.model_validate(tomllib.loads(text)).effect


def weigh(kind: str, name: str, *, is_speculation_expected: bool) -> Weight:
    """The weight of a setting that differs.

    Between a baseline and a speculative server the `speculative_*` flags are the subject of the study, so
    they are "expected"; between a reference and its own server they are not.
    """
    for effect in _known():
        if effect.weight == "expected" and not is_speculation_expected:
            continue
        if effect.kind == kind and any(fnmatchcase(name, pattern) for pattern in effect.names):
            return Weight(effect.weight, effect.reason)
    if kind in ("version", "gpu"):
        return Weight("matters", "other kernels or another device")
    return Weight("unknown")
