"""The stored references beside a running baseline: which of them fits, and what of the conditions differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from specmon.monitor.causes import causes_of
from specmon.monitor.misfit import misfit_of
from specmon.monitor.shelfview import ReferenceRow, Shelf
from specmon.monitor.snapshot import Role
from specmon.reports.reference import change_text, level_line, moment_text

if TYPE_CHECKING:
    from specmon.analysis.figures import LevelFigures
    from specmon.monitor.server import ServerMonitor
    from specmon.monitor.session import Session
    from specmon.references.difference import Difference
    from specmon.references.model import Reference, ReferenceLevel

_LEVELS_TOLD = 6
_DIFFERENCES_TOLD = 12


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the folders; without a file, what the command line asked for."""

    key: str
    name: str
    reference: Reference | None = None
    path: Path | None = None
    fault: str = ""


def shelf_of(
    found: Sequence[Stored], session: Session, *, chosen: str | None, places: Sequence[Path], record_into: Path
) -> Shelf:
    """All of them in order, each held against the baseline of the session."""
    baseline = _baseline(session)
    level = None
    if baseline is not None and baseline.life is not None:
        level = baseline.life.figures(is_exact=False).main_level
    rows = [replace(_row(one, baseline, level), is_chosen=one.key == chosen) for one in found]
    return Shelf(
        rows=tuple(sorted(rows, key=lambda row: bool(row.fault))),  # what cannot be read comes last
        baseline="" if baseline is None else session.names()[baseline.key],
        tok_s=None if level is None else level.decode_tok_s,
        running=None if level is None else level.running,
        places=tuple(map(str, places)),
        record_into=str(record_into),
    )


def _baseline(session: Session) -> ServerMonitor | None:
    baseline, _ = session.pair()
    return None if baseline is None or baseline.role is Role.SPECULATIVE else baseline


def _row(one: Stored, baseline: ServerMonitor | None, level: LevelFigures | None) -> ReferenceRow:
    reference = one.reference
    if reference is None:
        return ReferenceRow(one.key, one.name, fault=one.fault)
    recorded = reference.level_at(level.running) if level is not None else None
    deviation = None
    if recorded is not None and level is not None and level.decode_tok_s is not None:
        deviation = level.decode_tok_s / recorded.tok_s - 1
    misfit = (misfit_of(reference, baseline) if baseline is not None else None) or ""
    differences = _differences(reference, baseline, level)
    told = [each for each in differences or () if each.weight != "noise"]
    shown = recorded or reference.levels[0]
    return ReferenceRow(
        key=one.key,
        name=one.name,
        speed=_speed(reference, shown),
        sessions=_sessions(reference),
        recorded="" if reference.recorded_at is None else f"{reference.recorded_at:%Y-%m-%d}",
        engine=reference.engine or "",
        model="" if reference.model is None else PurePosixPath(reference.model).name,
        deviation=None if misfit else deviation,
        is_within=recorded is not None
        and level is not None
        and level.cycle_ms is not None
        and abs(level.cycle_ms / recorded.step_ms - 1) <= reference.tolerance_at(recorded.running),
        differ=None if differences is None else len(told),
        matter=sum(each.weight == "matters" for each in told),
        misfit=misfit,
        details=tuple(_details(one, reference, differences)),
    )


def _differences(
    reference: Reference, baseline: ServerMonitor | None, level: LevelFigures | None
) -> tuple[Difference, ...] | None:
    """None where the conditions of one of them are not known at all."""
    if baseline is None or baseline.life is None:
        return None
    conditions = baseline.life.conditions
    if reference.fingerprint.is_empty or conditions.is_empty:
        return None
    return causes_of(reference.fingerprint, conditions, (), level)


def _speed(reference: Reference, level: ReferenceLevel) -> str:
    spread, interval = reference.spread_at(level.running), level.tok_s_ci95
    half = spread * level.tok_s if spread is not None else None if interval is None else (interval[1] - interval[0]) / 2
    around = "" if half is None else f" ±{half:.1f}"
    return f"{level.tok_s:.1f} tok/s{around} at {level.running}"


def _sessions(reference: Reference) -> str:
    count = len(reference.sessions)
    return f"{count} session{'s' * (count != 1)}" if count else "by hand"


def _details(one: Stored, reference: Reference, differences: Sequence[Difference] | None) -> Iterator[str]:
    if reference.note:
        yield reference.note
    made = " ".join(part for part in (reference.engine, reference.engine_version) if part)
    facts = [part for part in (made, reference.model, f"on {reference.host}" if reference.host else "") if part]
    when = f"recorded {moment_text(reference.recorded_at)}" if reference.recorded_at else "recorded by hand"
    yield ", ".join((when, *facts))
    for level in reference.levels[:_LEVELS_TOLD]:
        yield level_line(reference, level)
    if len(reference.levels) > _LEVELS_TOLD:
        yield f"and {len(reference.levels) - _LEVELS_TOLD} levels more"
    yield str(one.path) if one.path is not None else "given on the command line, in no file"
    if differences is None:
        yield "which conditions differ is not known: those of the reference or of the baseline were not read"
        return
    told = [each for each in differences if each.weight in ("matters", "unknown")]
    for each in told[:_DIFFERENCES_TOLD]:
        why = f": {each.reason}" if each.reason else ""
        yield f"{each.weight}: {change_text(each, ' then, now ')}{why}"
    if len(told) > _DIFFERENCES_TOLD:
        yield f"and {len(told) - _DIFFERENCES_TOLD} more that differ"
