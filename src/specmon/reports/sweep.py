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
from specmon.monitor.ranking import Ranking, Row
from specmon.monitor.session import Session
from specmon.monitor.sweepruns import level_of, settings_of
from specmon.monitor.sweepview import SWEEP_HEADINGS, SweepView, tie_text
from specmon.monitor.sweepwords import prediction_sentence, row_sentence, sweep_view
from specmon.monitor.verdict import attribution_of
from specmon.references.diff import compare
from specmon.reports.comparison import comparison_model
from specmon.reports.contract import SCHEMA_VERSION, ComparisonModel, NoticeModel, Part
from specmon.visible import visible

_TIES = "ties with"


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
    notices: list[NoticeModel]


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
        notices=[NoticeModel(kind=notice.kind, text=notice.text) for notice in ranking.notices],
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


def sweep_markdown(ranking: Ranking) -> str:
    """A table and the sentences below it."""
    from specmon.reports.cells import markdown, markdown_table

    view = sweep_view(ranking)
    headings, *rows = _table(view)
    return "\n\n".join(
        [
            markdown(view.opening),
            markdown_table(headings, rows, right=[at for at in range(len(headings)) if not _is_words(headings[at])]),
            "\n".join(f"- {markdown(line)}" for line in view.notes),
        ]
    )


def sweep_text(ranking: Ranking, console: Console) -> None:
    """The table for people, best first."""
    view = sweep_view(ranking)
    _say(console, view.opening, "bold")
    if view.lines:
        table = [tuple(map(visible, cells)) for cells in _table(view)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for number, cells in enumerate(table):
            _say(console, f"  {_aligned(cells, widths, table[0])}", "underline" if number == 0 else "")
    for line in view.notes:
        _say(console, f"  {line}")


def _table(view: SweepView) -> list[tuple[str, ...]]:
    """Headings and rows; where rows tie, they are numbered and say with which."""
    if not view.has_ties:
        return [SWEEP_HEADINGS, *(line.cells for line in view.lines)]
    return [
        ("#", *SWEEP_HEADINGS, _TIES),
        *((str(line.place), *line.cells, tie_text(line) or "-") for line in view.lines),
    ]


def _is_words(heading: str) -> bool:
    return heading in (SWEEP_HEADINGS[0], SWEEP_HEADINGS[-1], _TIES)


def _aligned(cells: Sequence[str], widths: Sequence[int], headings: Sequence[str]) -> str:
    """Words to the left, numbers to the right. A line too long for the terminal is folded by it, never cut."""
    padded = [
        cell.ljust(width) if _is_words(heading) else cell.rjust(width)
        for cell, width, heading in zip(cells, widths, headings, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), soft_wrap=True)
