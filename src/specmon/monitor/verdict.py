"""The comparison of a session's two servers, as sentences with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specmon.analysis.attribution import Attribution, standing_of, words_of_change, words_of_speedup
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
from specmon.analysis.load import Band, common_band
from specmon.monitor.life import Life
from specmon.monitor.moved import moved_inside
from specmon.monitor.samegpus import same_gpus
from specmon.monitor.snapshot import Role
from specmon.shares import percent

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
    shared: str = ""  # that both worked on the same GPUs at the same time
    moved: str = ""  # that a side changed its speed within its run
    levels: tuple[Comparison, ...] = ()  # at every level that both servers ran, lowest first


def judge(
    baseline: Life,
    speculative: Life,
    *,
    engines: tuple[str | None, str | None] = (None, None),
    reference: Reference | None = None,
    running: int | Band | None = None,
    is_exact: bool = True,
    obstacles: tuple[str, ...] = (),
) -> Judged:
    """Compare the current lives of two servers at their common level, or in the band that is asked for or needed.

    `obstacles` are reasons known beforehand why no comparison of the two says anything.
    """
    figures = baseline.figures(is_exact=is_exact), speculative.figures(is_exact=is_exact)
    launches = [life.launch for life in (baseline, speculative)]
    flags = tuple(launch.flags if launch is not None else {} for launch in launches)
    are_whole = all(launch is not None and launch.is_complete for launch in launches)
    fatal = (
        *obstacles,
        *_same_log(baseline, speculative, figures),
        *_other_engine(engines),
        *fatal_differences(flags[0], flags[1], are_whole=are_whole),
    )
    pair = _pair(baseline, speculative, figures, running, is_exact=is_exact)
    if pair is None:
        comparison = Comparison("not comparable" if fatal else "cannot tell")
        reasons = fatal or (_why_no_level(*figures, running),)
        return Judged(comparison, f"{comparison.verdict}: {'; '.join(reasons)}", reasons)
    fatal = (*fatal, *graph_mismatch(*pair), *_other_ranks(baseline, speculative, pair))
    spread = reference.spread_at(pair[0].running) if reference is not None else None
    comparison = compare_levels(*pair, is_comparable=not fatal, between=spread)
    levels = tuple(
        compare_levels(level, other, is_comparable=not fatal)
        for level in figures[0].levels
        if (other := figures[1].level_at(level.running)) is not None
    )
    elsewhere = _elsewhere(comparison, levels)
    shared = same_gpus((baseline, speculative), engines, pair)
    moved = moved_inside((baseline, speculative), pair, comparison.speedup)
    reasons = (
        *fatal,
        *((moved.sentence,) if moved.sentence else ()),
        *((shared,) if shared else ()),
        *((elsewhere,) if elsewhere else ()),
        *qualifications(flags[0], flags[1], *pair),
        *_beside(baseline, speculative),
        *(
            (f"sessions of reference {reference.name} differ by {percent(spread, 1)}; the interval holds that",)
            if reference is not None and spread
            else ()
        ),
    )
    against = _against(pair[1], reference) if reference is not None else None
    sentence = ""
    if against is not None and reference is not None and (recorded := reference.level_at(pair[1].running)) is not None:
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
        sentence,
        elsewhere,
        shared,
        moved.short,
        levels,
    )


def obstacles_of(left: Role, right: Role) -> tuple[str, ...]:
    """Why two servers that were put side by side have no verdict: the left one has to be the baseline."""
    if left is right and left is not Role.UNKNOWN:
        return (f"both are {left} servers",)
    if Role.UNKNOWN in (left, right):
        return ("nothing tells yet whether both servers speculate",)
    return ("the speculative server stands as the baseline",) if left is Role.SPECULATIVE else ()


def _pair(
    baseline: Life,
    speculative: Life,
    figures: tuple[RunFigures, RunFigures],
    asked: int | Band | None,
    *,
    is_exact: bool,
) -> tuple[LevelFigures, LevelFigures] | None:
    """The two levels to compare. Where no exact one has samples enough for a verdict, a band may have."""
    band = asked if isinstance(asked, Band) else None
    exact = None
    if band is None:
        exact = common_level(figures[0], figures[1], asked if isinstance(asked, int) else None)
        if asked is not None or (exact is not None and min(level.clean for level in exact) >= SAMPLES_NEEDED):
            return exact
        band = common_band(*figures)
    if band is None:
        return exact
    wide = baseline.band(band, is_exact=is_exact), speculative.band(band, is_exact=is_exact)
    if asked is None and exact is not None and min(level.clean for level in wide) < SAMPLES_NEEDED:
        return exact
    return wide if all(level.samples for level in wide) else None


def _against(level: LevelFigures, reference: Reference) -> AgainstLevel | None:
    recorded = reference.level_at(level.running)
    if recorded is None:
        return None
    # The throughputs of a band are those of one request.
    share = 1 if level.running_range is None else recorded.running
    interval = recorded.tok_s_ci95
    return compare_with_number(
        level,
        recorded.tok_s / share,
        recorded.step_ms,
        None if interval is None else (interval[0] / share, interval[1] / share),
        reference.spread_at(level.running),
    )


def attribution_of(comparison: Comparison, baseline: Life, speculative: Life, before: Life | None = None) -> str | None:
    """Why the speed-up is what it is, and what moved since the speculative server's life `before` this one."""
    if comparison.baseline is None or comparison.speculative is None:
        return None
    step = standing_of(comparison.baseline, baseline.phases)
    cycle = standing_of(comparison.speculative, speculative.phases)
    if step is None or cycle is None:
        return None
    told = [words_of_speedup(Attribution(step, cycle))]
    if before is not None and comparison.speculative.running_range is None:
        level = before.figures().level_at(comparison.speculative.running)
        was = standing_of(level, before.phases) if level is not None and level.clean >= SAMPLES_NEEDED else None
        if was is not None and comparison.speculative.clean >= SAMPLES_NEEDED:
            told.append(f"since its run before: {words_of_change(Attribution(was, cycle))}")
    return ". ".join(told)


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


