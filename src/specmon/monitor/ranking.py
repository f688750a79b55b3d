"""A sweep: many speculative runs against one baseline, ranked by speed-up at one number of running requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specmon.analysis.comparison import SAMPLES_NEEDED
from specmon.analysis.figures import LevelFigures
from specmon.analysis.load import Band
from specmon.analysis.sides import SidesComparison, compare_sides
from specmon.analysis.sweep import Prediction, SweepPoint, predict
from specmon.monitor.server import ServerMonitor
from specmon.monitor.sweepruns import (
    OF_BASELINES,
    OF_RUNS,
    Disagreement,
    Run,
    disagreement,
    geometric_mean,
    grouped,
    level_of,
    repeats,
    settings_of,
    why_no_row,
)
from specmon.monitor.verdict import Judged, judge

if TYPE_CHECKING:
    from specmon.references.model import Reference


@dataclass(frozen=True, slots=True)
class Row:
    """One setting against the baseline. `judged` is by the first run of each side, `sides` by all runs."""

    runs: tuple[Run, ...]
    judged: Judged
    sides: SidesComparison | None  # None: one run a side, so `judged` says it all
    level: LevelFigures | None  # of the first run, at the level that is compared
    tie_with: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.runs[0].name

    @property
    def speedup(self) -> float | None:
        """By all runs."""
        return self.sides.speedup if self.sides is not None else self.judged.comparison.speedup

    @property
    def ci95(self) -> tuple[float, float] | None:
        """By all runs."""
        return self.sides.ci95 if self.sides is not None else self.judged.comparison.ci95

    @property
    def verdict(self) -> str:
        """By all runs."""
        return self.sides.verdict if self.sides is not None else self.judged.comparison.verdict

    @property
    def cycle_ms(self) -> float | None:
        """Of several runs the mean, which the break-even is made from."""
        return _mean(self.members, lambda each: each.cycle_ms)

    @property
    def decode_tok_s(self) -> float | None:
        """Of several runs the geometric mean, which the speed-up is made from."""
        return _geometric_mean(self.members, lambda each: each.decode_tok_s)

    @property
    def delivered_tok_s(self) -> float | None:
        """Likewise."""
        return _geometric_mean(self.members, lambda each: each.delivered_tok_s)

    @property
    def is_of_several(self) -> bool:
        """The row's own figures are those of several runs."""
        return self.sides is not None and len(self.sides.speculatives) > 1

    @property
    def members(self) -> Sequence[LevelFigures]:
        """The runs that the row's own figures are of."""
        if self.sides is not None and self.is_of_several:
            return self.sides.speculatives
        return () if self.level is None else (self.level,)

    @property
    def more_runs(self) -> int | None:
        """How many more runs a side would decide; None when it is decided, or when nobody can say."""
        return self.sides.more_runs if self.sides is not None else None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All rows, best first, and what they say about the number of draft steps."""

    baselines: tuple[Run, ...]
    load: int | Band | None  # at which all are compared
    rows: tuple[Row, ...]
    prediction: Prediction | str  # or why there is none
    left_out: tuple[str, ...] = ()  # runs that are no row, with the reason
    notices: tuple[Disagreement, ...] = ()  # runs of one setting that contradict one another


def rank(
    baselines: Sequence[ServerMonitor],
    speculatives: Sequence[ServerMonitor],
    names: dict[str, str],
    *,
    load: int | Band | None = None,
    run: int | None = None,
    reference: Reference | None = None,
) -> Ranking:
    """Compare every run of the speculative servers with the newest run of the baselines.

    `run` narrows each speculative log to that one of its lives. Runs of the same settings are one row, unless their
    speeds contradict one another; of baselines that do, those that agree with the first count.
    """
    base = tuple(Run(server, server.life, names[server.key]) for server in baselines if server.life is not None)
    left_out: list[str] = []
    candidates: list[Run] = []
    for server in speculatives:
        for life in server.lives:
            if run is not None and life.index != run:
                continue
            name = names[server.key] + (f" run {life.index}" if len(server.lives) > 1 else "")
            if (reason := why_no_row(server, life)) is not None:
                left_out.append(f"{name}: {reason}")
            else:
                candidates.append(Run(server, life, name))
    groups = grouped(candidates)
    if load is None:
        load = _common_level(base, groups)
    notices: list[Disagreement] = []
    if base:
        series = repeats(base, load)
        if len(series) > 1:
            notices.append(disagreement(series, load, OF_BASELINES))
            base = tuple(series[0])
    pooled = []
    for group in groups:
        series = repeats(group, load)
        if len(series) > 1:
            notices.append(disagreement(series, load, OF_RUNS))
        pooled += series
    rows = [_row(base, group, load, reference) for group in pooled] if base else []
    rows.sort(key=lambda row: -row.speedup if row.speedup is not None else float("inf"))
    rows = [replace(row, tie_with=_ties(row, rows)) for row in rows]
    return Ranking(
        base, load, tuple(rows), predict([_point(row) for row in rows]), tuple(left_out), tuple(notices) if base else ()
    )


def _common_level(baselines: Sequence[Run], groups: Sequence[Sequence[Run]]) -> int | None:
    """The B that most rows can be judged at; ratios at different loads are no ranking."""
    levels = {level.running for run in baselines for level in run.life.figures().levels}

    def weight(running: int) -> tuple[int, int, int]:
        base = min(_clean(run, running) for run in baselines)
        counts = [min(base, max(_clean(run, running) for run in group)) for group in groups]
        return sum(count >= SAMPLES_NEEDED for count in counts), sum(counts), -running

    return max(levels, key=weight, default=None)


def _clean(run: Run, running: int) -> int:
    level = run.life.figures().level_at(running)
    return 0 if level is None else level.clean


def _row(baselines: Sequence[Run], group: Sequence[Run], load: int | Band | None, reference: Reference | None) -> Row:
    first, base = group[0], baselines[0]
    judged = judge(
        base.life,
        first.life,
        engines=(base.server.engine, first.server.engine),
        reference=reference,
        running=load,
    )
    sides = None
    if len(baselines) + len(group) > 2:
        sides = compare_sides(
            _levels(baselines, load),
            _levels(group, load),
            is_comparable=judged.comparison.verdict != "not comparable",
        )
    return Row(tuple(group), judged, sides, level_of(first.life, load))


def _levels(runs: Sequence[Run], load: int | Band | None) -> list[LevelFigures]:
    return [level for run in runs if (level := level_of(run.life, load)) is not None]


def _ties(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    """The rows whose intervals overlap with this one's, the best first. What is not comparable ties with nothing."""
    own = _ranked_interval(row)
    if own is None:
        return ()
    return tuple(
        other.name
        for other in rows
        if other is not row
        and (ci95 := _ranked_interval(other)) is not None
        and own[0] <= ci95[1]
        and ci95[0] <= own[1]
    )


def _ranked_interval(row: Row) -> tuple[float, float] | None:
    return None if row.verdict == "not comparable" else row.ci95


def _point(row: Row) -> SweepPoint:
    settings, level = settings_of(row.runs[0].life), row.level
    return SweepPoint(
        steps=settings.steps,
        draft_tokens=settings.draft_tokens,
        topk=settings.topk,
        drafter=(settings.algorithm, settings.draft_model),
        cycle_ms=row.cycle_ms,
        accept_len=_mean(row.members, lambda each: each.accept_len),
        by_position=(level.accept_by_position or ()) if level is not None else (),
    )


def _mean(levels: Sequence[LevelFigures], figure: Callable[[LevelFigures], float | None]) -> float | None:
    known = [value for level in levels if (value := figure(level)) is not None]
    return sum(known) / len(known) if known else None


def _geometric_mean(levels: Sequence[LevelFigures], figure: Callable[[LevelFigures], float | None]) -> float | None:
    if len(levels) == 1:
        return figure(levels[0])
    known = [value for level in levels if (value := figure(level))]
    return geometric_mean(known) if known else None
