"""One server from its bytes: chunks become lines, lines become columns and events, those become lives."""

from __future__ import annotations

import math
from array import array
from collections import deque
from itertools import islice, pairwise

from specmon.analysis.run import Reading
from specmon.analysis.spread import median_of
from specmon.events import (
    Block,
    Clock,
    Crashed,
    EnvironmentSet,
    Exited,
    Flushed,
    LaunchContinued,
    Launched,
    LogEvent,
    PrefillColumns,
    ProcessStarted,
    Ready,
    Retracted,
    SampleColumns,
    StopRequested,
    WentIdle,
)
from specmon.formats import Dialect
from specmon.monitor.launch import Launch
from specmon.monitor.life import Happening, Life
from specmon.monitor.loglines import LogBuffer
from specmon.monitor.snapshot import EventLine, Link, LinkState, Mark, MarkKind, Role, Severity
from specmon.monitor.trace import Trace, excluded_word
from specmon.references.fingerprint import Fingerprint
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.framing import Framed, LineFramer

CLOCK_BACKWARDS_S = 60.0  # a step back of the statistics lines that means another life
_YEARLESS_STEP_S = 30 * 86400.0  # stamps without a year step back by months at New Year, and mean nothing
_OTHER_PROCESS_S = 1.0  # lines of two processes closer than this belong to one server
_FULL_CACHE = 0.98
_HELD_EVENTS = 500
_HELD_MARKS = 200
_NAN = math.nan


