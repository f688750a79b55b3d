"""What one life of a server is worth as a reference: its levels, its conditions, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.longrun import long_run_sigma
from specmon.events import FIRST_DATED_S
from specmon.monitor.life import Life
from specmon.monitor.method import counter_finding
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role, RunState
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import ReferenceLevel, ReferenceSession, six_digits

CLEAN_NEEDED = 10  # samples of a level, as for a comparison
_LEVELS_TOLD = 4


@dataclass(frozen=True, slots=True)
class Recording:
    """A life as it would be recorded. Faults are sentences without their full stop."""

    session: ReferenceSession  # its levels: those that are fit; when none is and that is forced, all with a figure
    recorded_at_note: str  # whose clock `session.recorded_at` is on
    faults: tuple[str, ...] = ()  # why it is not worth recording
    left_out: tuple[str, ...] = ()  # levels that are not fit, each with its reason
    can_be_forced: bool = True
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    fingerprint: Fingerprint = field(default_factory=Fingerprint)


def recording_of(
    server: ServerMonitor,
    *,
    running: int | None = None,
    is_forced: bool = False,
    is_utc: bool = False,
    now: datetime,
) -> Recording:
    """The life that is asked for (`server.run`, else the last), at one level or at all.

    `is_utc` says that stamps without a zone are UTC, `now` is what stands for the time when the log has no date.
    """
    life = server.life
    if life is None:
        return Recording(ReferenceSession(), "", (_why_nothing(server),), can_be_forced=False)
    figures = life.figures()
    asked = [level for level in figures.levels if running in (None, level.running)]
    unfit = {
        level.running: fault
        for level in asked
        if (fault := _fault_of_level(level, figures) or _fault_by_counter(life, level.running)) is not None
    }
    fit = [level for level in asked if level.running not in unfit]
    taken = fit or [level for level in asked if is_forced and level.decode_tok_s is not None]
    is_speculative = life.role is Role.SPECULATIVE
    faults = [*_faults_of_run(life, figures)]
    if not fit:
        faults.append(_why_no_level(asked, unfit, running))
    recorded_at, note = _moment(life.last_sample_at, server.utc_offset_s, is_utc=is_utc, now=now)
    started_at, _ = _moment(life.launched_at or life.first_sample_at, server.utc_offset_s, is_utc=is_utc, now=None)
    return Recording(
        ReferenceSession(
            recorded_at=recorded_at,
            started_at=started_at,
            run=life.index,
            level=tuple(_level(life, level) for level in taken),
        ),
        note,
        tuple(faults),
        tuple(f"{number} running: {fault}" for number, fault in unfit.items()),
        can_be_forced=any(level.decode_tok_s is not None for level in asked) and not is_speculative,
        engine=server.engine,
        engine_version=(life.conditions.versions or {}).get("engine"),
        model=None if life.launch is None else life.launch.model,
        fingerprint=_without_uuids(life.conditions),
    )


def _without_uuids(conditions: Fingerprint) -> Fingerprint:
    """Which devices of a kind they were is nothing that a reference holds for."""
    gpu = conditions.gpu
    if gpu is None or "uuids" not in gpu:
        return conditions
    return conditions.model_copy(update={"gpu": {name: value for name, value in gpu.items() if name != "uuids"}})


def _why_nothing(server: ServerMonitor) -> str:
    if server.unreadable is not None:
        return server.unreadable.rstrip(".")
    if server.run is not None and server.lives:
        return f"the log has {len(server.lives)} run{'s' * (len(server.lives) > 1)}, so there is no --run {server.run}"
    return "no line of an LLM server is in it"


def _faults_of_run(life: Life, figures: RunFigures) -> list[str]:
    found = []
    if life.role is Role.SPECULATIVE:
        found.append("it is the log of a speculative server, and a reference is a baseline's (--force changes nothing)")
    elif life.role is Role.UNKNOWN and figures.samples:
        found.append("the log does not tell whether this server speculates")
    if life.state is RunState.CRASHED:
        crash = next((each.detail for each in reversed(life.happenings) if each.kind == "crash"), "")
        found.append(f"the run crashed{f' ({crash[:120]})' if crash else ''}, so nobody knows what slowed it before")
    if figures.ranks_missing:
        found.append(f"lines of {', '.join(figures.ranks_missing[:4])} are missing, so no sum is the server's")
    return found


def _fault_of_level(level: LevelFigures, figures: RunFigures) -> str | None:
    """Why a level is not worth recording, None when it is."""
    if level.clean < CLEAN_NEEDED:
        have = f"{level.clean} clean sample{'s' * (level.clean != 1)} of {level.samples}"
        lacking = f"{have}, {CLEAN_NEEDED - level.clean} more are needed"
        reasons = ", ".join(f"{count} {rule.replace('_', ' ')}" for rule, count in figures.excluded.items() if count)
        return f"{lacking} (left out over the run: {reasons})" if reasons and len(figures.levels) == 1 else lacking
    if level.ranks_without_clean:
        return f"no clean sample of {', '.join(level.ranks_without_clean[:4])}"
    if level.decode_tok_s is None:
        return "the log gives no accept length, so no decode throughput"
    if level.cuda_graph == "mixed":
        return "some samples ran with CUDA graphs and some without"
    if level.moves:
        before = level.moves[-1].cycle_ms
        steps = f" ({before:.2f} ms a step before, {level.cycle_ms:.2f} after)" if before and level.cycle_ms else ""
        return f"its speed moved while it was measured{steps}, so its samples are of two speeds"
    return None


def _fault_by_counter(life: Life, running: int) -> str | None:
    """That the server itself counted other tokens than its log says, None when it did not or cannot tell."""
    found = counter_finding(life, running)
    return None if found is None or found.state != "failed" else found.text


def _why_no_level(asked: Sequence[LevelFigures], unfit: dict[int, str], running: int | None) -> str:
    if not asked:
        return "it has no decode sample" + (f" at {running} running" if running is not None else "")
    clean = sum(level.clean for level in asked)
    if len(asked) > _LEVELS_TOLD and clean >= CLEAN_NEEDED and all(level.clean < CLEAN_NEEDED for level in asked):
        low, high = asked[0].running, asked[-1].running
        best = max(asked, key=lambda level: level.clean)
        return (
            f"its {clean} clean samples are spread over {len(asked)} levels ({low} to {high} running), none of which "
            f"has {CLEAN_NEEDED}: the most are {best.clean} at {best.running}, so {CLEAN_NEEDED - best.clean} more are "
            "needed there. Hold the number of requests steady while you measure"
        )
    told = [f"{number} running: {unfit[number]}" for number in list(unfit)[:_LEVELS_TOLD]]
    rest = f"; and {len(unfit) - _LEVELS_TOLD} levels more" if len(unfit) > _LEVELS_TOLD else ""
    return f"no level is fit: {'; '.join(told)}{rest}"


def _level(life: Life, level: LevelFigures) -> ReferenceLevel:
    assert level.decode_tok_s is not None
    interval = level.decode_tok_s_ci95
    sigma = _sigma(life, level.running)
    return ReferenceLevel(
        running=level.running,
        n=level.clean,
        tok_s=six_digits(level.decode_tok_s),
        tok_s_ci95=None if interval is None else (six_digits(interval[0]), six_digits(interval[1])),
        cycle_ms=None if level.cycle_ms is None else six_digits(level.cycle_ms),
        sigma=None if not sigma else six_digits(sigma),
        context_tokens=_context(life, level.running),
    )


def _sigma(life: Life, running: int) -> float | None:
    """Of ln(C) of each rank's clean samples; over the ranks the root mean square, as drift sees one rank at a time."""
    squares = []
    for tag in life.statistics.counted_ranks:
        level = life.statistics.level_of(tag, running)
        cycles = () if level is None else level.clean.every_cycle_ms()
        sigma = long_run_sigma([math.log(cycle) for cycle in cycles if cycle > 0])
        if sigma is not None:
            squares.append((len(cycles), sigma**2))
    if not squares:
        return None
    return math.sqrt(sum(n * square for n, square in squares) / sum(n for n, _ in squares))


def _context(life: Life, running: int) -> tuple[float, float] | None:
    levels = [life.statistics.level_of(tag, running) for tag in life.statistics.counted_ranks]
    tokens = [value for level in levels if level is not None for value in level.clean.context_tokens if value > 0]
    return (six_digits(min(tokens)), six_digits(max(tokens))) if tokens else None


def _moment(
    at: float | None, utc_offset_s: int | None, *, is_utc: bool, now: datetime | None
) -> tuple[datetime | None, str]:
    """A moment of the log with its zone as far as that is known, and whose clock it is on."""
    if at is None or not math.isfinite(at) or at < FIRST_DATED_S:
        return now, "when it was recorded, by this machine's clock: the log has no date"
    moment = datetime.fromtimestamp(int(at), UTC)
    if utc_offset_s is not None:
        zone = UTC if utc_offset_s == 0 else timezone(timedelta(seconds=utc_offset_s))
        return moment.replace(tzinfo=zone), "the newest sample, by the log's clock"
    if is_utc:
        return moment, "the newest sample, by the log's clock, which the capture says is UTC"
    return moment.replace(tzinfo=None), "the newest sample, by the log's own clock, which tells no zone"
