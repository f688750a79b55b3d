"""What differs between two fingerprints, sorted by what it is known to do to decode speed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from specmon.references.difference import Difference
from specmon.references.effects import weigh
from specmon.references.fingerprint import Fingerprint

_ORDER = {"matters": 0, "unknown": 1, "expected": 2, "noise": 3}


def compare(before: Fingerprint, now: Fingerprint, *, is_speculation_expected: bool = False) -> tuple[Difference, ...]:
    """All differences, what matters first, in the order in which `before` names them.

    A table that one side never looked at gives none. A flag counts only where both sides name it, because
    a command line names a few of the hundreds that a launch line resolves; a variable that is set on one
    side alone is a difference, since an environment is always read whole.
    """
    found = [
        *_table("env", before.env, now.env, is_absence_told=True, is_speculation_expected=is_speculation_expected),
        *_table(
            "flag", before.flags, now.flags, is_absence_told=False, is_speculation_expected=is_speculation_expected
        ),
        *_table("version", before.versions, now.versions, is_absence_told=False, is_speculation_expected=False),
        *_table("gpu", before.gpu, now.gpu, is_absence_told=False, is_speculation_expected=False),
    ]
    return tuple(sorted(found, key=lambda difference: _ORDER[difference.weight]))


def _table(
    kind: str,
    before: Mapping[str, JsonValue] | Mapping[str, str] | None,
    now: Mapping[str, JsonValue] | Mapping[str, str] | None,
    *,
    is_absence_told: bool,
    is_speculation_expected: bool,
) -> list[Difference]:
    if before is None or now is None:
        return []
    found = []
    for name in dict.fromkeys((*before, *now)):
        if not is_absence_told and not (name in before and name in now):
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
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
