"""The runs of a sweep: how each drafts, and which of them are repeats of one setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from specmon.analysis.figures import LevelFigures
from specmon.analysis.load import Band
from specmon.analysis.repeats import series_of
from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role
from specmon.references.diff import compare


@dataclass(frozen=True, slots=True)
class Run:
    """One life of a server, as one run of a side."""

    server: ServerMonitor
    life: Life
    name: str  # the server's, with the number of the run when its log holds several


@dataclass(frozen=True, slots=True)
class Disagreement:
    """That runs of one setting are of different speeds. `kind` is part of the JSON contract, `text` is for people."""

    kind: str  # "runs_disagree", "baselines_disagree"
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run drafts, as far as its log tells."""

    algorithm: str | None = None
    steps: int | None = None
    draft_tokens: int | None = None  # the bonus position included
    topk: int | None = None
    draft_model: str | None = None


def settings_of(life: Life) -> Settings:
    """By the launch line, else by what the statistics lines show of k."""
    launch, steps = life.launch, life.draft_steps
    positions = None if steps is None else steps + 1
    if launch is None:
        return Settings(steps=steps, draft_tokens=positions)
    return Settings(
        algorithm=launch.algorithm,
        steps=launch.num_steps if launch.num_steps is not None else steps,
        draft_tokens=launch.num_draft_tokens if launch.num_draft_tokens is not None else positions,
        topk=launch.number("speculative_eagle_topk"),
        draft_model=launch.draft_model,
    )


def level_of(life: Life, load: int | Band | None) -> LevelFigures | None:
    """A run's figures at one level or over a band (then those of one request); None when it has no sample there."""
    if load is None:
        return None
    if isinstance(load, int):
        return life.figures().level_at(load)
    wide = life.band(load)
    return wide if wide.samples else None


def why_no_row(server: ServerMonitor, life: Life) -> str | None:
    """Why a run is no row of a sweep; None when it is one."""
    is_baseline = life.role is Role.BASELINE and server.declared is not Role.SPECULATIVE
    if is_baseline:
        return "it runs without speculation; name its log with --baseline to compare with it"
    if not life.figures().clean:
        return "no clean sample"
    return None


def grouped(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of the same settings and conditions, in the order in which the first of each was given."""
    groups: list[list[Run]] = []
    for each in runs:
        group = next((group for group in groups if _are_alike(group[0], each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return groups


def _are_alike(left: Run, right: Run) -> bool:
    """Two runs of one setting; runs whose settings are not known are rows of their own."""
    launches = left.life.launch, right.life.launch
    if launches[0] is None or launches[1] is None or left.server.engine != right.server.engine:
        return False
    if launches[0].model != launches[1].model or settings_of(left.life) != settings_of(right.life):
        return False
    differences = compare(left.life.conditions, right.life.conditions)
    return all(difference.weight != "matters" for difference in differences)


OF_RUNS = "runs_disagree", "have the same settings but not the same speed", "they are rows of their own"
OF_BASELINES = (
    "baselines_disagree",
    "are both baselines but not of one speed",
    "only those that agree with the first one count",
)
_CAUSES = "Look for what else differed: the prompts, other work on the GPU, its clocks, the environment."


def repeats(runs: Sequence[Run], load: int | Band | None) -> list[list[Run]]:
    """Runs of one setting, parted where their speeds contradict one another; that of the first run comes first."""
    found = series_of([level_of(run.life, load) for run in runs])
    return [[runs[at] for at in each] for each in found]


def disagreement(series: Sequence[Sequence[Run]], load: int | Band | None, words: tuple[str, str, str]) -> Disagreement:
    """That runs are not pooled, with what they are made of and the words for what they are."""
    told, speeds = [], []
    for runs in series:
        levels = [level for run in runs if (level := level_of(run.life, load)) and level.decode_tok_s]
        speeds.append(geometric_mean([level.decode_tok_s for level in levels if level.decode_tok_s]))
        parts = [f"{speeds[-1]:.1f} tok/s"]
        if (accepts := [level.accept_len for level in levels if level.accept_len]) and max(accepts) > 1:
            parts.append(f"accept length {geometric_mean(accepts):.2f}")
        if cycles := [level.cycle_ms for level in levels if level.cycle_ms]:
            parts.append(f"cycle {geometric_mean(cycles):.2f} ms")
        told.append(f"{', '.join(run.name for run in runs)} ({', '.join(parts)})")
    kind, what, follows = words
    at = f" at {load} running" if load is not None else ""
    return Disagreement(
        kind,
        f"{' and '.join(told)} {what}{at}: they lie {max(speeds) / min(speeds):.2f}× apart, beyond their noise and "
        f"what runs differ by, so {follows}. {_CAUSES}",
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values, at least one."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))
