"""One server as the screen shows it."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from specmon.analysis.countertimes import CounterTotals
from specmon.analysis.figures import LevelFigures as Level
from specmon.analysis.figures import PhaseFigures, RunFigures
from specmon.monitor.axis import moved
from specmon.monitor.launch import Launch
from specmon.monitor.life import Life
from specmon.monitor.notices import notices_of
from specmon.monitor.phaserecords import EMPTY_ACCEPTANCE, EMPTY_PHASES
from specmon.monitor.phasesview import identity_of, level_of, phases_view
from specmon.monitor.positions import acceptance_view
from specmon.monitor.server import Past, ServerMonitor
from specmon.monitor.snapshot import LaunchView, LevelFigures, LinkState, PageGauges, RunState, ServerView
from specmon.monitor.underway import LiveSpeed
from specmon.shares import percent

if TYPE_CHECKING:
    from specmon.references.model import Reference

STALE_AFTER_S = 5.0
_STALE_GAPS = 3  # usual gaps
_EXPECTED_STATES = {
    RunState.STARTING: "the server is still starting",
    RunState.READY: "ready, but no decode line yet",
    RunState.EXITED: "the server has exited without a decode line",
    RunState.CRASHED: "the server crashed before its first decode line",
}


def view_of(
    server: ServerMonitor,
    name: str,
    now: float,
    *,
    running: int | None = None,
    reference: Reference | None = None,
    is_finished: bool = False,
    is_compared: bool = False,
    is_exact: bool = False,
    shift_s: float = 0.0,
) -> ServerView:
    """Everything the widgets may show of a server; `running` is the level that both sides are compared at.

    Unless `is_exact` a level's figures may lack its newest samples. The times are moved by `shift_s`, which puts its
    log's clock onto the axis of the session.
    """
    life = server.life
    notices = notices_of(server, is_finished=is_finished)
    common = ServerView(
        key=server.key,
        name=name,
        source=server.source,
        role=server.role,
        link=server.link,
        engine=server.engine,
        unparsed=server.unparsed,
        notices=tuple(notice.text for notice in notices),
        notice_kinds=tuple(notice.kind for notice in notices),
    )
    if life is None:
        return replace(common, no_data_reason=_why_nothing(server), phases=phases_view(server, running))
    figures = life.figures(is_exact=is_exact)
    level = (figures.level_at(running) if running is not None else None) or figures.main_level
    recorded = reference.level_at(level.running) if reference is not None and level is not None else None
    age_s, is_stale = freshness(server, now)
    live = live_speed(server, now)
    page = page_gauges(life)
    view = replace(
        common,
        state=RunState.EXITED if server.is_ended_run and not life.has_ended else life.state,
        is_ended_run=server.is_ended_run,
        speculation=life.speculation,
        launch=launch_view(life, server.past),
        run_index=life.index,
        run_started_at=life.launched_at,
        level=level_view(level) if level is not None else None,
        no_data_reason=_why_no_speed(life, figures, level) + ("" if level is not None else _page_words(page)),
        last_tok_s=figures.last_tok_s,
        live_tok_s=live.tok_s if live is not None else None,
        live_requests=live.requests if live is not None else 0,
        running=life.last_running,
        last_sample_at=life.last_sample_at,
        age_s=age_s,
        is_stale=is_stale,
        samples=figures.samples,
        clean=figures.clean,
        excluded=MappingProxyType(dict(figures.excluded)),
        points=server.history.trace.points(server.revision, shift_s),
        marks=tuple(server.history.chronicle.marks),
        reference_tok_s=recorded.tok_s if recorded is not None else None,
        reference_cycle_ms=recorded.step_ms if recorded is not None else None,
        page=page,
        newest_place=server.history.newest_place if is_compared else None,
        clean_place=_place_of(server, level) if is_compared else None,
        phases=phases_view(server, level.running if level is not None else None) if is_compared else EMPTY_PHASES,
        acceptance=acceptance_view(life, server.engine, level) if is_compared else EMPTY_ACCEPTANCE,
    )
    return moved(view, shift_s)


def _place_of(server: ServerMonitor, level: Level | None) -> int | None:
    """The byte at which the newest clean sample of a level stands."""
    if server.life is None or level is None or level.basis.last_index is None:
        return None
    return server.history.place_of(server.life, level.basis.last_index)


def page_gauges(life: Life) -> PageGauges | None:
    """The queue and the cache by the newest look at the metrics page."""
    reading = life.latest_reading
    if reading is None or life.has_ended:
        return None
    found = PageGauges(_whole(reading.running), _whole(reading.queue), reading.kv_usage)
    return None if found == PageGauges() else found


def _whole(value: float | None) -> int | None:
    return round(value) if value is not None and math.isfinite(value) else None


def _page_words(page: PageGauges | None) -> str:
    if page is None:
        return ""
    counts = ((page.running, "running"), (page.queue, "waiting"))
    parts = [f"{count} {word}" for count, word in counts if count is not None]
    if page.kv_usage is not None:
        parts.append(f"KV cache {percent(page.kv_usage)}")
    return f"; its metrics page: {', '.join(parts)}"


def counter_words(totals: CounterTotals | None) -> str:
    """What a server counted of tokens and drafts; "" when nobody looked at its counters."""
    if totals is None or not totals.tokens:
        return ""
    words = f"{totals.tokens:,.0f} tokens"
    if totals.rounds and totals.accept_len is not None:
        words += f", accept length {totals.accept_len:.2f} over {totals.rounds:,.0f} drafts"
    if totals.by_position:
        words += f", accepted by position {', '.join(f'{each:.2f}' for each in totals.by_position)}"
    return words


def phase_words(phases: PhaseFigures | None) -> str:
    """Mean times of a cycle's phases, in the order in which they come; "" when nobody measured them."""
    if phases is None or not phases.ms:
        return ""
    parts = ", ".join(f"{name.replace('_', ' ')} {ms:.1f}" for name, ms in phases.ms.items())
    whole = f" of {phases.cycle_ms:.1f}" if phases.cycle_ms is not None else ""
    return f"{parts}{whole} ms ({phases.source})"


