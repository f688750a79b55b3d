"""One CSV line a level, for spreadsheets and scripts; columns are named as the paths in the JSON document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TypeAlias

from specmon.monitor.session import Session
from specmon.reports.cells import cell
from specmon.reports.contract import LevelModel, RunModel, ServerModel, ThroughputModel
from specmon.reports.document import document_of

_SERVER = ("name", "source", "stream", "role", "engine")
_RUN = ("index", "state", "started_at", "ready_at", "first_sample_at", "last_sample_at", "speculation")
_LAUNCH = (
    *("engine_version", "model", "tp_size", "dp_size", "pp_size", "speculative_algorithm", "num_steps"),
    *("num_draft_tokens", "topk", "draft_model", "decode_log_interval"),
)
_SPREAD = tuple(ThroughputModel.model_fields)
_LEVEL = tuple(name for name in LevelModel.model_fields if name not in ("tok_s", "accept_by_position"))
_AT = "servers[].runs[]"
_Row: TypeAlias = dict[str, object]


def to_csv(session: Session) -> str:
    """All levels of all runs, without a last line end; an empty cell for null."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(_columns())
    writer.writerow(columns)
    for server in document_of(session).servers:
        for run in server.runs:
            for level in run.decode.levels:
                row = _row(server, run, level)
                writer.writerow([cell(row[column]) for column in columns])
    return out.getvalue().rstrip("\n")


def _columns() -> Iterator[str]:
    yield from (f"servers[].{name}" for name in _SERVER)
    yield from (f"{_AT}.{name}" for name in _RUN)
    yield from (f"{_AT}.launch.{name}" for name in _LAUNCH)
    for name in _LEVEL:
        yield from _named(f"{_AT}.decode.levels[].{name}", name)
    for name in _SPREAD:
        yield from _named(f"{_AT}.decode.levels[].tok_s.{name}", name)


def _named(path: str, name: str) -> list[str]:
    return [f"{path}[0]", f"{path}[1]"] if name.endswith("ci95") else [path]


def _row(server: ServerModel, run: RunModel, level: LevelModel) -> _Row:
    row: _Row = {f"servers[].{name}": getattr(server, name) for name in _SERVER}
    row |= {f"{_AT}.{name}": getattr(run, name) for name in _RUN}
    row |= {f"{_AT}.launch.{name}": getattr(run.launch, name) for name in _LAUNCH}
    for name in _LEVEL:
        row |= _cells(f"{_AT}.decode.levels[].{name}", name, getattr(level, name))
    for name in _SPREAD:
        row |= _cells(f"{_AT}.decode.levels[].tok_s.{name}", name, getattr(level.tok_s, name))
    return row


def _cells(path: str, name: str, value: object) -> _Row:
    paths = _named(path, name)
    if len(paths) == 1:
        return {path: value}
    low, high = value if isinstance(value, tuple) else (None, None)
    return {paths[0]: low, paths[1]: high}
