"""Captured logs played by their own clock: play, pause, any speed, seek both ways, step by samples."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from specmon.captures.manifest import Life
from specmon.captures.reader import life_at
from specmon.feeds.timeline import CHUNK_BYTES, Timeline
from specmon.monitor.moments import moments_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Moment, Playback, Role, Snapshot
from specmon.references.model import Reference
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Chunk

LADDER = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, math.inf)
TICK_S = 0.05
# Two servers that shared one set of GPUs ran one after the other: nobody waits through the hours between.
LONGEST_SILENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a metrics page. A moment that nobody knows is the end (infinite)."""

    at: float  # on the clock of the replay
    page: Scrape | PageRefused


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """One log of a replay."""

    key: str
    path: Path
    timeline: Timeline
    lives: tuple[Life, ...] = ()
    looks: tuple[Look, ...] = ()  # in the order of their moments


class ReplayFeed:
    """Feeds sessions from captured logs. Also the controls of its own playback.

    A session only ever goes forward, so going back means a new session that is fed up to the wanted moment.
    """

    def __init__(
        self,
        new_session: Callable[[], Session],
        logs: Sequence[ReplayLog],
        *,
        speed: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        starts_at: float | None = None,
        stays: bool = True,
        told: Callable[[float], str] = lambda _: "",
    ) -> None:
        self._new_session = new_session
        self._logs = tuple(logs)
        self._clock = clock
        self._sleep = sleep
        self._told = told
        self._stays = stays
        self._moments = sorted({at for log in logs for at in log.timeline.arrivals.at if math.isfinite(at)})
        self._samples = sorted(at for log in logs for at in log.timeline.samples if math.isfinite(at))
        self._start = starts_at if starts_at is not None else (self._moments[0] if self._moments else 0.0)
        self._end = max(self._moments[-1], self._start) if self._moments else self._start
        self._position = self._start
        self._speed = speed
        self._is_paused = False
        self._wanted: float | None = None  # where a seek goes
        self._is_finished = False
        self._put: list[tuple[str, Role]] = []  # what a session that begins anew is told again
        self._held_against: tuple[Reference | None, Callable[[], tuple[Reference, ...]]] | None = None  # likewise
        self._session = self._begun_session()
        self._surveying: asyncio.Task[None] | None = None
        self.news = asyncio.Event()  # set by whatever comes; cleared by the one who waits for it
        self._fed = dict.fromkeys((log.key for log in logs), 0)
        self._looked = dict.fromkeys((log.key for log in logs), 0)
        self._life: dict[str, Life | None] = {}  # whose conditions the session has
        self._told_unread: set[int] = set()  # lives whose gaps were told
        self._lives: dict[str, int] = {}  # lives that the session has seen, by log
        self._shown: tuple[int, int, Playback] | None = None  # what the last picture was made of
        self._generation = 0  # of the session: a seek back begins a new one
        self._version = 0
        self._moments_told: tuple[Moment, ...] = ()  # of the whole replay

    # controls

    def toggle_pause(self) -> None:
        """Stop the clock, or let it run on; at the end, begin again."""
        if self._position >= self._end and self._wanted is None:
            self._wanted, self._is_paused = self._start, False
        else:
            self._is_paused = not self._is_paused

    def change_speed(self, steps: int) -> None:
        """Up or down the ladder; a speed between two rungs goes to the next one in that direction."""
        rung = bisect_left(LADDER, self._speed) if steps < 0 else bisect_right(LADDER, self._speed) - 1
        self._speed = LADDER[min(max(rung + steps, 0), len(LADDER) - 1)]

    def seek(self, position: float) -> None:
        """Go to a moment; out of range means the nearer end. At full speed the replay stops there, to be seen."""
        self._wanted = min(max(position, self._start), self._end)
        self._is_paused = self._is_paused or math.isinf(self._speed)

    def step(self, samples: int) -> None:
        """Go to the moment of the sample that is `samples` further on (or back), and pause there."""
        here = self._position if self._wanted is None else self._wanted
        index = bisect_right(self._samples, here) - 1 if samples > 0 else bisect_left(self._samples, here)
        if self._samples:
            target = self._samples[min(max(index + samples, 0), len(self._samples) - 1)]
            # Behind the last sample there may be lines still: a step forward never goes back.
            self._wanted = max(target, here) if samples > 0 else min(target, here)
            self._is_paused = True

    @property
    def controls(self) -> ReplayFeed:
        """A replay steers itself."""
        return self

    @property
    def session(self) -> Session:
        """What is filled now; going back begins another one."""
        return self._session

    def put(self, key: str, side: Role) -> None:
        """Let a server stand on a side of the comparison, also after a seek."""
        self._put.append((key, side))
        self._session.put(key, side)

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]]) -> None:
        """Another reference, or none, also after a seek; the marks of the replay bar follow in a while."""
        self._held_against = reference, others
        self._session.hold_against(reference, others)
        if self._surveying is not None:
            self._begin_survey()

    def _begun_session(self) -> Session:
        session = self._new_session()
        for log in self._logs:
            session.know_clock(log.key, log.timeline.ahead_s)
        if self._held_against is not None:
            session.hold_against(*self._held_against)
        return session

    # the feed

    async def run(self) -> None:
        """Play to the end, and stay there for a seek when the feed `stays`."""
        await self._advance(self._position)
        if self._stays:  # nobody jumps about in a replay that ends by itself
            self._begin_survey()
        try:
            await self._play()
        finally:
            if self._surveying is not None:
                self._surveying.cancel()

    def _begin_survey(self) -> None:
        if self._surveying is not None:
            self._surveying.cancel()
        self._surveying = asyncio.create_task(self._survey())

    async def _survey(self) -> None:
        """Read the logs once to their end in a session of their own: its events are the marks on the replay bar."""
        ahead = ReplayFeed(
            self._begun_session,
            self._logs,
            speed=math.inf,
            clock=self._clock,
            sleep=self._sleep,
            starts_at=self._start,
            stays=False,
        )
        with suppress(OSError):  # a log that went away: playing it tells so
            await ahead.run()
        self._moments_told = moments_of(ahead.snapshot())

    async def _play(self) -> None:
        last, told = self._clock(), (self._generation, -1)
        while self._stays or not self._is_finished:
            now = self._clock()
            elapsed, last = now - last, now
            if self._wanted is not None:
                wanted, self._wanted = self._wanted, None
                await self._go_to(wanted)
                last = self._clock()
            elif not self._is_paused and self._position < self._end:
                await self._advance(self._next_position(elapsed))
            if (state := (self._generation, self._session.version)) != told:
                told = state
                self.news.set()
            await self._sleep(TICK_S)

    def snapshot(self) -> Snapshot:
        """The session at the playing position."""
        playback = Playback(self._position, self._start, self._end, self._speed, self._is_paused, self._moments_told)
        picture = self._session.snapshot(self._position, playback=playback, demo_note=self._told(self._position))
        shown = (self._generation, picture.version, playback)
        if shown != self._shown:
            self._shown = shown
            self._version += 1
        return replace(picture, version=self._version)

    def _next_position(self, elapsed_s: float) -> float:
        if math.isinf(self._speed):
            return self._end
        position = self._position + elapsed_s * self._speed
        upcoming = bisect_right(self._moments, self._position)
        if upcoming < len(self._moments) and self._moments[upcoming] - self._position > LONGEST_SILENCE_S:
            position = max(position, self._moments[upcoming] - 1.0)
        return min(position, self._end)

    async def _go_to(self, position: float) -> None:
        if position < self._position:
            self._session = self._begun_session()
            for key, side in self._put:
                self._session.put(key, side)
            self._fed = dict.fromkeys(self._fed, 0)
            self._looked = dict.fromkeys(self._looked, 0)
            self._life.clear()
            self._told_unread.clear()
            self._lives.clear()
            self._generation += 1
            self._is_finished = False
            self._position = self._start
        await self._advance(position)

    async def _advance(self, position: float) -> None:
        """Feed all that had been written by then, in slices, so that the logs stay in step with each other."""
        slice_s = max(0.25, (position - self._position) / 50)
        while True:
            moment = min(self._position + slice_s, position)
            for log in self._logs:
                self._tell_life(log, moment)
                await self._feed(log, log.timeline.arrivals.size_at(moment), moment)
                self._tell_new_life(log, moment)
                self._look(log, moment)
            self._position = moment
            if moment >= position:
                break
            await asyncio.sleep(0)
        if self._position >= self._end and not self._is_finished:
            self._is_finished = True
            for log in self._logs:
                self._look(log, math.inf)
            self._session.finish()

    async def _feed(self, log: ReplayLog, size: int, moment: float) -> None:
        if (offset := self._fed[log.key]) >= size:
            return
        with log.path.open("rb") as file:
            file.seek(offset)
            while offset < size and (data := file.read(min(CHUNK_BYTES, size - offset))):
                self._session.feed(log.key, Chunk(moment, offset, data))
                offset += len(data)
                self._fed[log.key] = offset
                await asyncio.sleep(0)

    def _look(self, log: ReplayLog, moment: float) -> None:
        done = self._looked[log.key]
        while done < len(log.looks) and log.looks[done].at <= moment:
            self._session.attach_page(log.key, log.looks[done].page)
            done += 1
        self._looked[log.key] = done

    def _tell_new_life(self, log: ReplayLog, moment: float) -> None:
        """Conditions that a restart did not change are told again, now that the log has the life they belong to."""
        lives = sum(server.runs for server in self._session.servers if server.key == log.key)
        if lives != self._lives.get(log.key, 0):
            self._lives[log.key] = lives
            self._life.pop(log.key, None)
            self._tell_life(log, moment)

    def _tell_life(self, log: ReplayLog, moment: float) -> None:
        life = life_at(log.lives, moment)
        if life is not None and life is not self._life.get(log.key):
            self._life[log.key] = life
            self._session.attach_fingerprint(log.key, life.fingerprint)
            if life.unread and id(life) not in self._told_unread:
                self._told_unread.add(id(life))
                self._session.tell(log.key, moment, life.fingerprint.unread_sentence)
