"""Live sources, each in a task of its own, filling one session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from specmon.errors import SpecmonError
from specmon.feeds.backfill import Backfill, Depth
from specmon.feeds.recorder import Recorder
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Snapshot
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Refused, Source, SourceEvent
from specmon.sources.page import Door

# A new process is in the list before it writes its first line, but its children, which hold part of the
# environment, come seconds later: look at once, and again when they are there. A big model takes minutes to load, and
# until then the server itself answers nothing; those later looks are for what is still missing.
LOOKS_AFTER_LAUNCH_S = (0.0, 3.0, 15.0)
LATE_LOOKS_S = (60.0, 300.0)

# Short enough that a window of steady load holds some looks. A page has 60 kB, and the server makes it on demand.
COUNTERS_EVERY_S = 4.0
NO_COUNTERS_EVERY_S = 60.0
NO_PORT_EVERY_S = 1.0  # until the log or the process says where the server listens

NOT_READ = "not read: launch flags, environment, versions and GPUs"

_OVER_POLL_S = 0.1
_LAST_BYTES_S = 1.0  # what has been written last is still on its way


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a server's process told."""

    fingerprint: Fingerprint | None  # None: no process writes the log
    reason: str = ""  # why not all could be seen
    process: str = ""  # tells one process from the next


class Conditions(Protocol):
    """Asks a server's machine under which conditions the process runs that writes a log."""

    async def read(self) -> Seen:
        """The conditions now. Raises SpecmonError when nobody can tell."""
        ...


@dataclass(frozen=True, slots=True)
class CounterLook:
    """What a look at a server's metrics page brought."""

    page: Scrape | PageRefused | None
    reason: str = ""  # why there is no page, where the user can do something about it
    kept: bytes = b""  # of a page that is one: the lines that a capture keeps


class Counters(Protocol):
    """Asks a server for its counters."""

    async def read(self, door: Door, at: float) -> CounterLook:
        """The metrics page of the server that listens there; every fault is an answer."""
        ...

    async def conditions(self, engine: str, door: Door, model: str | None) -> Seen:
        """What the server there says of its own conditions; every fault is an answer."""
        ...


@dataclass(frozen=True, slots=True)
class Channel:
    """One server: its key in the session, its log, its conditions."""

    key: str
    source: Source
    conditions: Conditions | None = None
    counters: Counters | None = None


