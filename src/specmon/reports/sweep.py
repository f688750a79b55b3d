"""A ranking as JSON, CSV, Markdown and text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.text import Text

from specmon import __version__
from specmon.analysis.load import Band
from specmon.analysis.sweep import Prediction
from specmon.monitor.checklist import checklist_of
from specmon.monitor.ranking import Ranking, Row, level_of, settings_of
from specmon.monitor.session import Session
from specmon.monitor.verdict import attribution_of
from specmon.references.diff import compare
from specmon.reports.comparison import comparison_model
from specmon.reports.contract import SCHEMA_VERSION, ComparisonModel, Part
from specmon.visible import visible


class SweepRow(ComparisonModel):
    """A comparison object with the setting that it is about."""

    source: str
    run: int
    runs: int
    algorithm: str | None
    num_steps: int | None
    num_draft_tokens: int | None
    topk: int | None
    draft_model: str | None
    samples: int
    clean: int
    decode_tok_s: float | None
    decode_tok_s_ci95: tuple[float, float] | None
    delivered_tok_s: float | None
    cycle_ms: float | None
    tie_with: list[str]
    more_runs: int | None


class SweepBaseline(Part):
    name: str
    source: str
    run: int
    clean: int
    decode_tok_s: float | None
    cycle_ms: float | None


class PredictionModel(Part):
    best_steps: int
    lowest: int
    highest: int
    tested: list[int]
    is_tested: bool
    cycle_base_ms: float
    cycle_per_token_ms: float
    acceptance: float
    misfit: float
    sentence: str


class SweepDocument(Part):
    """The whole answer of `compare`."""

    schema_version: Literal[1] = SCHEMA_VERSION
    specmon_version: str
    running: int | None
    running_range: tuple[int, int] | None
    baseline: SweepBaseline | None
    baselines: list[SweepBaseline]
    rows: list[SweepRow]
    prediction: PredictionModel | None
    no_prediction: str | None
    left_out: list[str]


def sweep_document(session: Session, ranking: Ranking) -> SweepDocument:
    """Everything that a ranking came to."""
    baselines = [_baseline(ranking, position) for position in range(len(ranking.baselines))]
    found = ranking.prediction
    prediction = None
    if isinstance(found, Prediction):
        prediction = PredictionModel(
            best_steps=found.best_steps,
            lowest=found.lowest,
            highest=found.highest,
            tested=list(found.tested),
            is_tested=found.is_tested,
            cycle_base_ms=found.cycle_base_ms,
            cycle_per_token_ms=found.cycle_per_token_ms,
            acceptance=found.acceptance,
            misfit=found.misfit,
            sentence=prediction_sentence(found),
        )
    return SweepDocument(
        specmon_version=__version__,
        running=ranking.load.centre if isinstance(ranking.load, Band) else ranking.load,
        running_range=(ranking.load.low, ranking.load.high) if isinstance(ranking.load, Band) else None,
        baseline=baselines[0] if baselines else None,
        baselines=baselines,
        rows=[_row(session, ranking, row) for row in ranking.rows],
        prediction=prediction,
        no_prediction=found if isinstance(found, str) else None,
        left_out=list(ranking.left_out),
    )


def _baseline(ranking: Ranking, position: int) -> SweepBaseline:
    run = ranking.baselines[position]
    level = level_of(run.life, ranking.load)
    return SweepBaseline(
        name=run.name,
        source=run.server.source,
        run=run.life.index,
        clean=level.clean if level is not None else 0,
        decode_tok_s=level.decode_tok_s if level is not None else None,
        cycle_ms=level.cycle_ms if level is not None else None,
    )


def _row(session: Session, ranking: Ranking, row: Row) -> SweepRow:
    base, run, level = ranking.baselines[0], row.runs[0], row.level
    differences = compare(base.life.conditions, run.life.conditions, is_speculation_expected=True)
    checklist = checklist_of(
        base.life,
        run.life,
        row.judged,
        trust=None if session.reference is None else session.trust_view(base.server, is_exact=True),
        differences=differences,
        # A client's result was held against the run that is judged by itself, the newest.
        clients=(
            session.clients_of(base.server.key),
            session.clients_of(run.server.key) if run.life is run.server.life else (),
        ),
        is_level_asked=session.running is not None,
    )
    why = attribution_of(row.judged.comparison, base.life, run.life)
    found = dict(comparison_model(row.judged, (base.name, run.name), differences, checklist, why))
    if row.sides is not None:
        found |= {
            "speedup": row.sides.speedup,
            "ci95": row.sides.ci95,
            "delivered_speedup": row.sides.delivered_speedup,
            "delivered_ci95": row.sides.delivered_ci95,
            "accept_len": row.sides.accept_len,
            "break_even_accept_len": row.sides.break_even_accept_len,
            "headroom": row.sides.headroom,
            "verdict": row.sides.verdict,
            "sentence": row_sentence(row),
        }
    settings = settings_of(run.life)
    return SweepRow(
        **found,
        source=run.server.source,
        run=run.life.index,
        runs=len(row.runs),
        algorithm=settings.algorithm,
        num_steps=settings.steps,
        num_draft_tokens=settings.draft_tokens,
        topk=settings.topk,
        draft_model=settings.draft_model,
        samples=sum(each.samples for each in row.members),
        clean=sum(each.clean for each in row.members),
        decode_tok_s=row.decode_tok_s,
        # What several runs come to has no interval of its own; that of the speed-up is between runs.
        decode_tok_s_ci95=level.decode_tok_s_ci95 if level is not None and not row.is_of_several else None,
        delivered_tok_s=row.delivered_tok_s,
        cycle_ms=row.cycle_ms,
        tie_with=list(row.tie_with),
        more_runs=row.more_runs,
    )


def row_sentence(row: Row) -> str:
    """The verdict with its numbers; with several runs a side these are the unit."""
    sides = row.sides
    if sides is None or sides.speedup is None or sides.ci95 is None or sides.verdict == "not comparable":
        return row.judged.sentence
    low, high = sides.ci95
    counts = f"{len(sides.baselines)} and {len(sides.speculatives)} runs (baseline, speculative)"
    text = f"{sides.verdict}: {sides.speedup:.2f}× (95 % {low:.2f} to {high:.2f} between runs) over {counts}"
    if sides.left_out:
        text += f", {sides.left_out} left out with fewer than 10 clean samples"
    if sides.more_runs is not None:
        text += f"; about {sides.more_runs} more {'run' if sides.more_runs == 1 else 'runs'} a side would decide"
    return text


def prediction_sentence(found: Prediction) -> str:
    """The best number of draft steps, how sure it is, and by what."""
    if found.lowest == found.highest:
        sure = f"no other number within {found.margin:.1%} of it"
    else:
        sure = f"{found.lowest} to {found.highest} may be as good"
    tested = ", ".join(map(str, found.tested))
    how = "a chance by position as logged" if found.is_by_position else f"a chance of {found.acceptance:.2f} a draft"
    text = (
        f"best by the fit: {found.best_steps} draft {'step' if found.best_steps == 1 else 'steps'} ({sure}); "
        f"cycle {found.cycle_base_ms:.2f} ms + {found.cycle_per_token_ms:.2f} ms a draft token, {how}, "
        f"within {found.misfit:.1%} of what was measured at {tested} steps"
    )
    if not found.is_tested:
        text += ". It was not measured: try it before you believe it"
    elif found.is_open:
        text += ". The best may lie beyond what was tried: measure longer chains"
    return text


def sweep_json(session: Session, ranking: Ranking) -> str:
    """Strict JSON, without a line end."""
    document = sweep_document(session, ranking).model_dump(mode="json", by_alias=True)
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


_CSV = (
    *("speculative", "source", "run", "runs", "algorithm", "num_steps", "num_draft_tokens", "topk", "running"),
    *("clean", "decode_tok_s", "accept_len", "cycle_ms", "break_even_accept_len", "headroom", "speedup"),
    *("ci95[0]", "ci95[1]", "delivered_speedup", "verdict", "tie_with"),
)


def sweep_csv(session: Session, ranking: Ranking) -> str:
    """One line a row; columns named as the keys of the JSON rows, an empty cell for null."""
    from specmon.reports.cells import cell

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV)
    for row in sweep_document(session, ranking).model_dump(mode="json")["rows"]:
        bounds = row["ci95"] or (None, None)
        given = {**row, "ci95[0]": bounds[0], "ci95[1]": bounds[1], "tie_with": "; ".join(row["tie_with"])}
        writer.writerow([cell(given[name]) for name in _CSV])
    return out.getvalue().rstrip("\n")


_HEADINGS = ("run", "steps", "draft", "accept", "cycle ms", "tok/s", "break-even", "speed-up", "95 %", "verdict")


def _cells(row: Row) -> tuple[str, ...]:
    settings, found = settings_of(row.runs[0].life), row.judged.comparison
    accept, even = found.accept_len, found.break_even_accept_len
    if row.sides is not None:
        accept, even = row.sides.accept_len, row.sides.break_even_accept_len
    verdict = row.verdict + (" (tie)" if row.tie_with else "")
    name = row.name if len(row.runs) == 1 else f"{row.name} ({len(row.runs)} runs)"
    return (
        name,
        _or_dash(settings.steps, "d"),
        _or_dash(settings.draft_tokens, "d"),
        _or_dash(accept, ".2f"),
        _or_dash(row.cycle_ms, ".2f"),
        _or_dash(row.decode_tok_s, ".1f"),
        _or_dash(even, ".2f"),
        _or_dash(row.speedup, ".2f", "×"),
        f"{row.ci95[0]:.2f}-{row.ci95[1]:.2f}" if row.ci95 is not None else "-",
        verdict,
    )


def _or_dash(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def sweep_markdown(ranking: Ranking) -> str:
    """A table and the sentences below it."""
    from specmon.reports.cells import markdown, markdown_table

    rows = [_cells(row) for row in ranking.rows]
    return "\n\n".join(
        [
            markdown(_opening(ranking)),
            markdown_table(_HEADINGS, rows, right=range(1, len(_HEADINGS) - 1)),
            "\n".join(f"- {markdown(line)}" for line in _closing(ranking)),
        ]
    )


def sweep_text(ranking: Ranking, console: Console) -> None:
    """The table for people, best first."""
    _say(console, _opening(ranking), "bold")
    if ranking.rows:
        table = [_HEADINGS, *(tuple(map(visible, _cells(row))) for row in ranking.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for number, cells in enumerate(table):
            _say(console, f"  {_aligned(cells, widths)}", "underline" if number == 0 else "")
    for line in _closing(ranking):
        _say(console, f"  {line}")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, numbers to the right. A line too long for the terminal is folded by it, never cut."""
    last = len(cells) - 1
    padded = [
        cell.ljust(width) if position in (0, last) else cell.rjust(width)
        for position, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), soft_wrap=True)


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


def _closing(ranking: Ranking) -> Sequence[str]:
    lines = []
    best = ranking.rows[0] if ranking.rows else None
    if best is not None and best.tie_with and best.speedup is not None:
        lines.append(f"{best.name} ties with {', '.join(best.tie_with)}: their intervals overlap")
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
