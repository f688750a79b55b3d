"""Grows the lives of one server from the blocks that its dialect reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from specmon.analysis.horizon import LIVE
from specmon.analysis.phasehistory import PhaseWindow
from specmon.analysis.rules import REQUEST
from specmon.analysis.sample import Reading
from specmon.events import (
    AcceptanceUntold,
    Block,
    Clock,
    Crashed,
    CrashExplained,
    DialectFailed,
    Drafted,
    DraftsTimed,
    EnvironmentSet,
    Exited,
    Flushed,
    FormatsClash,
    LaunchContinued,
    Launched,
    LogEvent,
    PhasesRefused,
    PhasesTimed,
    PrefillColumns,
    ProcessStarted,
    Progressed,
    ProgressEnded,
    RanksAddUp,
    Ready,
    Retracted,
    SampleColumns,
    ServiceStarted,
    StatisticsOff,
    StopRequested,
    WentIdle,
    WindowSpoiled,
    ZoneChanged,
)
from specmon.monitor.chronicle import Chronicle
from specmon.monitor.filled import Filled
from specmon.monitor.happening import Happening
from specmon.monitor.launch import Launch
from specmon.monitor.life import Life
from specmon.monitor.lives import Lives
from specmon.monitor.sampleplaces import SamplePlaces, excluded_word
from specmon.monitor.snapshot import Mark, MarkKind, Severity
from specmon.monitor.underway import Underway
from specmon.secrets import hide_in_text

if TYPE_CHECKING:
    from specmon.monitor.trace import Trace

_FULL_CACHE = 0.98  # usage from which waiting requests mean that the cache is the limit
_NAN = math.nan
_OF_FIGURES = (DraftsTimed, PhasesTimed, PhasesRefused, Retracted, Flushed, WindowSpoiled)
MANY = 256  # decode lines from which a block is worth being taken in as a whole


class History:
    """What happened to one server, in the order of its lines."""

    def __init__(self, server: str, *, is_watched: bool = True, is_measured: bool = True) -> None:
        # False: nobody will ask for charts or for marks in the log, and every sample is held.
        self.is_watched = is_watched
        self.is_measured = is_measured  # False: lives and their states only, in constant memory
        self.chronicle = Chronicle(server)
        horizon = LIVE if is_watched else None
        self.lives = Lives(self._restarted, self.chronicle.withdraw_restart, horizon=horizon, on_gone=self._gone)
        self._trace: Trace | None = None
        self.underway = Underway()
        self.answers = 0  # generation requests that the access log says were answered
        self.clashes: list[tuple[str, str]] = []  # engines: whose format reads a line, and whose could
        self.dialect_failure: tuple[str, str] | None = None  # whose code failed, and how
        self.last_at: float | None = None  # the newest time on the log's clock
        self.zone_s: int | None = None  # of the stamps at the moment, seconds east of UTC
        self._places = SamplePlaces()
        self._arrived_at: float | None = None  # of the block that is being taken in

    @property
    def trace(self) -> Trace:
        """The samples for the charts."""
        if self._trace is None:
            from specmon.monitor.trace import Trace  # numpy, for those who draw

            self._trace = Trace()
        return self._trace

    def absorb(self, block: Block, arrived_at: float | None = None) -> None:
        """Put columns and events back into the order of their lines, and take them in.

        `arrived_at` is None for what was written before anybody looked.
        """
        self._arrived_at = arrived_at
        decode, prefill, events = block.decode, block.prefill, block.events
        samples, prefills, rare = len(decode), len(prefill), len(events)
        filled = Filled(decode)
        i = j = k = 0
        end = block.end + 1
        self.answers += block.answers.count
        timed = len(block.steps)
        steps = iter(range(timed))
        known = self.lives.begun
        next_try = 0  # the sample from which on the next ones may be taken in together
        while i < samples or j < prefills or k < rare:
            at_decode = decode.offset[i] if i < samples else end
            at_prefill = prefill.offset[j] if j < prefills else end
            if k < rare and events[k].offset <= at_decode and events[k].offset <= at_prefill:
                if timed:
                    steps = self._steps(block, steps, events[k].offset)
                self._event(events[k], block)
                k += 1
            elif self.is_measured and samples - i >= MANY and i >= next_try:
                from specmon.monitor.bulk import absorb_stretch  # numpy, for long blocks only

                taken = absorb_stretch(self, block, i, j, events[k].offset if k < rare else end)
                if taken is None:
                    next_try = i + 2 * MANY
                else:
                    i, j = taken
            elif at_prefill <= at_decode:
                self._prefill(prefill, j, block)
                j += 1
            else:
                if timed:
                    steps = self._steps(block, steps, at_decode)
                self._sample(decode, i, block, filled)
                i += 1
        self._steps(block, steps, end)
        if block.recognised:
            # Also a life without a sample has its engine's habits: what such a log cannot tell is unknown, not 0.
            for life in self.lives.since(known):
                life.set_habits(block.habits)

    def mark_of(self, position: int) -> tuple[bool, str | None]:
        """Of the line at `position`: whether it is a sample that is remembered, and what left it out."""
        found = self._places.find(position)
        return (False, None) if found is None else (True, excluded_word(*found))

    @property
    def newest_place(self) -> int | None:
        """The position of the newest sample that is remembered."""
        return self._places.newest

    def place_of(self, life: Life, index: int) -> int | None:
        """The position of a sample of a life, by its index; None when it is not remembered."""
        return self._places.position_of(life, index)

    def remember(self, samples: Iterable[tuple[int, int]], life: Life) -> None:
        """Note where samples stand in the log: pairs of position and index in the life's statistics."""
        self._places.add(samples, life)

    def gap(self, at: float, size_bytes: int | None, reason: str) -> None:
        """Bytes of the log are missing here."""
        size = "an unknown number of" if size_bytes is None else f"{size_bytes:,}"
        text = f"{size} bytes of the log are missing: {reason}"
        life = self.lives.current
        if life is not None:
            life.happened(Happening("gap", self.last_at, size_bytes=size_bytes, detail=reason))
            life.statistics.interrupt()
        if self.last_at is not None:
            self.chronicle.marks.append(Mark(self.last_at, MarkKind.GAP, text))
        self.chronicle.tell(at, Severity.WARNING, text, is_ours=True)

    def truncated(self) -> None:
        """The log was emptied and begins again."""
        life = self.lives.current
        if life is not None:
            life.happened(Happening("truncated", self.last_at, detail="the log was emptied"))

    # -- lines -----------------------------------------------------------------------------------

    def _sample(self, columns: SampleColumns, i: int, block: Block, filled: Filled) -> None:
        at, running, tok_s = columns.at[i], columns.running[i], columns.tok_s[i]
        tag = block.ranks[columns.rank[i]]
        life = self.lives.of_stats(at, columns.process[i], block.clock, tag)
        statistics = life.statistics
        if not self.is_measured:
            life.stats_line(at, tag)
            life.sampled(at, running)
            self.note_time(at)
            return
        life.set_habits(block.habits)
        accept = filled.accept_len[i] if filled.accept_len else _NAN
        if (
            accept == accept
            or (filled.accept_rate and filled.accept_rate[i] == filled.accept_rate[i])
            or (filled.drafted and filled.drafted[i] > 0)
        ):
            statistics.turn_speculative()
        queue = filled.queue[i] if filled.queue else _NAN
        if queue > 0 and filled.usage and filled.usage[i] >= _FULL_CACHE:
            life.kv_full += 1
        positions = columns.by_position[i] if columns.by_position else ()
        if positions:
            life.draft_steps = len(positions)
        index = statistics.samples
        statistics.add(
            tag,
            Reading(  # by place, as every line comes through here
                at,
                running,
                tok_s,
                accept,
                filled.cycle_ms[i] if filled.cycle_ms else _NAN,
                filled.window_s[i] if filled.window_s else _NAN,
                filled.tokens[i] if filled.tokens else _NAN,
                filled.context_tokens[i] if filled.context_tokens else _NAN,
                queue,
                filled.graph[i] if filled.graph else -1,
                filled.drafts[i] if filled.drafts else _NAN,
                filled.drafted[i] if filled.drafted else _NAN,
                filled.accepted[i] if filled.accepted else _NAN,
                filled.prompt_tok_s[i] if filled.prompt_tok_s else _NAN,
                positions,
            ),
        )
        life.stats_line(at, tag)
        life.sampled(at, running)
        self.note_time(at)
        if not self.is_watched:
            return
        # A request's own speed is a share of the server's, which the chart shows.
        share = running if block.habits.covers is REQUEST else 1
        total = statistics.newest_tok_s(tag)
        if total is not None:
            self.trace.add(life, index, at, total * share, tok_s * share, running, accept)
        self._places.add(((columns.offset[i], index),), life)

    def _prefill(self, columns: PrefillColumns, j: int, block: Block) -> None:
        at = columns.at[j]
        life = self.lives.of_stats(at, columns.process[j], block.clock)
        if self.is_measured:
            life.statistics.prefill(block.ranks[columns.rank[j]], columns.new_tokens[j])
        life.stats_line(at)
        self.note_time(at)

    def _steps(self, block: Block, steps: Iterator[int], before: int) -> Iterator[int]:
        """Take in the single steps that come before a position; answer those that are left."""
        columns = block.steps
        for i in steps:
            if columns.offset[i] >= before:
                return chain((i,), steps)
            at = columns.at[i]
            life = self.lives.of_stats(at, -1, block.clock)
            if self.is_measured:
                life.step_times.add(columns.running[i], columns.decode_ms[i])
            if self.is_watched and (step_ms := columns.decode_ms[i]) == step_ms:
                life.phase_history.add("log", columns.running[i], PhaseWindow(at, 1, step_ms, {"decode": step_ms}))
            life.stats_line(at, block.ranks[columns.rank[i]])
            self.note_time(at)
        return steps

    def _drafted(self, event: Drafted, clock: Clock) -> None:
        at = _NAN if event.at is None else event.at
        life = self.lives.of_stats(at, -1 if event.process is None else event.process, clock, event.rank)
        if self.is_measured:
            if event.proposed > 0:
                life.statistics.turn_speculative()
            if event.by_position:
                life.draft_steps = len(event.by_position)
            life.statistics.draft(event.rank, rounds=event.rounds, accept_len=event.accept_len)
        life.stats_line(at, event.rank)

    def _event(self, event: LogEvent, block: Block) -> None:
        if isinstance(event, StopRequested) and self.lives.current is None:
            return  # a key typed in a terminal before any line of a server
        if isinstance(event, ZoneChanged):
            self.zone_s = event.utc_offset_s
            return
        life = self.lives.current or self.lives.begin()
        if not self.is_measured and isinstance(event, _OF_FIGURES):
            if event.at is not None:
                self.note_time(event.at)
            return
        if event.at is not None:
            self.last_at = event.at if event.at == event.at else self.last_at
        if isinstance(event, Crashed | CrashExplained | StopRequested | Exited):
            event = replace(event, detail=hide_in_text(event.detail))  # it quotes the log
        match event:
            case Launched():
                self.lives.of_launch(event.at).launched(event.at, Launch(event.flags, event.is_complete, event.version))
            case LaunchContinued():
                if life.launch is not None:
                    more = life.launch.continued(event.flags, is_complete=event.is_complete, version=event.version)
                    life.launch_continued(more)
            case ProcessStarted():
                self.lives.of_process(event)
            case ServiceStarted():
                if not life.is_blank:
                    self.lives.begin(event.at)
            case Ready():
                self.lives.of_ready(event.at).became_ready(event)
                self.chronicle.tell(self._time(event), Severity.OK, "ready", event.offset)
            case Retracted():
                many = "requests" if event.requests is None else f"requests: {event.requests}"
                life.happened(Happening("retraction", event.at, event.rank, detail=many))
                life.statistics.retract(event.rank)
                self.chronicle.tell(
                    self._time(event), Severity.WARNING, f"KV cache full, put back {many}", event.offset
                )
            case Flushed():
                life.happened(Happening("flush", event.at, event.rank, detail="prefix cache flushed"))
                life.statistics.interrupt(event.rank)
            case Crashed():
                if life.crashed(event):
                    self.chronicle.crashed(self._time(event), f"crashed: {event.detail or event.cause}", event.offset)
            case CrashExplained():
                if life.crash_explained(event.detail):
                    self.chronicle.explain_crash(self._time(event), event.detail, event.offset)
            case StopRequested():
                if life.stop_requested(event, event.detail or "stop requested"):
                    self.chronicle.tell(self._time(event), Severity.INFO, "asked to stop", event.offset)
            case Exited():
                life.exited(event, event.detail or "ended")
            case Progressed():
                at = _NAN if event.at is None else event.at
                self.lives.of_stats(at, -1, Clock.NONE).stats_line(at)
                self.underway.progressed(event.request, event.tok_s, self._arrived_at)
            case ProgressEnded():
                self.underway.ended(event.request)
            case AcceptanceUntold():
                life.statistics.is_acceptance_told = False
            case WindowSpoiled():
                life.statistics.interrupt(event.rank)
            case RanksAddUp():
                life.statistics.do_ranks_add_up = True
            case DraftsTimed():
                life.drafts_timed(event)
            case Drafted():
                self._drafted(event, block.clock)
            case PhasesTimed():
                life.phases_timed(event, event.at if event.at is not None else self.last_at)
            case PhasesRefused():
                life.phases_refused.add(event)
            case DialectFailed():
                self.dialect_failure = (event.engine, event.detail)
            case FormatsClash():
                self.clashes.append((event.reads, event.other))
            case StatisticsOff():
                life.statistics_off = event.detail
            case WentIdle():
                life.went_idle(event.rank)
                self.underway.clear()
            case EnvironmentSet():
                life.env[event.name] = event.value
        if event.at is not None:
            self.note_time(event.at)  # in the life that may have begun with it

    def _gone(self, life: Life) -> None:
        """Nothing else must hold on to it."""
        self._places.let_go(life)
        if self._trace is not None:
            self._trace.let_go(life)

    def _restarted(self, before: Life, life: Life, at: float | None) -> None:
        moment = at if at is not None and at == at else self.last_at
        self.underway.clear()
        self.chronicle.restarted(moment, before, life)

    def note_time(self, at: float) -> None:
        """A stamp of the present life."""
        if at == at:
            self.last_at = at
            if self.zone_s is not None and (life := self.lives.current) is not None and life.utc_offset_s is None:
                life.utc_offset_s = self.zone_s

    def _time(self, event: LogEvent) -> float:
        """When an event happened, else when the log last told the time."""
        return event.at if event.at is not None else self.last_at or 0.0
