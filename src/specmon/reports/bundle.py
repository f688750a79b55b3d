"""A session as a set of files: the report with its charts, the document, the levels and every sample."""

from __future__ import annotations

import csv
import io

from specmon.analysis.buckets import MEASURES as MEASURES_HELD
from specmon.monitor.held import HeldSamples
from specmon.monitor.session import Session
from specmon.monitor.snapshot import ServerView, Snapshot
from specmon.reports.cells import cell
from specmon.reports.chart import MEASURES, chart_svg
from specmon.reports.document import to_json
from specmon.reports.levels import to_csv
from specmon.reports.pages import to_markdown
from specmon.reports.times import stamp

_SAMPLE = ("server", "role", "at", "tok_s", "running", "accept_len", "cycle_ms", "excluded")


def bundle_of(session: Session, snapshot: Snapshot) -> dict[str, str]:
    """The text of each file by its name.

    `report.md` for people, with the charts beside it; `summary.json` as `summary --format json` prints it;
    `levels.csv`, one row a level; `samples.csv`, one row for each sample that is still held; `past.csv`, one row for
    each bucket of older ones, where there are any.
    """
    views = [view for view in (snapshot.baseline, snapshot.speculative, *snapshot.others) if view is not None]
    charts = {measure: chart_svg(measure, views) for measure in MEASURES}
    files = {f"{measure.name}.svg": svg for measure, svg in charts.items() if svg is not None}
    pictures = [f"![{measure.title}]({measure.name}.svg)" for measure, svg in charts.items() if svg is not None]
    report = "\n\n".join([to_markdown(session), *(["### Over time", *pictures] if pictures else [])])
    return {
        "report.md": f"{report}\n",
        "summary.json": f"{to_json(session)}\n",
        "levels.csv": f"{to_csv(session)}\n",
        "samples.csv": _samples(views),
        **({"past.csv": past} if (past := _past(views)) else {}),
        **{name: f"{svg}\n" for name, svg in files.items()},
    }


def _samples(views: list[ServerView]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_SAMPLE)
    for view in views:
        for point in view.points:
            row = (point.tok_s, point.running, point.accept_len, point.cycle_ms, point.excluded)
            writer.writerow(map(cell, (view.name, view.role.value, stamp(point.at) or point.at, *row)))
    return out.getvalue()


def _past(views: list[ServerView]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = [f"{name}_{which}" for name in MEASURES_HELD for which in ("least", "median", "greatest")]
    writer.writerow(("server", "role", "from", "seconds", "running", "left_out", "samples", *figures))
    rows = 0
    for view in views:
        for row in HeldSamples.of(view.points).stretches():
            told = [value for name in MEASURES_HELD for value in getattr(row, name) or (None, None, None)]
            of = (row.end - row.start, row.running, row.rule, row.count)
            writer.writerow(map(cell, (view.name, view.role.value, stamp(row.start) or row.start, *of, *told)))
            rows += 1
    return out.getvalue() if rows else ""