class LiveFeed:
    """Runs every channel until it ends; none of them can stop another."""

    def __init__(
        self,
        session: Session,
        channels: Sequence[Channel],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        told: Callable[[], str] = lambda: "",
        is_over: Callable[[], bool] | None = None,
        recorder: Recorder | None = None,
        past: Depth | None = None,
        arrivals: Sequence[Callable[[LiveFeed], Awaitable[None]]] = (),
    ) -> None:
        """`past`: how far back the logs are read beside being followed; None: not at all.

        `arrivals` run beside the channels, and may let further ones join.
        """
        self._session = session
        self._channels = list(channels)
        self._arrivals = tuple(arrivals)
        self._tasks: asyncio.TaskGroup | None = None
        self._clock = clock
        self._sleep = sleep
        self._told = told
        self._is_over = is_over
        self._recorder = recorder
        self._past = past
        self._turn = asyncio.Lock()  # of those who tell a source again
        self._backfills: dict[str, Backfill] = {}  # by channel
        self.has_told_fault = False  # of the capture
        self._told_reasons: set[tuple[str, str]] = set()  # with their channels
        self.news = asyncio.Event()  # set by whatever comes; cleared by the one who waits for it
        self.refusals: list[str] = []  # one sentence a channel that will not open
        self.telling: Callable[[str, str], object] | None = None  # hears what `tell` adds: key and reason

    @property
    def controls(self) -> None:
        """A live session cannot be steered."""
        return None

    @property
    def session(self) -> Session:
        """What is filled."""
        return self._session

    async def run(self) -> None:
        """Until every source has ended, or the session is over."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for arrival in self._arrivals:
                tasks.create_task(self._run(arrival))
            pumps = [tasks.create_task(self._pump(channel)) for channel in self._channels]
            if self._is_over is not None:
                tasks.create_task(self._stop_when(self._is_over, pumps))

    async def _run(self, arrival: Callable[[LiveFeed], Awaitable[None]]) -> None:
        await arrival(self)

    def join(self, channel: Channel) -> None:
        """Follow one more server, while the feed runs."""
        assert self._tasks is not None, "the feed runs"
        self._channels.append(channel)
        self._tasks.create_task(self._pump(channel))

    def snapshot(self) -> Snapshot:
        """The session now."""
        return self._session.snapshot(self._clock(), demo_note=self._told())

    def put(self, key: str, side: Role) -> None:
        """Let a server stand on a side of the comparison."""
        self._session.put(key, side)

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]]) -> None:
        """Another reference for the session, or none."""
        self._session.hold_against(reference, others)
        self.news.set()

    def take(self, key: str, event: SourceEvent) -> None:
        """What a source says, for the session and the capture."""
        self._session.feed(key, event)
        self.news.set()
        if key in self._backfills:
            self._backfills[key].hear(event)
        if isinstance(event, Refused):
            self.refusals.append(event.reason)
        if self._recorder is not None:
            self._recorder.feed(key, event)
            if self._recorder.fault is not None and not self.has_told_fault:
                self.has_told_fault = True
                self.tell(key, self._recorder.fault)

    def tell(self, key: str, reason: str) -> None:
        """Why something could not be had of a server, each once: its conditions, its metrics page."""
        self._session.tell(key, self._clock(), reason)
        if self.telling is not None:
            self.telling(key, reason)

    async def _stop_when(self, is_over: Callable[[], bool], pumps: Sequence[asyncio.Task[None]]) -> None:
        while not is_over() and not all(pump.done() for pump in pumps):
            await self._sleep(_OVER_POLL_S)
        await self._sleep(_LAST_BYTES_S)
        for pump in pumps:
            pump.cancel()
        self._session.finish()

    async def _pump(self, channel: Channel) -> None:
        lives = -1
        filling: asyncio.Task[None] | None = None
        if self._past is not None:
            backfill = self._backfills[channel.key] = Backfill(
                self._session, channel.key, channel.source, depth=self._past, clock=self._clock, turn=self._turn
            )
            filling = asyncio.create_task(self._backfill(channel.key, backfill))
        looking: asyncio.Task[None] | None = None
        counting = None if channel.counters is None else asyncio.create_task(self._count(channel, channel.counters))
        try:
            async for event in channel.source.events():
                self.take(channel.key, event)
                if (newest := self._session.server(channel.key).runs) != lives:
                    lives = newest
                    if looking is not None:
                        looking.cancel()
                    looking = asyncio.create_task(self._look(channel))
            self._session.finish(channel.key)
        finally:
            if looking is not None:
                looking.cancel()
            if counting is not None:
                counting.cancel()
            if filling is not None:
                filling.cancel()

    async def _backfill(self, key: str, backfill: Backfill) -> None:
        """Read the past of a log that is followed."""
        try:
            await backfill.run()
        finally:
            self._backfills.pop(key, None)

    async def _look(self, channel: Channel) -> None:
        if channel.conditions is None:
            return
        fault, is_whole = "", False
        for number, delay_s in enumerate((*LOOKS_AFTER_LAUNCH_S, *LATE_LOOKS_S)):
            if number >= len(LOOKS_AFTER_LAUNCH_S) and is_whole:
                break
            await self._sleep(delay_s)
            try:
                seen = await channel.conditions.read()
                fault = ""
            except SpecmonError as error:
                fault = f"{NOT_READ}: {error}"  # told at the end: the next look may succeed
                seen = Seen(None, fault)
            if seen.fingerprint is None:
                seen = await self._by_page(channel, seen)
            is_whole = seen.fingerprint is not None and not seen.reason
            if seen.fingerprint is not None:
                self._session.attach_fingerprint(channel.key, seen.fingerprint, seen.process)
                if self._recorder is not None:
                    self._recorder.attach(channel.key, seen.fingerprint, seen.process)
            if fault:
                fault = seen.reason
            else:
                self._tell(channel, seen.reason)
        self._tell(channel, fault)

    async def _by_page(self, channel: Channel, seen: Seen) -> Seen:
        """Where no process can be looked at, the server itself is asked; what came of looking stays if it is silent."""
        server = self._session.server(channel.key)
        life = server.life
        if channel.counters is None or life is None or life.has_ended or server.engine is None:
            return seen
        host, port = life.address
        if port is None:
            return seen
        model = None if life.launch is None else life.launch.model
        told = await channel.counters.conditions(server.engine, Door(host, port, life.speaks_tls), model)
        if told.fingerprint is None or self._session.server(channel.key).life is not life:
            return Seen(None, "; ".join(part for part in (seen.reason, told.reason) if part))
        unread = "environment and GPUs" if told.fingerprint.flags is not None else "launch flags, environment and GPUs"
        why = seen.reason.removeprefix(NOT_READ).removeprefix(": ")
        return Seen(told.fingerprint, f"not read: {unread}: {why}" if why else "")

    async def _count(self, channel: Channel, counters: Counters) -> None:
        """Look at the metrics page as long as the log is followed, less often while it gives nothing."""
        while True:
            life, delay_s = self._session.server(channel.key).life, COUNTERS_EVERY_S
            host, port = life.address if life is not None else (None, None)
            if port is None:
                delay_s = NO_PORT_EVERY_S
            if life is not None and port is not None and not life.has_ended:
                look = await counters.read(Door(host, port, life.speaks_tls), self._clock())
                if not isinstance(look.page, Scrape):
                    delay_s = NO_COUNTERS_EVERY_S
                if isinstance(look.page, Scrape) and self._recorder is not None:
                    self._recorder.look(channel.key, look.kept, look.page.at or self._clock())
                # Not of the life before a restart.
                if self._session.server(channel.key).life is life:
                    self._session.attach_page(channel.key, look.page)
                self._tell(channel, look.reason)
            await self._sleep(delay_s)

    def _tell(self, channel: Channel, reason: str) -> None:
        # Conditions and metrics page take turns, and each look may fail as the one before.
        if reason and (channel.key, reason) not in self._told_reasons:
            self._told_reasons.add((channel.key, reason))
            self.tell(channel.key, reason)
