"""What differs between two fingerprints, sorted by what it is known to do to decode speed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import JsonValue

from specmon.references.difference import Difference
from specmon.references.effects import weigh
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference

_ORDER = {"matters": 0, "unknown": 1, "expected": 2, "noise": 3}
_MODEL_FLAGS = {"model_path", "model"}


@dataclass(frozen=True, slots=True)
class _Side:
    """One table of one fingerprint."""

    table: Mapping[str, JsonValue] | Mapping[str, str] | None
    is_whole: bool  # what is not in it is not set
    origins: Mapping[str, str] = field(default_factory=dict)

    def shown(self, name: str) -> str | None:
        value = (self.table or {}).get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]  # a command line cannot tell `--cuda-graph-bs 1` from a list of one
        if value is None:  # a flag that the engine prints as None is not set either
            return None
        return value if isinstance(value, str) else json.dumps(_written(value), ensure_ascii=False)


def compare(before: Fingerprint, now: Fingerprint, *, is_speculation_expected: bool = False) -> tuple[Difference, ...]:
    """All differences, what matters first, in the order in which `before` names them.

    A table that one side never looked at gives none. A flag counts only where both sides name it, because
    a command line names a few of the hundreds that a launch line resolves; a variable that is set on one
    side alone is a difference, unless the other side's environment could be read in part only.
    """
    env_before, env_now = (_Side(each.env, not each.env_is_partial, each.env_from) for each in (before, now))
    found = [
        *_table("env", env_before, env_now, is_speculation_expected),
        *_table("flag", _Side(before.flags, False), _Side(now.flags, False), is_speculation_expected),
        *_table("version", _Side(before.versions, False), _Side(now.versions, False), False),
        *_table("gpu", _Side(before.gpu, False), _Side(now.gpu, False), False),
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
    if any(difference.kind == "version" and difference.name == "engine" for difference in prints):
        found = [difference for difference in found if difference.name != "engine_version"]
    is_model_a_flag = any(difference.name in _MODEL_FLAGS for difference in prints)
    if before.model is not None and now.model is not None and before.model != now.model and not is_model_a_flag:
        is_other = is_other_model(before.model, now.model)
        weight, reason = ("matters", "another model") if is_other else ("noise", "one model in two places")
        found.append(Difference("model", "model", before.model, now.model, weight, reason))
    return _sorted([*found, *prints])


def is_other_model(left: str | None, right: str | None) -> bool:
    """Two models whose names differ, wherever they lie; what is not known is no other."""
    return bool(left and right) and PurePosixPath(left or "").name.lower() != PurePosixPath(right or "").name.lower()


def _sorted(found: list[Difference]) -> tuple[Difference, ...]:
    return tuple(sorted(found, key=lambda difference: _ORDER[difference.weight]))


def _table(kind: str, before: _Side, now: _Side, is_speculation_expected: bool) -> list[Difference]:
    if before.table is None or now.table is None:
        return []
    found = []
    for name in dict.fromkeys((*before.table, *now.table)):
        if any(name not in (side.table or {}) and not side.is_whole for side in (before, now)):
            continue
        left, right = before.shown(name), now.shown(name)
        if left == right:
            continue
        weight = weigh(kind, name, is_speculation_expected=is_speculation_expected)
        found.append(Difference(kind, name, left, right, weight.word, weight.reason, _origin(name, before, now)))
    return found


def _origin(name: str, before: _Side, now: _Side) -> str:
    """The file where somebody will have to look."""
    sides = (("before", before), ("now", now))
    return ", ".join(f"{word} from {side.origins[name]}" for word, side in sides if name in side.origins)


def _written(value: JsonValue) -> JsonValue:
    """A value as a file can hold it: TOML has no null, so within a table None is a name that is not there."""
    if isinstance(value, dict):
        return {name: _written(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return ["None" if inner is None else _written(inner) for inner in value]
    return value
