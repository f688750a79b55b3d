"""The comparison of a session's two servers, as sentences with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specmon.analysis.comparability import fatal_differences, graph_mismatch, is_same_load, qualifications
from specmon.analysis.comparison import (
    EQUAL_BAND,
    SAMPLES_NEEDED,
    AgainstLevel,
    Comparison,
    common_level,
    compare_levels,
    compare_with_number,
)
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.monitor.life import Life

if TYPE_CHECKING:
    from specmon.references.model import Reference


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison with everything that a reader needs beside it."""

    comparison: Comparison
    sentence: str
    reasons: tuple[str, ...] = ()
    same_load: bool | None = None
    against: AgainstLevel | None = None
    against_sentence: str = ""
    elsewhere: str = ""  # what another level says, when it contradicts this one
    levels: tuple[Comparison, ...] = ()  # at every level that both servers ran, lowest first


def judge(
    baseline: Life,
    speculative: Life,
    *,
    engines: tuple[str | None, str | None] = (None, None),
    reference: Reference | None = None,
    running: int | None = None,
    is_exact: bool = True,
) -> Judged:
    """Compare the current lives of two servers at their common level."""
    figures = baseline.figures(is_exact=is_exact), speculative.figures(is_exact=is_exact)
    flags = tuple(life.launch.flags if life.launch is not None else {} for life in (baseline, speculative))
    fatal = (*_other_engine(engines), *fatal_differences(flags[0], flags[1]))
    pair = common_level(*figures, running)
    if pair is None:
        comparison = Comparison("not comparable" if fatal else "cannot tell")
        reasons = fatal or (_why_no_level(*figures, running),)
        return Judged(comparison, f"{comparison.verdict}: {'; '.join(reasons)}", reasons)
    fatal = (*fatal, *graph_mismatch(*pair))
    comparison = compare_levels(*pair, is_comparable=not fatal)
    levels = tuple(
        compare_levels(level, other, is_comparable=not fatal)
        for level in figures[0].levels
        if (other := figures[1].level_at(level.running)) is not None
    )
    elsewhere = _elsewhere(comparison, levels)
    reasons = (
        *fatal,
        *((elsewhere,) if elsewhere else ()),
        *qualifications(flags[0], flags[1], *pair),
        *_beside(baseline, speculative),
    )
    against = sentence = None
    if reference is not None and (recorded := reference.level_at(pair[0].running)) is not None:
        against = compare_with_number(pair[1], recorded.tok_s, recorded.step_ms, recorded.tok_s_ci95)
        if against is not None:
            sentence = (
                f"{against.speedup:.2f}× against reference {reference.name} ({recorded.tok_s:.1f} tok/s), "
                f"break-even {against.break_even_accept_len:.2f}"
            )
    return Judged(
        comparison,
        sentence_of(comparison, fatal) + (f"; {elsewhere}" if elsewhere and not fatal else ""),
        reasons,
        is_same_load(*pair),
        against,
        sentence or "",
        elsewhere,
        levels,
    )


def _elsewhere(here: Comparison, levels: tuple[Comparison, ...]) -> str:
    """The best known other level, when it tells another story than the one that is compared."""
    told = [level for level in levels if level.baseline is not here.baseline and _contradicts(here, level)]
    level = max(told, key=lambda level: min(side.samples for side in _sides(level)), default=None)
    if level is None or level.baseline is None:
        return ""
    figures = []
    if level.speedup is not None:
        figures.append(f"decodes {level.speedup:.2f}×")
    if level.delivered_speedup is not None:
        figures.append(f"delivers {level.delivered_speedup:.2f}×")
    fewest = min(side.clean for side in _sides(level))
    few = "" if fewest >= SAMPLES_NEEDED else f" ({fewest} clean samples on one side)"
    return f"at {level.baseline.running} running it {' and '.join(figures)}{few}"


def _contradicts(here: Comparison, there: Comparison) -> bool:
    if here.speedup is None or min((side.samples for side in _sides(there)), default=0) < SAMPLES_NEEDED:
        return False
    others = [factor for factor in (there.speedup, there.delivered_speedup) if factor is not None]
    return any((factor > 1) != (here.speedup > 1) and not EQUAL_BAND[0] <= factor <= EQUAL_BAND[1] for factor in others)


