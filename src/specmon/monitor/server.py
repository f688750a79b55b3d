"""One server from its bytes: chunks become lines, lines become blocks, blocks become lives."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from specmon.analysis.spread import median_of
from specmon.events import Block, Clock
from specmon.formats import Dialect
from specmon.monitor.history import History
from specmon.monitor.life import Life
from specmon.monitor.loglines import LogBuffer
from specmon.monitor.snapshot import Link, LinkState, Role, Severity
from specmon.references.fingerprint import Fingerprint
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.framing import Framed, LineFramer

_HELD_UNPARSED = 1000


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
        self.declared = declared  # what the user says it is
        self.history = History(key)
        self.link = Link()
        self.version = 0  # grows with every change
        self.lines = 0
        self.samples = 0
        self.unparsed = 0
        self.clipped = 0
        self.recognised = 0
        self.unreadable: str | None = None  # why the source could not be opened
        self.clocks: set[Clock] = set()
        self.utc_offset_s: int | None = None
        self.last_answer_at: float | None = None  # a request was answered, on the log's clock
        self.arrived_at: float | None = None  # when the newest sample came in
        self._engine = dialect.engine
        self._parser = dialect.open()
        self._framer = LineFramer()
        self._base = 0  # position of the present file's first byte
        self._end = 0  # position after the last byte
        self._log = log
        self._backlog_end = 0  # offset up to which the file was written before we looked
        self._arrivals: deque[float] = deque(maxlen=20)
        self._unparsed_at: deque[int] = deque(maxlen=_HELD_UNPARSED)

    # -- in --------------------------------------------------------------------------------------

    def feed(self, event: SourceEvent) -> None:
        """Take what the source says."""
        self.version += 1
        match event:
            case Chunk():
                self._set_link(LinkState.LIVE)
                self._end = self._base + event.offset + len(event.data)
                if (framed := self._framer.feed(event.data, self._base + event.offset)) is not None:
                    self._read(framed, None if event.offset < self._backlog_end else event.at)
            case Connected():
                if self.link.state is LinkState.WAITING:
                    self.history.tell(event.at, Severity.OK, f"reconnected {event.detail}".strip())
                self._set_link(LinkState.LIVE, event.detail)
                self._backlog_end = event.size or 0
            case CaughtUp():
                self._backlog_end = 0
            case Waiting():
                if self.link.state is not LinkState.WAITING:
                    self.history.tell(event.at, Severity.WARNING, event.reason)
                self.link = Link(LinkState.WAITING, event.reason, event.at + event.delay_s)
            case Rotated():
                self._framer.reset()
                self._base = self._end
                self._backlog_end = 0
                if event.reason == "truncated":
                    self.history.truncated()
                self.history.tell(event.at, Severity.INFO, f"log {event.reason}: the next file follows")
            case Gap():
                self._framer.reset()
                self.history.gap(event.at, event.size_bytes, event.reason)
            case Refused():
                self._set_link(LinkState.REFUSED, event.reason)
                if not self.lives:
                    self.unreadable = event.reason
                self.history.tell(event.at, Severity.ALERT, event.reason)

    def finish(self) -> None:
        """The source has ended; a last line without its end stays unread."""
        if self.link.state is not LinkState.REFUSED:
            self._set_link(LinkState.ENDED)
        self._absorb(self._parser.finish(), None)
        self.version += 1

    def attach_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Conditions read from outside the log (see `Lives.attach_fingerprint`)."""
        self.version += 1
        self.history.lives.attach_fingerprint(fingerprint)

    def _set_link(self, state: LinkState, detail: str = "") -> None:
        if self.link.state is not state or detail:
            self.link = Link(state, detail)

    def _read(self, framed: Framed, arrived_at: float | None) -> None:
        block = self._parser.feed(framed.data, framed.offset)
        self._absorb(block, arrived_at)
        if self._log is not None:
            self._keep_lines(self._log, framed, block)

    def _absorb(self, block: Block, arrived_at: float | None) -> None:
        self.lines += block.lines
        self.recognised += block.recognised
        self.clipped += block.clipped
        self.unparsed += len(block.unparsed)
        self._unparsed_at.extend(block.unparsed)
        if block.utc_offset_s is not None:
            self.utc_offset_s = block.utc_offset_s
        if len(block.decode) or block.events:
            self.clocks.add(block.clock)
        answered = block.answers.last_at
        if answered is not None and (self.last_answer_at is None or answered > self.last_answer_at):
            self.last_answer_at = answered
        if block.recognised and not self.lives:
            self.history.lives.begin()
        self.history.absorb(block)
        if len(block.decode):
            self.samples += len(block.decode)
            if arrived_at is not None:
                self.arrived_at = arrived_at
                if not self._arrivals or arrived_at > self._arrivals[-1]:
                    self._arrivals.append(arrived_at)

    def _keep_lines(self, log: LogBuffer, framed: Framed, block: Block) -> None:
        """Hand the newest lines on, each with the time that the log last told."""
        *lines, _ = framed.data.rsplit(b"\n", log.held + 1)
        if len(lines) > log.held:
            lines = lines[1:]  # the unsplit rest
            log.skip(block.lines - len(lines))
        position = framed.offset + len(framed.data) - sum(len(line) + 1 for line in lines)
        stamped = [*zip(block.decode.offset, block.decode.at, strict=True)]
        stamped += [(event.offset, event.at) for event in block.events if event.at is not None]
        times = sorted(pair for pair in stamped if pair[0] >= position)
        at = times[0][1] if times else self.history.last_at
        told = 0
        for line in lines:
            while told < len(times) and times[told][0] <= position:
                at = times[told][1]
                told += 1
            log.add(self.key, position, at, line)
            position += len(line) + 1

    # -- out -------------------------------------------------------------------------------------

    @property
    def lives(self) -> list[Life]:
        """All lives, oldest first."""
        return self.history.lives.all

    @property
    def life(self) -> Life | None:
        """The current one."""
        return self.history.lives.current

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
        return median_of(sorted(later - earlier for earlier, later in pairwise(self._arrivals)))

    def mark_of(self, position: int) -> tuple[bool, bool, str | None]:
        """Of the line at `position`: whether it is a sample, an unreadable one, and what left it out."""
        is_sample, excluded = self.history.mark_of(position)
        return is_sample, position in self._unparsed_at, excluded
