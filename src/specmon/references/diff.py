"""What differs between two fingerprints, sorted by what it is known to do to decode speed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import JsonValue

from specmon.references.difference import Difference
from specmon.references.effects import weigh
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference

_ORDER = {"matters": 0, "unknown": 1, "expected": 2, "noise": 3}
_MODEL_FLAGS = {"model_path", "model"}


def compare(before: Fingerprint, now: Fingerprint, *, is_speculation_expected: bool = False) -> tuple[Difference, ...]:
    """All differences, what matters first, in the order in which `before` names them.

    A table that one side never looked at gives none. A flag counts only where both sides name it, because
    a command line names a few of the hundreds that a launch line resolves; a variable that is set on one
    side alone is a difference where the other side's environment was read whole.
    """
    found = [
        *_table(
            "env",
            before.env,
            now.env,
            is_absence_told=(not before.is_env_partial, not now.is_env_partial),
            is_speculation_expected=is_speculation_expected,
        ),
        *_table("flag", before.flags, now.flags, is_speculation_expected=is_speculation_expected),
        *_table("version", before.versions, now.versions),
        *_table("gpu", before.gpu, now.gpu),
    ]
    return _sorted(found)


def compare_references(before: Reference, now: Reference) -> tuple[Difference, ...]:
    """All conditions in which two references differ: engine, model and host besides their fingerprints."""
    found = [
        Difference(kind, name, left, right, weight, reason)
        for kind, name, left, right, weight, reason in (
            ("engine", "engine", before.engine, now.engine, "matters", "another engine"),
            ("version", "engine_version", before.engine_version, now.engine_version, "matters", "other kernels"),
            ("host", "host", before.host, now.host, "unknown", "another machine, if not another name for it"),
        )
        if left is not None and right is not None and left != right
    ]
    prints = compare(before.fingerprint, now.fingerprint)
    is_model_a_flag = any(difference.name in _MODEL_FLAGS for difference in prints)
    if before.model is not None and now.model is not None and before.model != now.model and not is_model_a_flag:
        is_other = is_other_model(before.model, now.model)
        weight, reason = ("matters", "another model") if is_other else ("noise", "one model in two places")
        found.append(Difference("model", "model", before.model, now.model, weight, reason))
    return _sorted([*found, *prints])


def is_other_model(left: str | None, right: str | None) -> bool:
    """Two models whose names differ, wherever they lie; what is not known is no other."""
    return bool(left and right) and PurePosixPath(left or "").name != PurePosixPath(right or "").name


def _sorted(found: list[Difference]) -> tuple[Difference, ...]:
    return tuple(sorted(found, key=lambda difference: _ORDER[difference.weight]))


def _table(
    kind: str,
    before: Mapping[str, JsonValue] | Mapping[str, str] | None,
    now: Mapping[str, JsonValue] | Mapping[str, str] | None,
    *,
    is_absence_told: tuple[bool, bool] = (False, False),  # a name that is not in `before`, in `now`, is not set
    is_speculation_expected: bool = False,
) -> list[Difference]:
    if before is None or now is None:
        return []
    found = []
    for name in dict.fromkeys((*before, *now)):
        if (name not in before and not is_absence_told[0]) or (name not in now and not is_absence_told[1]):
            continue
        left, right = _shown(before, name), _shown(now, name)
        if left == right:
            continue
        weight = weigh(kind, name, is_speculation_expected=is_speculation_expected)
        found.append(Difference(kind, name, left, right, weight.word, weight.reason))
    return found


def _shown(table: Mapping[str, JsonValue] | Mapping[str, str], name: str) -> str | None:
    value = table.get(name)
    if value is None:  # a flag that the engine prints as None is not set either
        return None
    return value if isinstance(value, str) else json.dumps(_written(value), ensure_ascii=False)


def _written(value: JsonValue) -> JsonValue:
    """A value as a file can hold it: TOML has no null, so within a table None is a name that is not there."""
    if isinstance(value, dict):
        return {name: _written(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return ["None" if inner is None else _written(inner) for inner in value]
    return value