def _sides(comparison: Comparison) -> tuple[LevelFigures, ...]:
    return tuple(side for side in (comparison.baseline, comparison.speculative) if side is not None)


def _other_engine(engines: tuple[str | None, str | None]) -> tuple[str, ...]:
    if None in engines or engines[0] == engines[1]:
        return ()
    return (f"the engines differ ({engines[0]} against {engines[1]})",)


def _beside(baseline: Life, speculative: Life) -> tuple[str, ...]:
    """What the two servers say of themselves that a reader needs beside the figures."""
    found = []
    versions = [life.launch.version if life.launch is not None else None for life in (baseline, speculative)]
    if None not in versions and versions[0] != versions[1]:
        found.append(f"the engine versions differ ({versions[0]} and {versions[1]})")
    if speculative.caveat is not None:
        found.append(speculative.caveat)
    return tuple(found)


def sentence_of(comparison: Comparison, fatal: tuple[str, ...] = ()) -> str:
    """One sentence with its numbers, for every verdict."""
    baseline, speculative = comparison.baseline, comparison.speculative
    if fatal:
        return f"not comparable: {'; '.join(fatal)}"
    if baseline is None or speculative is None:
        return "cannot tell: no common level"
    at = f"at {baseline.running} running"
    if min(baseline.clean, speculative.clean) < SAMPLES_NEEDED:
        return (
            f"cannot tell {at}: {baseline.clean} and {speculative.clean} clean samples (baseline, speculative), "
            f"{SAMPLES_NEEDED} a side are needed{_apparent(comparison)}"
        )
    if comparison.speedup is None or comparison.ci95 is None:
        return f"cannot tell {at}: no cycle time on one side{_delivery(comparison)}"
    low, high = comparison.ci95
    figure = f"{comparison.speedup:.2f}× (95 % {low:.2f} to {high:.2f}) {at}"
    speeds = f"{speculative.decode_tok_s:.1f} against {baseline.decode_tok_s:.1f} tok/s"
    if comparison.verdict == "faster":
        text = f"speculation decodes faster: {figure}, {speeds}"
    elif comparison.verdict == "slower":
        text = f"speculation decodes slower: {figure}, {speeds}"
    elif comparison.verdict == "equal":
        text = f"equal within 2 %: {figure}, {speeds}"
    else:
        text = f"cannot tell: {figure} holds 1; about {comparison.decided_by:,} clean samples a side would decide"
    return text + _delivery(comparison)


def _apparent(comparison: Comparison) -> str:
    if comparison.speedup is None:
        return ""
    return f" (so far {comparison.speedup:.2f}×{_delivery(comparison)})"


def _delivery(comparison: Comparison) -> str:
    """Where delivery tells another story than decoding, with the prefill share as the reason."""
    if not comparison.is_delivery_different or comparison.delivered_speedup is None:
        return ""
    shares = [
        level.prefill_share if level is not None else None for level in (comparison.baseline, comparison.speculative)
    ]
    text = f"; delivered only {comparison.delivered_speedup:.2f}×"
    if comparison.speedup is not None and comparison.delivered_speedup > comparison.speedup:
        text = f"; delivered {comparison.delivered_speedup:.2f}×"
    if shares[0] is not None and shares[1] is not None:
        text += f", prefill takes {shares[1]:.0%} of the time (baseline {shares[0]:.0%})"
    return text


def _why_no_level(baseline: RunFigures, speculative: RunFigures, running: int | None) -> str:
    for name, figures in (("baseline", baseline), ("speculative", speculative)):
        if not figures.levels:
            return f"the {name} server has no decode sample yet"
    seen = [", ".join(str(level.running) for level in figures.levels) for figures in (baseline, speculative)]
    if running is not None:
        return f"not both servers ran {running} requests (baseline {seen[0]}; speculative {seen[1]})"
    return f"no common number of running requests (baseline {seen[0]}; speculative {seen[1]})"