def _same_log(baseline: Life, speculative: Life, figures: tuple[RunFigures, RunFigures]) -> tuple[str, ...]:
    """One log on both sides would be told as equal, which it is."""
    is_same = figures[0].samples > 0 and figures[0] == figures[1]
    if is_same and baseline.first_sample_at == speculative.first_sample_at:
        return ("both sides hold the same samples: it is one log given twice",)
    return ()


def _other_engine(engines: tuple[str | None, str | None]) -> tuple[str, ...]:
    if None in engines or engines[0] == engines[1]:
        return ()
    return (f"the engines differ ({engines[0]} against {engines[1]})",)


def _other_ranks(baseline: Life, speculative: Life, pair: tuple[LevelFigures, LevelFigures]) -> tuple[str, ...]:
    """Sums over more ranks on one side than on the other are no ratio of two servers. A band's figures are no sums."""
    counts = [len(life.statistics.counted_ranks) for life in (baseline, speculative)]
    if counts[0] == counts[1] or pair[0].running_range is not None or not all(level.samples for level in pair):
        return ()
    return (
        f"the speeds are sums over {counts[0]} and {counts[1]} ranks (baseline, speculative): add the logs of the "
        "missing ranks, or start both servers with the same number",
    )


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
    at = f"at {load_of(comparison)}"
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
    if comparison.running_range is not None:
        speeds += " a request"
    if comparison.verdict == "faster":
        text = f"speculation decodes faster: {figure}, {speeds}"
    elif comparison.verdict == "slower":
        text = f"speculation decodes slower: {figure}, {speeds}"
    elif comparison.verdict == "equal":
        text = f"equal within 2 %: {figure}, {speeds}"
    else:
        text = f"cannot tell: {figure} holds 1; {_what_would_decide(comparison)}"
    return text + _delivery(comparison)


def load_of(comparison: Comparison) -> str:
    """ "8 running", or "29 to 35 running" for a band."""
    if comparison.running_range is None:
        return f"{comparison.running} running"
    low, high = comparison.running_range
    return f"{low} to {high} running" if low < high else f"{low} running"


def _what_would_decide(comparison: Comparison) -> str:
    if comparison.decided_by is not None:
        return f"about {comparison.decided_by:,} clean samples a side would decide"
    return "sessions of the reference differ too much for any number of samples to decide"


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
        text += f", prefill takes {percent(shares[1])} of the time (baseline {percent(shares[0])})"
    return text


def _why_no_level(baseline: RunFigures, speculative: RunFigures, running: int | Band | None) -> str:
    for name, figures in (("baseline", baseline), ("speculative", speculative)):
        if not figures.levels:
            return f"the {name} server has no decode sample yet"
    seen = [", ".join(str(level.running) for level in figures.levels) for figures in (baseline, speculative)]
    if isinstance(running, Band):
        return (
            f"not both servers ran {running.low} to {running.high} requests (baseline {seen[0]}; speculative {seen[1]})"
        )
    if running is not None:
        return f"not both servers ran {running} requests (baseline {seen[0]}; speculative {seen[1]})"
    return f"no common number of running requests (baseline {seen[0]}; speculative {seen[1]})"
