"""`specmon reference add`: writes down a number that somebody already has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from pydantic import JsonValue

from specmon.commands.reference import folder_to_write, tell
from specmon.errors import ConfigError
from specmon.references.diff import compare_references
from specmon.references.files import change
from specmon.references.fingerprint import Fingerprint
from specmon.references.keeping import require_harmless, require_harmless_texts
from specmon.references.model import Reference, ReferenceLevel
from specmon.references.store import level_of, parse, require_name
from specmon.references.writing import rewritten, text_of
from specmon.reports.reference import level_line
from specmon.sources.launch_flags import parse_flags
from specmon.visible import visible

_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "none": None}


def add(
    *,
    name: str,
    tok_s: float,
    running: int,
    cycle_ms: float | None,
    env: Sequence[str],
    flags: Sequence[str],
    note: str | None,
    model: str | None,
    host: str | None,
    engine: str | None,
    tolerance: float | None,
    out: Path | None,
    is_replaced: bool,
) -> int:
    """Write a reference by hand, or one more level of it."""
    require_name(name)
    for option, value in (("--tok-s", tok_s), ("--cycle-ms", cycle_ms)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ConfigError(f"{option} {value}: it must be a number above 0.")
    path = folder_to_write(out) / f"{name}.toml"
    now = datetime.now(UTC)
    level = level_of(f"reference {name}", running=running, tok_s=tok_s, cycle_ms=cycle_ms)
    given = {
        field: value
        for field, value in (
            ("note", note),
            ("model", model),
            ("host", host),
            ("engine", engine),
            ("tolerance", tolerance),
        )
        if value is not None
    }
    new = Reference(name=name, levels=(level,), fingerprint=_fingerprint(env, flags)).model_copy(update=given)
    require_harmless_texts(new)
    written: list[Reference] = []

    def make(before: str | None) -> str:
        if before is None or is_replaced:
            text = text_of(new)
        else:
            known = parse(before, str(path), warn=tell, now=now)
            text = rewritten(before, _with_level(known, new, level).model_copy(update=given))
        written.append(parse(text, str(path), now=now))
        return text

    change(path, make)
    reference = written[-1]
    click.echo(visible(f"{reference.name}: {path}"))
    for each in reference.levels:
        click.echo(f"  {level_line(reference, each)}")
    return 0


def _with_level(known: Reference, new: Reference, level: ReferenceLevel) -> Reference:
    if known.level_at(level.running) is not None:
        raise ConfigError(
            f"reference {known.name}: it has a speed at {level.running} running already. "
            "Choose another name, edit the file, or start anew with --replace."
        )
    mattering = [one for one in compare_references(known, new) if one.weight == "matters"]
    if mattering:
        names = ", ".join(one.name for one in mattering)
        raise ConfigError(
            f"reference {known.name}: {names} differ from what it has. Another environment is another reference: "
            "choose another name, or --replace."
        )
    levels = sorted([*known.levels, level], key=lambda one: one.running)
    return known.model_copy(update={"levels": tuple(levels)})


def _fingerprint(env: Sequence[str], flags: Sequence[str]) -> Fingerprint:
    """What was named on the command line; of other variables nothing is known."""
    variables: dict[str, str] = {}
    for word in env:
        name, value = _split("--env", word)
        variables[name] = value
    values: dict[str, JsonValue] = {}
    for word in flags:
        name, value = _split("--flag", word)
        name = name.lstrip("-")
        for known, typed in parse_flags([f"--{name}={value}"]).items():
            values[known] = _WORDS.get(value.lower(), typed) if isinstance(typed, str) else typed
    return Fingerprint(flags=values or None, env=variables or None, env_is_partial=bool(variables))


def _split(option: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name.strip("-"):
        raise ConfigError(f"{option} {'' if not equals else word!r}: write NAME=VALUE, as {option} NCCL_PROTO=LL.")
    require_harmless(option, name, value)
    return name, value
