"""References for people and programs: one in full, several as a table, two side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from specmon.references.difference import Difference
from specmon.references.effects import weigh
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.shares import percent, signed_percent

_MANY_FLAGS = 40  # more than these come from a resolved launch line, of which few are worth reading
_VALUE_WIDTH = 60


def moment_text(moment: datetime | None) -> str:
    """ "2026-02-20 10:00:00 UTC"; a moment without a zone is told as it is."""
    if moment is None:
        return "at an unknown time"
    zone = "" if moment.tzinfo is None else f" {moment.tzname()}"
    return f"{moment:%Y-%m-%d %H:%M:%S}{zone}"


def level_line(reference: Reference, level: ReferenceLevel) -> str:
    """One level in words."""
    interval = level.tok_s_ci95
    spread = reference.spread_at(level.running)
    parts = [
        f"{level.running} running: {level.tok_s:.1f} tok/s"
        + (f" ({interval[0]:.1f} to {interval[1]:.1f})" if interval is not None else ""),
        f"{level.cycle_ms:.2f} ms a step" if level.cycle_ms is not None else "",
        f"{level.n} clean sample{'s' * (level.n != 1)}" if level.n is not None else "",
        f"sigma {percent(level.sigma, 1)}" if level.sigma is not None else "",
        f"spread {percent(spread, 1)} between sessions" if spread is not None else "",
        f"tolerance {percent(reference.tolerance_at(level.running))}" if spread is not None else "",
        f"context {level.context_tokens[0]:.0f} to {level.context_tokens[1]:.0f} tokens"
        if level.context_tokens is not None
        else "",
    ]
    return ", ".join(part for part in parts if part)


def reference_table(found: Sequence[tuple[Path, Reference]]) -> list[str]:
    """The references of all folders, one a line; a name that an earlier folder has too cannot be reached by it."""
    rows = [("NAME", "RUNNING", "TOK/S", "SESSIONS", "RECORDED", "HOST", "MODEL", "WHERE")]
    seen: set[str] = set()
    for path, reference in found:
        hidden = "  (hidden by the one above)" if path.stem in seen else ""
        seen.add(path.stem)
        rows.append(
            (
                path.stem,
                " ".join(str(level.running) for level in reference.levels),
                " ".join(f"{level.tok_s:.1f}" for level in reference.levels),
                str(len(reference.sessions)) if reference.sessions else "by hand",
                f"{reference.recorded_at:%Y-%m-%d}" if reference.recorded_at is not None else "-",
                reference.host or "-",
                reference.model or "-",
                f"{path.parent}{hidden}",
            )
        )
    return _aligned(rows)


def reference_text(reference: Reference, path: Path) -> Iterator[str]:
    """One reference in full, but of the flags of a resolved launch line only those that change the speed."""
    yield reference.name + (f": {reference.note}" if reference.note else "")
    yield f"  {path}"
    made = " ".join(part for part in (reference.engine, reference.engine_version) if part)
    where = f" on {reference.host}" if reference.host else ""
    facts = [part for part in (made, reference.model) if part]
    if facts or where:
        yield f"  {', '.join(facts) or 'recorded'}{where}"
    yield f"  recorded {moment_text(reference.recorded_at)}, tolerance {percent(reference.tolerance)}"
    yield ""
    yield from (f"  {level_line(reference, level)}" for level in reference.levels)
    if reference.sessions:
        yield ""
        for number, session in enumerate(reference.sessions, start=1):
            run = f", run {session.run}" if session.run is not None else ""
            levels = ", ".join(
                f"{level.tok_s:.1f} tok/s at {level.running}" + (f" (n {level.n})" if level.n else "")
                for level in session.level
            )
            yield f"  session {number}, {moment_text(session.recorded_at)}{run}: {levels or 'no figures'}"
    yield ""
    yield from _fingerprint_lines(reference.fingerprint)


def _fingerprint_lines(prints: Fingerprint) -> Iterator[str]:
    if prints.is_empty:
        yield "  conditions: nothing is known"
        return
    env_title = "environment (as far as it is known)" if prints.env_is_partial else "environment"
    tables: tuple[tuple[str, Mapping[str, Any] | None], ...] = (
        (env_title, prints.env),
        ("versions", prints.versions),
        ("gpu", prints.gpu),
    )
    for title, table in tables:
        if table is None:
            yield f"  {title}: not known"
        else:
            yield f"  {title}:" + ("" if table else " nothing is set")
            yield from (f"    {name}={_short(value)}{_origin(prints, name)}" for name, value in table.items())
    yield from (f"  not read: {reason}" for reason in prints.unread)
    if prints.flags is None:
        yield "  flags: not known"
        return
    flags = {name: value for name, value in prints.flags.items() if value is not None}
    told = flags
    if len(flags) > _MANY_FLAGS:
        told = {
            name: value
            for name, value in flags.items()
            if value is not False and weigh("flag", name, is_speculation_expected=True).word == "matters"
        }
    yield "  flags:"
    yield from (f"    {name}={_short(value)}" for name, value in told.items())
    if (rest := len(prints.flags) - len(told)) > 0:
        yield f"    and {rest} more (--format toml shows all)"


def _origin(prints: Fingerprint, name: str) -> str:
    return f"  (from {prints.env_from[name]})" if name in prints.env_from else ""


def speed_lines(left: Reference, right: Reference) -> list[str]:
    """The speeds of two references side by side."""
    rows: list[tuple[str, ...]] = [("RUNNING", left.name, right.name, "CHANGE")]
    for running in sorted({level.running for level in (*left.levels, *right.levels)}):
        levels = left.level_at(running), right.level_at(running)
        told = [f"{level.tok_s:.1f} tok/s" if level is not None else "-" for level in levels]
        change = _change(*levels)
        limit = left.tolerance_at(running)
        word = "" if change is None or abs(change) <= limit else f", beyond {percent(limit)}"
        rows.append((str(running), *told, "-" if change is None else f"{signed_percent(change)}{word}"))
    return _aligned(rows)


def difference_lines(differences: Sequence[Difference], left: Reference, right: Reference) -> Iterator[str]:
    """What differs, class by class, each with its reason; and what could not be compared."""
    yield ""
    if not differences:
        yield "No condition differs, as far as both sides know them."
    for weight, title in _CLASSES.items():
        of_class = [difference for difference in differences if difference.weight == weight]
        if not of_class:
            continue
        yield f"{title}:"
        reason = ""
        for one in of_class:
            if one.reason != reason:
                reason = one.reason
                if reason:
                    yield f"  {reason}:"
            yield f"    {change_text(one, ' -> ')}" + (f"  ({one.origin})" if one.origin else "")
    for name in ("flags", "env", "versions", "gpu"):
        sides = [getattr(side.fingerprint, name) for side in (left, right)]
        if sides[0] is None and sides[1] is None:
            continue
        for side, table in ((left, sides[0]), (right, sides[1])):
            if table is None:
                yield f"Not compared: {_TABLES[name]}, which {side.name} does not tell."


def change_text(difference: Difference, between: str) -> str:
    """ "NCCL_PROTO: LL -> not set"; of long values that begin alike, the part where they differ."""
    before, now = ("not set" if value is None else value for value in difference.shortened())
    return f"{difference.name}: {before}{between}{now}"


def speeds_json(left: Reference, right: Reference) -> list[dict[str, float | int | None]]:
    """The same for programs: tok/s of both and the change as a share."""
    found = []
    for running in sorted({level.running for level in (*left.levels, *right.levels)}):
        levels = left.level_at(running), right.level_at(running)
        a, b = (level.tok_s if level is not None else None for level in levels)
        found.append({"running": running, "a_tok_s": a, "b_tok_s": b, "change": _change(*levels)})
    return found


def reference_json(reference: Reference, path: Path) -> dict[str, Any]:
    """All that a reference says, with the spread and the tolerance that follow from its sessions."""
    document = reference.model_dump(mode="json", by_alias=True)
    for level in document["level"]:
        level["spread"] = reference.spread_at(level["running"])
        level["tolerance"] = reference.tolerance_at(level["running"])
    return {"path": str(path), **_strict(document)}


_CLASSES = {
    "matters": "Matters for the speed",
    "unknown": "Effect not known",
    "expected": "Expected",
    "noise": "Noise",
}
_TABLES = {"flags": "launch flags", "env": "environment", "versions": "versions", "gpu": "GPU"}


def _change(left: ReferenceLevel | None, right: ReferenceLevel | None) -> float | None:
    return None if left is None or right is None else right.tok_s / left.tok_s - 1


def _short(value: object) -> str:
    if value is None:
        return "not set"
    text = str(value)
    return text if len(text) <= _VALUE_WIDTH else f"{text[:_VALUE_WIDTH]}…"


def _strict(value: Any) -> Any:
    """A value as strict JSON has it: a flag may be NaN."""
    if isinstance(value, dict):
        return {name: _strict(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_strict(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
