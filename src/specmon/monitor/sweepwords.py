"""A ranking in words: the cells of its table, and the sentences over and under it."""

from __future__ import annotations

from specmon.analysis.comparison import Comparison
from specmon.analysis.load import Band
from specmon.analysis.sweep import Prediction
from specmon.monitor.ranking import Ranking, Row
from specmon.monitor.sweepruns import level_of, settings_of
from specmon.monitor.sweepview import SweepLine, SweepView
from specmon.shares import percent


def row_sentence(row: Row) -> str:
    """The verdict with its numbers; with several runs a side these are the unit."""
    sides = row.sides
    if sides is None or sides.speedup is None or sides.ci95 is None or sides.verdict == "not comparable":
        return row.judged.sentence
    low, high = sides.ci95
    counts = f"{len(sides.baselines)} and {len(sides.speculatives)} runs (baseline, speculative)"
    of_what = "between runs" if sides.are_runs_the_unit else "within these two runs"
    text = f"{sides.verdict}: {sides.speedup:.2f}× (95 % {low:.2f} to {high:.2f} {of_what}) over {counts}"
    if sides.left_out:
        text += f", {sides.left_out} left out with fewer than 10 clean samples"
    if sides.more_runs is not None:
        text += f"; about {sides.more_runs} more {'run' if sides.more_runs == 1 else 'runs'} a side would decide"
    return text


def prediction_sentence(found: Prediction) -> str:
    """The best number of draft steps, how sure it is, and by what."""
    if found.lowest == found.highest:
        sure = f"no other number within {percent(found.margin, 1)} of it"
    else:
        sure = f"{found.lowest} to {found.highest} may be as good"
    tested = ", ".join(map(str, found.tested))
    how = "a chance by position as logged" if found.is_by_position else f"a chance of {found.acceptance:.2f} a draft"
    text = (
        f"best by the fit: {found.best_steps} draft {'step' if found.best_steps == 1 else 'steps'} ({sure}); "
        f"cycle {found.cycle_base_ms:.2f} ms + {found.cycle_per_token_ms:.2f} ms a draft token, {how}, "
        f"within {percent(found.misfit, 1)} of what was measured at {tested} steps"
    )
    if not found.is_tested:
        text += ". It was not measured: try it before you believe it"
    elif found.is_open:
        text += ". The best may lie beyond what was tried: measure longer chains"
    return text


def sweep_view(ranking: Ranking) -> SweepView:
    """The ranking, ready to be shown."""
    places = {row.name: place for place, row in enumerate(ranking.rows, start=1)}
    lines = tuple(
        SweepLine(
            places[row.name],
            _cells(row),
            row.verdict,
            row_sentence(row),
            tuple(sorted(places[name] for name in row.tie_with)),
        )
        for row in ranking.rows
    )
    return SweepView(_opening(ranking), lines, tuple(_notes(ranking)))


def _cells(row: Row) -> tuple[str, ...]:
    settings, found = settings_of(row.runs[0].life), row.judged.comparison
    accept, even = found.accept_len, found.break_even_accept_len
    if row.sides is not None:
        accept, even = row.sides.accept_len, row.sides.break_even_accept_len
    return (
        row.name if len(row.runs) == 1 else f"{row.name} ({len(row.runs)} runs)",
        _or_dash(settings.steps, "d"),
        _or_dash(settings.draft_tokens, "d"),
        _or_dash(accept, ".2f"),
        _or_dash(row.cycle_ms, ".2f"),
        _or_dash(row.decode_tok_s, ".1f"),
        _or_dash(even, ".2f"),
        _or_dash(row.speedup, ".2f", "×"),
        f"{row.ci95[0]:.2f}-{row.ci95[1]:.2f}" if row.ci95 is not None else "-",
        row.verdict,
    )


def level_cells(found: Comparison) -> tuple[str, ...]:
    """One number of running requests of a pair, as LEVEL_HEADINGS."""
    base, spec = found.baseline, found.speculative
    running = base.running if base is not None else spec.running if spec is not None else None
    counts = [f"{level.clean}" if level is not None else "0" for level in (base, spec)]
    return (
        _or_dash(running, "d"),
        " / ".join(counts),
        _or_dash(base.decode_tok_s if base is not None else None, ".1f"),
        _or_dash(spec.decode_tok_s if spec is not None else None, ".1f"),
        _or_dash(found.accept_len, ".2f"),
        _or_dash(spec.cycle_ms if spec is not None else None, ".2f"),
        _or_dash(found.break_even_accept_len, ".2f"),
        _or_dash(found.speedup, ".2f", "×"),
        f"{found.ci95[0]:.2f}-{found.ci95[1]:.2f}" if found.ci95 is not None else "-",
        found.verdict,
    )


def _or_dash(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def _opening(ranking: Ranking) -> str:
    count = len(ranking.rows)
    if not ranking.baselines:
        return "No ranking: the baseline's log holds no server."
    if not count:
        return "No ranking: no speculative run has a clean sample."
    names = ", ".join(run.name for run in ranking.baselines)
    load = ranking.load
    at = f"at {load} running" if load is not None else "without a common level"
    if isinstance(load, Band):
        at = f"at {load.low} to {load.high} running, by the request"
    levels = [level_of(run.life, load) for run in ranking.baselines]
    speeds = ", ".join(f"{level.decode_tok_s:.1f}" for level in levels if level is not None and level.decode_tok_s)
    known = f"{speeds} tok/s" if speeds else "no speed"
    return f"{count} {'setting' if count == 1 else 'settings'} against {names} ({known}) {at}"


def _notes(ranking: Ranking) -> list[str]:
    lines = [notice.text for notice in ranking.notices]
    best = ranking.rows[0] if ranking.rows else None
    if best is not None and best.tie_with and best.speedup is not None:
        lines.append(
            f"{best.name} ties with {', '.join(best.tie_with)}: their intervals overlap, so their order is not known"
        )
    for row in ranking.rows:
        if row.sides is not None or row.verdict in ("cannot tell", "not comparable"):
            lines.append(f"{row.name}: {row_sentence(row)}")
    if any(len(row.runs) == 1 for row in ranking.rows) and len(ranking.baselines) == 1:
        lines.append(
            "the intervals hold the noise within these runs only; repeat them (A B A B) to see how far runs differ"
        )
    found = ranking.prediction
    lines.append(prediction_sentence(found) if isinstance(found, Prediction) else f"no best number of steps: {found}")
    lines += [f"left out: {line}" for line in ranking.left_out]
    return lines