def phase_facts(phases: PhaseFigures | None) -> list[str]:
    """Shares and residual, and whether the cycle is the one that the throughput gives."""
    if phases is None or not phases.ms:
        return []
    level = level_of(None, phases)
    if level.fault:
        return [f"not to be trusted: {level.fault}"]
    shares = [f"{part.name.replace('_', ' ')} {percent(part.share)}" for part in level.parts if part.share is not None]
    rest = next((part.ms for part in level.parts if part.name == "other"), None)
    left = f" ({rest:.2f} ms)" if rest is not None else ""
    told = [f"shares: {', '.join(shares)}{left}"] if shares else []
    return [*told, f"identity: {identity_of(phases).text}"]


def freshness(server: ServerMonitor, now: float) -> tuple[float | None, bool]:
    """How long ago the newest sample or progress line came in, and whether that is too long for a live figure."""
    has_ended = server.life is not None and server.life.has_ended
    arrivals = [at for at in (server.arrived_at, server.history.underway.arrived_at) if at is not None]
    if server.is_ended_run and server.ended_run_at is not None:
        return max(0.0, now - server.ended_run_at), True
    if not arrivals:
        # Only what was written before we looked: nobody knows how old that is.
        return None, has_ended or server.samples > 0
    age_s = max(0.0, now - max(arrivals))
    limit = max(STALE_AFTER_S, _STALE_GAPS * (server.usual_gap_s or 0.0))
    return age_s, has_ended or age_s > limit


def live_speed(server: ServerMonitor, now: float) -> LiveSpeed | None:
    """What the requests under way generate at `now`, None when none of them says so."""
    if server.life is not server.history.lives.current or server.life is None or server.life.has_ended:
        return None
    return server.history.underway.speed(now)


def launch_view(life: Life, past: Past | None = None) -> LaunchView:
    """The launch facts as far as the log tells them, else the flags of the process where those were read."""
    launch = life.launch
    if launch is None:
        flags = None if life.fingerprint is None else life.fingerprint.flags
        launch = Launch() if not flags else Launch(flags)
    return LaunchView(
        model=launch.model,
        tp_size=launch.tp_size,
        dp_size=launch.dp_size,
        pp_size=launch.pp_size,
        algorithm=launch.algorithm,
        num_steps=launch.num_steps,
        num_draft_tokens=launch.num_draft_tokens,
        topk=launch.number("speculative_eagle_topk"),
        is_read=life.launch is not None,
        note="" if past is None or life.index > 1 else _launch_note(past, life.is_launch_far, bool(launch.flags)),
    )


def _launch_note(past: Past, is_far: bool, has_flags: bool) -> str:
    if is_far and past.unread_bytes:
        between = "a nearer one is looked for" if past.is_awaited else f"{past.unread_bytes / 1e6:,.0f} MB lie between"
        return f"launch line of the log's beginning; {between}"
    if has_flags:
        return ""
    if past.is_awaited:
        return "launch line not read yet"
    if past.unread_bytes:
        return f"no launch line read: {past.unread_bytes / 1e6:,.0f} MB of the log lie before"
    return ""


def level_view(level: Level) -> LevelFigures:
    """The figures of a level without those that only reports list."""
    return LevelFigures(
        running=level.running,
        samples=level.samples,
        clean=level.clean,
        decode_tok_s=level.decode_tok_s,
        decode_tok_s_ci95=level.decode_tok_s_ci95,
        delivered_tok_s=level.delivered_tok_s,
        median_tok_s=level.tok_s.median,
        mad_tok_s=level.tok_s.mad,
        p5_tok_s=level.tok_s.p5,
        p95_tok_s=level.tok_s.p95,
        accept_len=level.accept_len,
        cycle_ms=level.cycle_ms,
        context_tokens=level.context_tokens,
        queue=level.queue,
        cuda_graph=level.cuda_graph,
        running_range=level.running_range,
        acceptance_rate=level.acceptance_rate,
        prefill_share=level.prefill_share,
        decode_error=level.decode_error,
        basis=level.basis,
    )


def _why_nothing(server: ServerMonitor) -> str:
    if server.unreadable is not None:
        return server.unreadable
    if server.link.state is LinkState.WAITING:
        return f"{server.link.detail.rstrip('.')}; waiting, tried again by itself"
    if server.lines:
        return "no line of an LLM server in this log yet"
    return "not a line yet"


def _why_no_speed(life: Life, figures: RunFigures, level: Level | None) -> str:
    if level is None:
        return _EXPECTED_STATES.get(life.state, "no decode line yet")
    if level.decode_tok_s is not None:
        return ""
    if level.ranks_without_clean and level.clean:
        return f"no clean sample yet of {', '.join(level.ranks_without_clean[:4])}"
    if level.clean:
        return "the log gives no accept length, so no cycle time"
    reasons = ", ".join(f"{count} {rule.replace('_', ' ')}" for rule, count in figures.excluded.items() if count)
    return f"no clean sample yet ({reasons})" if reasons else "no clean sample yet"
