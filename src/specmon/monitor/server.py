"""One server from what its dialect reads: blocks become lives, and what the source says becomes its link."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from specmon.analysis.counters import stretches_of
from specmon.analysis.spread import median_of
from specmon.events import FIRST_DATED_S, Block
from specmon.monitor.axis import zone_between
from specmon.monitor.history import MANY, History
from specmon.monitor.life import Life
from specmon.monitor.snapshot import Link, LinkState, Role, Severity
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting

if TYPE_CHECKING:
    from specmon.references.fingerprint import Fingerprint

_HELD_UNPARSED = 1000


@dataclass(frozen=True, slots=True)
class Past:
    """What of a log lies before the part that was read."""

    unread_bytes: int
    is_awaited: bool  # more of it is being read


class ServerMonitor:
    """Follows one server. Positions are counted on over rotations, so that one names a line for good."""

    def __init__(
        self,
        key: str,
        source: str,
        *,
        declared: Role | None = None,
        is_watched: bool = True,
        is_measured: bool = True,
    ) -> None:
        self.key = key
        self.source = source
        self.declared = declared  # what the user says it is
        self.stream: str | None = None  # a carrier's label, when its source carries several servers
        self.is_split = False  # its source carries several servers
        self.history = History(key, is_watched=is_watched, is_measured=is_measured)
        self.link = Link()
        self.version = 0  # grows with every change
        self.lines = 0
        self.has_text = False  # something else than blank lines has come from its source
        self.samples = 0
        self.unparsed = 0
        self.clipped = 0
        self.gaps: list[str] = []  # why bytes of the log are missing
        self.hidden = 0  # lines of which a carrier shows only the size
        self.recognised = 0
        self.outside = 0  # samples outside the times asked for
        self.run: int | None = None  # the life that is asked for, counted from 1; None: the newest
        self.engine: str | None = None  # whose log it is; None while no line of it is known
        self.engines: list[str] = []  # all whose lines have been read
        self.engine_returns = 0  # changes back to one of them
        self.unreadable: str | None = None  # why the source could not be opened
        self.is_undated = False  # some stamps lack a date or a year, or count from the start of the process
        self.first_at: int | None = None  # position of the first line that proved the engine
        self.last_answer_at: float | None = None  # a request was answered, on the log's clock
        self.arrived_at: float | None = None  # when the newest sample came in
        self.ended_run_at: float | None = None  # no process writes its log any more: when that was last written
        self.past: Past | None = None  # None: there is none, or nobody knows
        self.known_ahead_s: float | None = None  # of its log's clock before the session's, told by whoever knows
        self._ahead: deque[float] = deque(maxlen=20)  # of the newest samples: their stamps less their arrivals
        self._arrivals: deque[float] = deque(maxlen=20)
        self._unparsed_at: deque[int] = deque(maxlen=_HELD_UNPARSED)

    # -- in --------------------------------------------------------------------------------------

    def hear(self, event: SourceEvent) -> None:
        """Take what the source says of itself."""
        self.version += 1
        match event:
            case Chunk():
                self._set_link(LinkState.LIVE)
            case Connected():
                if self.link.state is LinkState.WAITING:
                    self.history.chronicle.tell(
                        event.at, Severity.OK, f"reconnected {event.detail}".strip(), is_ours=True
                    )
                self._set_link(LinkState.LIVE, event.detail)
            case Waiting():
                if self.link.state is not LinkState.WAITING:
                    self.history.chronicle.tell(event.at, Severity.WARNING, event.reason, is_ours=True)
                self.link = Link(LinkState.WAITING, event.reason, event.at + event.delay_s)
            case Rotated():
                if event.reason == "truncated":
                    self.history.truncated()
                is_word = " " not in event.reason
                told = f"log {event.reason}: the next file follows" if is_word else f"{event.reason}: it follows"
                self.history.chronicle.tell(event.at, Severity.INFO, told, is_ours=True)
            case Gap():
                self.gaps = [*self.gaps[-9:], event.reason]
                self.history.gap(event.at, event.size_bytes, event.reason)
            case Refused():
                self._set_link(LinkState.REFUSED, event.reason)
                if not self.lives:
                    self.unreadable = event.reason
                self.history.chronicle.tell(event.at, Severity.ALERT, event.reason, is_ours=True)

    def finish(self) -> None:
        """The source has ended; a last line without its end stays unread."""
        if self.link.state is not LinkState.REFUSED:
            self._set_link(LinkState.ENDED)
        for life in self.lives:
            life.counters.finish()
        self.version += 1

    def attach_fingerprint(self, fingerprint: Fingerprint, process: str = "") -> None:
        """Conditions read from outside the log (see `Lives.attach_fingerprint`)."""
        self.version += 1
        self.history.lives.attach_fingerprint(fingerprint, process)

    def look(self, page: Scrape | PageRefused | None) -> None:
        """A look at the metrics page of the server while its current life went on; None when there was no page."""
        if self.lives and self.history.is_measured:
            self.version += 1
            self.lives[-1].looked_at(page)

    def look_back(self, pages: Iterable[Scrape | PageRefused]) -> None:
        """A whole series of looks, after the log was read.

        Each reset of the counters is a restart, so that as many stretches as lives belong to these one by one;
        otherwise only the last stretch has a life that it must be of: the last one.
        """
        if not self.lives:
            return
        self.version += 1
        lives = self.lives
        stretches: Sequence[Iterable[Scrape | PageRefused]] = (pages,) if len(lives) == 1 else stretches_of(pages)
        if len(stretches) != len(lives):
            lives, stretches = lives[-1:], stretches[-1:]
        for life, stretch in zip(lives, stretches, strict=True):
            for page in stretch:
                life.looked_at(page)
            life.counters.finish()

    def _set_link(self, state: LinkState, detail: str = "") -> None:
        if self.link.state is not state or detail:
            self.link = Link(state, detail)

    def absorb(self, block: Block, engine: str | None, arrived_at: float | None) -> None:
        """Take in what a dialect read; `arrived_at` is None for what was written before anybody looked."""
        if engine is not None and block.recognised:
            if self.engine not in (None, engine) and self.life is not None and not self.life.is_blank:
                self.history.lives.begin()  # another engine has taken over the log
                self.history.zone_s = None
            self._note_engine(engine)
        self.recognised += block.recognised
        self.outside += block.outside
        self.clipped += block.clipped
        self.unparsed += len(block.unparsed)
        self._unparsed_at.extend(block.unparsed)
        self.is_undated = self.is_undated or (
            _is_any_below(block.decode.at, FIRST_DATED_S)
            or any(event.at is not None and event.at < FIRST_DATED_S for event in block.events)
        )
        answered = block.answers.last_at
        if answered is not None and (self.last_answer_at is None or answered > self.last_answer_at):
            self.last_answer_at = answered
        if block.recognised and not self.lives:
            self.history.lives.begin()
        self.history.absorb(block, arrived_at)
        if len(block.decode):
            self.samples += len(block.decode)
            if arrived_at is not None:
                self.arrived_at = arrived_at
                if not self._arrivals or arrived_at > self._arrivals[-1]:
                    self._arrivals.append(arrived_at)
                    if (at := block.decode.at[-1]) >= FIRST_DATED_S:
                        self._ahead.append(at - arrived_at)

    def _note_engine(self, engine: str) -> None:
        if engine == self.engine:
            return
        if engine in self.engines:
            self.engine_returns += 1
        else:
            self.engines.append(engine)
        self.engine = engine

    # -- out -------------------------------------------------------------------------------------

    @property
    def lives(self) -> list[Life]:
        """All lives that are held, oldest first: in a live session and a replay the newest 200."""
        return self.history.lives.all

    @property
    def runs(self) -> int:
        """How many lives there have been."""
        return self.history.lives.begun

    @property
    def life(self) -> Life | None:
        """The one whose figures are asked for: the current one, unless a run was named."""
        if self.run is None:
            return self.history.lives.current
        held = self.history.lives.since(self.run)
        return held[0] if held and held[0].index == self.run else None

    @property
    def is_ended_run(self) -> bool:
        """A run of the past that stands in for a server that does not run; until its log grows again."""
        return self.ended_run_at is not None and self.arrived_at is None

    @property
    def utc_offset_s(self) -> int | None:
        """The zone of the life whose figures are asked for, where its stamps carry one."""
        return None if self.life is None else self.life.utc_offset_s

    @property
    def clock_ahead_s(self) -> float | None:
        """How far its log's clock is ahead of the session's, in whole quarters of an hour; None when nobody knows.

        What its stamps say of their zone counts first, then how they stand to their arrivals: the least late one.
        """
        if self.known_ahead_s is not None:
            return self.known_ahead_s
        if self.history.zone_s is not None:
            return float(self.history.zone_s)
        if self._ahead:
            return zone_between(max(self._ahead), 0.0)
        last = self.history.last_at
        if self.ended_run_at is not None and last is not None and last >= FIRST_DATED_S:
            return zone_between(last, self.ended_run_at)  # written when the file was last touched
        return None

    @property
    def logged_role(self) -> Role:
        """What the log says, by its newest life that says anything."""
        return next((life.role for life in reversed(self.lives) if life.role is not Role.UNKNOWN), Role.UNKNOWN)

    @property
    def role(self) -> Role:
        """What the user says, else what the log says.

        Of several servers in one source the user means those whose own log does not say otherwise.
        """
        if self.declared is None or (self.is_split and self.logged_role is not Role.UNKNOWN):
            return self.logged_role
        return self.declared

    @property
    def revision(self) -> int:
        """Grows when an earlier verdict changes."""
        return self.history.lives.gone_revision + sum(life.statistics.revision for life in self.lives)

    @property
    def usual_gap_s(self) -> float | None:
        """The median time between arrivals of samples."""
        return median_of(sorted(later - earlier for earlier, later in pairwise(self._arrivals)))

    def mark_of(self, position: int) -> tuple[bool, bool, str | None]:
        """Of the line at `position`: whether it is a sample, an unreadable one, and what left it out."""
        is_sample, excluded = self.history.mark_of(position)
        return is_sample, position in self._unparsed_at, excluded


def _is_any_below(times: array[float], limit: float) -> bool:
    """Whether some time lies before `limit`; NaN is no time."""
    if len(times) < MANY:
        return any(at < limit for at in times)
    from specmon.monitor.bulk import is_any_below  # numpy, for long blocks only

    return is_any_below(times, limit)
