"""Fills the JSON document from a session."""

from __future__ import annotations

import json
from collections.abc import Mapping

from specmon import __version__
from specmon.analysis.countertimes import CounterTotals
from specmon.analysis.figures import LevelFigures, PhaseFigures, RunFigures
from specmon.events import Json
from specmon.monitor.launch import Launch
from specmon.monitor.life import Life
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.reports.comparison import comparison_of, reference_of
from specmon.reports.contract import (
    CountersModel,
    DecodeModel,
    Document,
    EventModel,
    ExcludedModel,
    LaunchModel,
    LevelModel,
    LinesModel,
    NoticeModel,
    PhaseLevelModel,
    PhasesModel,
    PrefillModel,
    RunModel,
    ServerModel,
    ThroughputModel,
)
from specmon.reports.times import stamp


def document_of(session: Session) -> Document:
    """Everything that a session came to."""
    names = session.names()
    return Document(
        specmon_version=__version__,
        notices=[NoticeModel(kind=notice.kind, text=notice.text) for notice in session.notices()],
        servers=[_server(session, server, names[server.key]) for server in session.servers],
        comparison=comparison_of(session),
        reference=reference_of(session),
    )


def to_json(session: Session) -> str:
    """The document as strict JSON text, without a line end."""
    document = document_of(session).model_dump(mode="json", by_alias=True)
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _server(session: Session, server: ServerMonitor, name: str) -> ServerModel:
    notices = notices_of(server, is_finished=session.is_finished)
    return ServerModel(
        name=name,
        source=server.source,
        stream=server.stream,
        role=server.role.value,
        engine=server.engine,
        lines=LinesModel(total=server.lines, samples=server.samples, unparsed=server.unparsed),
        notices=[NoticeModel(kind=notice.kind, text=notice.text) for notice in notices],
        runs=[_run(life, server) for life in server.lives],
    )


def _run(life: Life, server: ServerMonitor) -> RunModel:
    figures = life.figures()
    draft_tokens = life.launch.num_draft_tokens if life.launch is not None else None
    return RunModel(
        index=life.index,
        state=life.state.value,
        started_at=_stamp(life.launched_at, life),
        ready_at=_stamp(life.ready_at, life),
        first_sample_at=_stamp(life.first_sample_at, life),
        last_sample_at=_stamp(life.last_sample_at, life),
        launch=_launch(life.launch, life.draft_steps),
        env=life.env,
        speculation=life.speculation,
        ranks=list(figures.ranks),
        decode=_decode(figures, draft_tokens if life.statistics.is_speculative else None),
        prefill=PrefillModel(batches=figures.prefill_batches, new_tokens=figures.prefill_tokens)
        if life.habits.tells_prefill
        else None,
        phases=_phases(life.phases),
        counters=_counters(life.counters.totals),
        events=[
            EventModel(
                kind=happening.kind,
                at=_stamp(happening.at, life),
                rank=happening.rank or None,
                bytes=happening.size_bytes,
                detail=happening.detail,
            )
            for happening in life.happenings
        ],
    )


def _stamp(at: float | None, life: Life) -> str | None:
    """A moment on the log's clock; null when that clock has no date, as an uptime has none."""
    return stamp(at, life.utc_offset_s)


def _counters(totals: CounterTotals | None) -> CountersModel | None:
    if totals is None:
        return None
    return CountersModel(
        tokens=_whole(totals.tokens),
        drafts=_whole(totals.rounds),
        accept_len=totals.accept_len,
        proposed=_whole(totals.proposed),
        accepted=_whole(totals.accepted),
        accept_by_position=None if totals.by_position is None else list(totals.by_position),
    )


def _whole(count: float | None) -> int | None:
    return None if count is None else round(count)


def _phases(phases: PhaseFigures | None) -> PhasesModel | None:
    if phases is None:
        return None
    return PhasesModel(
        source=phases.source,
        cycles=phases.cycles,
        cycle_ms=phases.cycle_ms,
        ms=dict(phases.ms),
        residual_ms=phases.residual_ms,
        identity_cycle_ms=phases.identity_cycle_ms,
        by_running=[
            PhaseLevelModel(
                running=running,
                cycles=level.cycles,
                cycle_ms=level.cycle_ms,
                ms=dict(level.ms),
                residual_ms=level.residual_ms,
                identity_cycle_ms=level.identity_cycle_ms,
            )
            for running, level in phases.by_running.items()
        ],
    )


def _launch(launch: Launch | None, steps: int | None) -> LaunchModel:
    """Flags in the report's words; `steps` is k as the statistics lines show it."""
    positions = None if steps is None else steps + 1
    if launch is None:
        return LaunchModel(num_steps=steps, num_draft_tokens=positions)
    return LaunchModel(
        engine_version=launch.version,
        model=launch.model,
        tp_size=launch.tp_size,
        dp_size=launch.dp_size,
        pp_size=launch.pp_size,
        speculative_algorithm=launch.algorithm,
        num_steps=launch.num_steps if launch.num_steps is not None else steps,
        num_draft_tokens=launch.num_draft_tokens if launch.num_draft_tokens is not None else positions,
        topk=launch.number("speculative_eagle_topk"),
        draft_model=launch.draft_model,
        decode_log_interval=launch.log_interval,
        flags=_finite(launch.flags),
    )


def _finite(flags: Mapping[str, Json]) -> dict[str, Json]:
    """Flags as they are; a number that JSON cannot write becomes its text."""
    return {name: _json_value(value) for name, value in flags.items()}


def _json_value(value: Json) -> Json:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):
        return {name: _json_value(item) for name, item in value.items()}
    return value


def _decode(figures: RunFigures, draft_tokens: int | None) -> DecodeModel:
    return DecodeModel(
        samples=figures.samples,
        clean=figures.clean,
        excluded=ExcludedModel(**figures.excluded),
        first_tok_s=figures.first_tok_s,
        last_tok_s=figures.last_tok_s,
        delivered_tok_s=figures.delivered_tok_s,
        prefill_share=figures.prefill_share,
        accept_len=figures.accept_len,
        drafts=round(figures.drafts) if figures.drafts is not None else None,
        levels=[_level(level, draft_tokens) for level in figures.levels],
    )


def _level(level: LevelFigures, draft_tokens: int | None) -> LevelModel:
    rate = level.acceptance_rate
    if rate is None and draft_tokens is not None and draft_tokens > 1 and level.accept_len is not None:
        # For a chain; a tree's nodes are not all on the accepted path, but they are all proposed.
        rate = (level.accept_len - 1) / (draft_tokens - 1)
    spread = level.tok_s
    return LevelModel(
        running=level.running,
        samples=level.samples,
        clean=level.clean,
        tok_s=ThroughputModel(
            median=spread.median, mean=spread.mean, mad=spread.mad, ci95=spread.ci95, p5=spread.p5, p95=spread.p95
        ),
        prefill_share=level.prefill_share,
        acceptance_rate=rate,
        accept_by_position=list(level.accept_by_position) if level.accept_by_position is not None else None,
        context_tokens=level.context_tokens,
        queue=level.queue,
        decode_tok_s=level.decode_tok_s,
        decode_tok_s_ci95=level.decode_tok_s_ci95,
        delivered_tok_s=level.delivered_tok_s,
        accept_len=level.accept_len,
        cycle_ms=level.cycle_ms,
        cuda_graph=level.cuda_graph,
    )