class ServerMonitor:
    """Follows one stream. Offsets are counted on over rotations, so that a position names one line for good."""

    def __init__(
        self,
        key: str,
        source: str,
        dialect: Dialect,
        *,
        declared: Role | None = None,
        log: LogBuffer | None = None,
    ) -> None:
        self.key = key
        self.source = source
        self.declared = declared
        self.lives: list[Life] = []
        self.link = Link()
        self.trace = Trace()
        self.version = 0  # grows with every change
        self.lines = 0
        self.unparsed = 0
        self.clipped = 0
        self.samples = 0
        self.recognised = 0
        self.unreadable: str | None = None  # why the source could not be opened
        self.clocks: set[Clock] = set()
        self.utc_offset_s: int | None = None
        self.clock_steps = 0
        self.last_answer_at: float | None = None
        self.arrived_at: float | None = None  # when the newest sample came in
        self.is_backlog = False  # what comes now was written before we looked
        self.marks: deque[Mark] = deque(maxlen=_HELD_MARKS)
        self.events: deque[EventLine] = deque(maxlen=_HELD_EVENTS)  # `server` is filled in by the session
        self._engine = dialect.engine
        self._parser = dialect.open()
        self._framer = LineFramer()
        self._base = 0  # position of the present file's first byte
        self._end = 0  # position after the last byte
        self._log = log
        self._next_fingerprint: Fingerprint | None = None
        self._arrivals: deque[float] = deque(maxlen=20)
        self._recent: dict[int, tuple[Life, int]] = {}  # samples by position, for the marks in the log
        self._unparsed_at: deque[int] = deque(maxlen=1000)
        self._last_at: float | None = None

    # -- in --------------------------------------------------------------------------------------

    def feed(self, event: SourceEvent) -> None:
        """Take what the source says."""
        self.version += 1
        match event:
            case Chunk():
                self._end = self._base + event.offset + len(event.data)
                self._link(LinkState.LIVE)
                if (framed := self._framer.feed(event.data, self._base + event.offset)) is not None:
                    self._read(framed, event.at)
            case Connected():
                if self.link.state is LinkState.WAITING:
                    self._tell(event.at, Severity.OK, f"reconnected, {event.detail}" if event.detail else "reconnected")
                self._link(LinkState.LIVE, event.detail)
                self.is_backlog = event.size is not None and event.size > event.offset
            case CaughtUp():
                self.is_backlog = False
            case Waiting():
                if self.link.state is not LinkState.WAITING:
                    self._tell(event.at, Severity.WARNING, event.reason)
                self.link = Link(LinkState.WAITING, event.reason, event.at + event.delay_s)
            case Rotated():
                self._framer.reset()
                self._base = self._end
                if event.reason == "truncated" and self.lives:
                    emptied = Happening("truncated", self._last_at, detail="the log was emptied")
                    self.lives[-1].happenings.append(emptied)
                self._tell(event.at, Severity.INFO, f"log {event.reason}: the next file follows")
            case Gap():
                self._gap(event)
            case Refused():
                self._link(LinkState.REFUSED, event.reason)
                if not self.lives:
                    self.unreadable = event.reason
                self._tell(event.at, Severity.ALERT, event.reason)

    def finish(self) -> None:
        """The source has ended; a last line without its end stays unread."""
        if self.link.state is not LinkState.REFUSED:
            self._link(LinkState.ENDED)
        self.version += 1

    def attach_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Conditions read from outside the log.

        The first one belongs to the present life. A later one that differs belongs to the next: a
        restarted process is seen in /proc some seconds before its first line.
        """
        self.version += 1
        if self.lives and self.lives[-1].fingerprint is None:
            self.lives[-1].fingerprint = fingerprint
        elif not self.lives or self.lives[-1].fingerprint != fingerprint:
            self._next_fingerprint = fingerprint

    def _link(self, state: LinkState, detail: str = "") -> None:
        if self.link.state is not state or detail:
            self.link = Link(state, detail)

    def _tell(self, at: float, severity: Severity, text: str) -> None:
        self.events.append(EventLine(at, severity, self.key, text))

    def _gap(self, event: Gap) -> None:
        self._framer.reset()
        size = "an unknown number of" if event.size_bytes is None else f"{event.size_bytes:,}"
        text = f"{size} bytes of the log are missing: {event.reason}"
        if self.lives:
            life = self.lives[-1]
            life.happenings.append(Happening("gap", self._last_at, size_bytes=event.size_bytes, detail=event.reason))
            life.statistics.interrupt()
        if self._last_at is not None:
            self.marks.append(Mark(self._last_at, MarkKind.GAP, text))
        self._tell(event.at, Severity.WARNING, text)

    # -- lines -----------------------------------------------------------------------------------

    def _read(self, framed: Framed, arrived_at: float) -> None:
        block = self._parser.feed(framed.data, framed.offset)
        self.lines += block.lines
        self.recognised += block.recognised
        self.clipped += block.clipped
        self.unparsed += len(block.unparsed)
        self._unparsed_at.extend(block.unparsed)
        if block.utc_offset_s is not None:
            self.utc_offset_s = block.utc_offset_s
        if len(block.decode) or block.events:
            self.clocks.add(block.clock)
        if block.answers.last_at is not None:
            self.last_answer_at = max(block.answers.last_at, self.last_answer_at or block.answers.last_at)
        if not self.lives and (block.recognised or block.events or len(block.decode) or len(block.prefill)):
            self._begin_life(None)
        self._merge(block)
        if len(block.decode):
            self.samples += len(block.decode)
            self.arrived_at = arrived_at
            if not self._arrivals or arrived_at > self._arrivals[-1]:
                self._arrivals.append(arrived_at)
        if self._log is not None:
            self._keep_lines(framed, block)

    def _merge(self, block: Block) -> None:
        """Columns and events back into the order of their lines."""
        decode, prefill, events = block.decode, block.prefill, block.events
        samples, prefills, rare = len(decode), len(prefill), len(events)
        pick_decode = _Columns(decode)
        i = j = k = 0
        end = block.end + 1
        while i < samples or j < prefills or k < rare:
            at_decode = decode.offset[i] if i < samples else end
            at_prefill = prefill.offset[j] if j < prefills else end
            at_event = events[k].offset if k < rare else end
            if at_event <= at_decode and at_event <= at_prefill and k < rare:
                self._event(events[k], block)
                k += 1
            elif at_prefill <= at_decode and j < prefills:
                self._prefill(prefill, j, block)
                j += 1
            else:
                self._sample(decode, i, block, pick_decode)
                i += 1

    def _sample(self, columns: SampleColumns, i: int, block: Block, picked: _Columns) -> None:
        at, running = columns.at[i], columns.running[i]
        life = self._life_of_stats(at, columns.process[i], block)
        life.set_clock(block.clock_resolution_s)
        accept = picked.accept_len[i] if picked.accept_len else _NAN
        if accept == accept or (picked.accept_rate and picked.accept_rate[i] == picked.accept_rate[i]):
            life.statistics.turn_speculative()
        queue = picked.queue[i] if picked.queue else _NAN
        if queue > 0 and picked.usage and picked.usage[i] >= _FULL_CACHE:
            life.kv_full += 1
        index = life.statistics.samples
        life.statistics.add(
            block.ranks[columns.rank[i]],
            Reading(
                at=at,
                running=running,
                tok_s=columns.tok_s[i],
                accept_len=accept,
                cycle_ms=picked.cycle_ms[i] if picked.cycle_ms else _NAN,
                window_s=picked.window_s[i] if picked.window_s else _NAN,
                tokens=picked.tokens[i] if picked.tokens else _NAN,
                context_tokens=picked.context_tokens[i] if picked.context_tokens else _NAN,
                queue=queue,
                graph=picked.graph[i] if picked.graph else -1,
            ),
        )
        life.stats_line(at)
        life.sampled(at, running)
        self._note_time(at)
        self.trace.add(life, index, at, columns.tok_s[i], running, accept)
        self._recent[columns.offset[i]] = (life, index)
        if len(self._recent) > 4000:
            self._recent = dict(islice(self._recent.items(), 2000, None))

    def _prefill(self, columns: PrefillColumns, j: int, block: Block) -> None:
        at = columns.at[j]
        life = self._life_of_stats(at, columns.process[j], block)
        life.statistics.prefill(block.ranks[columns.rank[j]], columns.new_tokens[j])
        life.stats_line(at)
        self._note_time(at)

    def _event(self, event: LogEvent, block: Block) -> None:
        life = self.lives[-1]
        if event.at is not None:
            self._note_time(event.at)
        match event:
            case Launched():
                if not life.is_blank:
                    life = self._begin_life(event.at)
                life.launched(event.at, Launch(event.flags, event.is_complete))
                self._note_restart(life, event.at)
            case LaunchContinued():
                if life.launch is not None:
                    life.launch_continued(life.launch.continued(event.flags, is_complete=event.is_complete))
            case ProcessStarted():
                if life.server_pid not in (None, event.pid) and (life.is_established or life.has_ended):
                    life = self._begin_life(event.at)
                    self._note_restart(life, event.at)
                if life.server_pid is None:
                    life.server_pid = event.pid
            case Ready():
                if life.has_ended:
                    life = self._begin_life(event.at)
                    self._note_restart(life, event.at)
                life.became_ready(event)
                self._tell(self._time(event), Severity.OK, "ready")
            case Retracted():
                life.happenings.append(Happening("retraction", event.at, event.rank, detail=_requests(event.requests)))
                life.statistics.retract(event.rank)
                self._tell(self._time(event), Severity.WARNING, f"KV cache full: {_requests(event.requests)} put back")
            case Flushed():
                life.happenings.append(Happening("flush", event.at, event.rank, detail="prefix cache flushed"))
                life.statistics.interrupt(event.rank)
            case Crashed():
                if life.crashed(event):
                    text = f"crashed: {event.detail or event.cause}"
                    self.marks.append(Mark(self._time(event), MarkKind.CRASH, text))
                    self._tell(self._time(event), Severity.ALERT, text)
            case StopRequested():
                life.stop_requested(event, event.detail or "stop requested")
                self._tell(self._time(event), Severity.INFO, "asked to stop")
            case Exited():
                life.exited(event, event.detail or "ended")
            case WentIdle():
                life.went_idle()
            case EnvironmentSet():
                life.env[event.name] = event.value

    # -- lives -----------------------------------------------------------------------------------

    def _life_of_stats(self, at: float, pid: int, block: Block) -> Life:
        """The life that a statistics line belongs to: another process or a clock that runs back begins one."""
        life = self.lives[-1]
        previous = life.last_stats_at
        if at == at and previous is not None and at < previous - CLOCK_BACKWARDS_S:
            is_new_year = block.clock is not Clock.DATED and at < previous - _YEARLESS_STEP_S
            if not is_new_year:
                self.clock_steps += 1
                life = self._begin_life(at)
                self._note_restart(life, at)
        if pid >= 0:
            if pid not in life.stats_pids and life.stats_pids and life.is_established:
                newest = max(life.stats_pids.values())
                if at - newest >= _OTHER_PROCESS_S:
                    life = self._begin_life(at)
                    self._note_restart(life, at)
            life.stats_pids[pid] = at
        return life

    def _begin_life(self, at: float | None) -> Life:
        if self.lives:
            self.lives[-1].was_followed()
        life = Life(len(self.lives) + 1)
        life.fingerprint, self._next_fingerprint = self._next_fingerprint, None
        self.lives.append(life)
        return life

    def _note_restart(self, life: Life, at: float | None) -> None:
        if life.index == 1:
            return
        moment = at if at is not None and at == at else self._last_at
        if moment is not None:
            self.marks.append(Mark(moment, MarkKind.RESTART, "restart"))
            self._tell(moment, Severity.WARNING, "restarted")

    def _note_time(self, at: float) -> None:
        if at == at:
            self._last_at = at

    def _time(self, event: LogEvent) -> float:
        """When an event happened, else when the log last told the time."""
        return event.at if event.at is not None else self._last_at or 0.0

    # -- out -------------------------------------------------------------------------------------

    @property
    def life(self) -> Life | None:
        """The current one."""
        return self.lives[-1] if self.lives else None

    @property
    def engine(self) -> str | None:
        """Whose log it is; None while no line of it is known."""
        return self._engine if self.recognised else None

    @property
    def logged_role(self) -> Role:
        """What the log says, by its newest life that says anything."""
        return next((life.role for life in reversed(self.lives) if life.role is not Role.UNKNOWN), Role.UNKNOWN)

    @property
    def role(self) -> Role:
        """What the user says, else what the log says."""
        return self.declared if self.declared is not None else self.logged_role

    @property
    def revision(self) -> int:
        """Grows when an earlier verdict changes."""
        return sum(life.statistics.revision for life in self.lives)

    @property
    def usual_gap_s(self) -> float | None:
        """The median time between arrivals of samples."""
        times = list(self._arrivals)
        return median_of(sorted(later - earlier for earlier, later in pairwise(times)))

    @property
    def last_log_time(self) -> float | None:
        """The newest time on the log's clock."""
        return self._last_at

    def mark_of(self, position: int) -> tuple[bool, bool, str | None]:
        """Of the line at `position`: whether it is a sample, an unreadable one, and what left it out."""
        found = self._recent.get(position)
        if found is None:
            return False, position in self._unparsed_at, None
        return True, False, excluded_word(*found)

    def _keep_lines(self, framed: Framed, block: Block) -> None:
        assert self._log is not None
        *lines, _ = framed.data.rsplit(b"\n", self._log.held + 1)
        if len(lines) > self._log.held:
            lines = lines[1:]
            self._log.skip(block.lines - len(lines))
        position = framed.offset + len(framed.data) - sum(len(line) + 1 for line in lines)
        stamped = [*zip(block.decode.offset, block.decode.at, strict=True)]
        stamped += [(event.offset, event.at) for event in block.events if event.at is not None]
        times = sorted(pair for pair in stamped if pair[0] >= position)
        at = self._last_at if not times else times[0][1]
        told = 0
        for line in lines:
            while told < len(times) and times[told][0] <= position:
                at = times[told][1]
                told += 1
            self._log.add(self.key, position, at, line)
            position += len(line) + 1


class _Columns:
    """The optional columns of a block, None for those that it does not have."""

    __slots__ = (
        "accept_len",
        "accept_rate",
        "context_tokens",
        "cycle_ms",
        "graph",
        "queue",
        "tokens",
        "usage",
        "window_s",
    )

    def __init__(self, columns: SampleColumns) -> None:
        self.accept_len = _filled(columns.accept_len)
        self.accept_rate = _filled(columns.accept_rate)
        self.context_tokens = _filled(columns.context_tokens)
        self.cycle_ms = _filled(columns.cycle_ms)
        self.queue = _filled(columns.queue)
        self.tokens = _filled(columns.tokens)
        self.usage = _filled(columns.usage)
        self.window_s = _filled(columns.window_s)
        self.graph = columns.graph if len(columns.graph) else None


def _filled(column: array[float]) -> array[float] | None:
    return column if len(column) else None


def _requests(count: int | None) -> str:
    return "requests" if count is None else f"{count} request{'' if count == 1 else 's'}"
