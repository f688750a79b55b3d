"""Reads what a followed log held before, while it is followed: its first bytes, then backwards from what was read.

The first picture comes from the last megabytes and waits for none of this. A launch line mostly stands in the first
megabyte, but a later one counts more: the log is read backwards for it, and each time that much more is known, the
source is told again from there on (`monitor.rebuild`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from specmon.errors import SourceLost, SourceRefused
from specmon.monitor.pastlog import PastLog
from specmon.monitor.rebuild import rebuild
from specmon.monitor.server import Past
from specmon.monitor.session import Session
from specmon.sources.events import CaughtUp, Chunk, Connected, FileIdentity, Source, SourceEvent
from specmon.sources.follow import BACKFILL_BYTES, backoff_s
from specmon.sources.past import PIECE_BYTES, HasPast, PastFile, PastGone
from specmon.sources.pieces import Pieces

HEAD_BYTES = 1 << 20  # in which a launch line mostly stands
FIRST_STEP_BYTES = 4 << 20  # as much is read before the source is told again; each time it is four times as much
_STEP_FACTOR = 4
_MOST_TOLD_BYTES = 64 << 20  # a log that grows faster than it can be told again is left as it is


@dataclass(frozen=True, slots=True)
class Depth:
    """How far back logs are read."""

    most_bytes: int | None = BACKFILL_BYTES  # None: to the first byte
    piece_bytes: int = PIECE_BYTES
    head_bytes: int = HEAD_BYTES
    first_step_bytes: int = FIRST_STEP_BYTES


class Backfill:
    """The past of one source of a session."""

    def __init__(
        self,
        session: Session,
        key: str,
        source: Source,
        *,
        depth: Depth,
        clock: Callable[[], float],
        turn: asyncio.Lock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`turn` is for those who tell a source again: one at a time."""
        self._session = session
        self._key = key
        self._source = source
        self._depth = depth
        self._clock = clock
        self._turn = turn
        self._sleep = sleep
        self._chance = chance
        self._identity: FileIdentity | None = None
        self._join: tuple[int, bytes] | None = None  # offset and bytes of the first chunk
        self._is_caught_up = asyncio.Event()
        self._kept_from = 0  # the place from which on the log's lines are kept
        session.remember(key)

    def hear(self, event: SourceEvent) -> None:
        """What the source says, after the session has heard it."""
        if self._join is not None and self._is_caught_up.is_set():
            return
        match event:
            case Connected() if self._join is None:
                self._identity = event.identity
            case Chunk() if self._join is None:
                self._join = event.offset, event.data
                if event.offset and self._identity is not None:
                    self._tell_past(event.offset, is_awaited=True)
            case CaughtUp():
                self._is_caught_up.set()

    async def run(self) -> None:
        """Until the past is read as far as is wanted, or can be."""
        try:
            await self._is_caught_up.wait()
            while self._join is None:  # an empty tail, or one long line
                await self._sleep(0.1)
            await self._read(*self._join)
        finally:
            self._session.forget(self._key)

    async def _read(self, join: int, following: bytes) -> None:
        identity, source = self._identity, self._source
        self._kept_from = join
        past = source.past_of(identity) if identity is not None and isinstance(source, HasPast) else None
        if not join or past is None:
            self._session.note_past(self._key, None)
            return
        depth = self._depth
        end = 0 if depth.most_bytes is None else max(0, join - depth.most_bytes)
        if end <= depth.head_bytes:
            end = 0
        reason = ""
        with Pieces(join, following) as pieces:
            try:
                if join > depth.head_bytes:
                    await self._read_head(past)
                step = depth.first_step_bytes
                while pieces.start > end:
                    await self._read_back(past, pieces, max(end, join - step))
                    await self._tell_again(pieces)
                    step = step * _STEP_FACTOR if join - step * _STEP_FACTOR > end else join
            except PastGone:
                reason = "the log was truncated or removed before its past was read"
                await self._tell_again(pieces)
            except SourceRefused as refusal:
                reason = f"the past of the log cannot be read: {refusal}"
            except OSError as error:
                reason = f"the past of the log cannot be kept: {error.strerror or error}"
            except _TooFast:
                reason = "the log grows so fast that its past is left out"
            self._tell_past(pieces.start, is_awaited=False)
            self._tell_far_launch(pieces.start - depth.head_bytes)
        if reason:
            self._session.tell(self._key, self._clock(), reason)

    async def _read_head(self, past: PastFile) -> None:
        """The launch line at the beginning of the log holds, until a later one is found."""
        data = await self._patiently(lambda: past.read(0, self._depth.head_bytes, b""))
        scratch = self._session.twin(self._key)
        scratch.feed(self._key, Chunk(self._clock(), 0, data[: data.rfind(b"\n") + 1]))
        scratch.finish(self._key)
        server, ours = scratch.server(self._key), self._session.server(self._key)
        launched = next((life for life in reversed(server.lives) if life.launch is not None), None)
        if launched is None or ours.engine not in (None, server.engine):
            return
        self._session.attach_launch(self._key, launched)

    def _tell_far_launch(self, unread_bytes: int) -> None:
        """When no nearer launch line was found than that of the beginning, one may lie in what was not read."""
        life = self._session.server(self._key).life
        if life is not None and life.is_launch_far and unread_bytes > 0:
            self._session.tell(
                self._key,
                self._clock(),
                f"the launch line is that at the beginning of the log; {unread_bytes / 1e6:,.0f} MB lie between",
            )

    async def _read_back(self, past: PastFile, pieces: Pieces, goal: int) -> None:
        while pieces.start > goal:
            start = max(goal, pieces.start - self._depth.piece_bytes)
            data = await self._patiently(lambda start=start: past.read(start, pieces.start, pieces.following))  # type: ignore[misc]
            await asyncio.to_thread(pieces.add, data)

    async def _tell_again(self, pieces: Pieces) -> None:
        async with self._turn:
            lines = PastLog(self._session.log, self._key, pieces.start, self._kept_from)
            for _ in rebuild(self._session, self._key, pieces.forwards(), lines):
                journal = self._session.journal_of(self._key)
                if journal is not None and journal.size_bytes > _MOST_TOLD_BYTES:
                    raise _TooFast
                await asyncio.sleep(0)  # the screen and the followers have their turn
            self._kept_from = lines.lowest
        self._tell_past(pieces.start, is_awaited=True)

    async def _patiently(self, reading: Callable[[], Awaitable[bytes]]) -> bytes:
        attempt = 0
        while True:  # ends with the bytes, or when the past cannot be read
            try:
                return await reading()
            except SourceLost:  # the follower has the same link, and tells of it
                attempt += 1
                await self._sleep(backoff_s(attempt, self._chance))

    def _tell_past(self, unread_bytes: int, *, is_awaited: bool) -> None:
        self._session.note_past(self._key, Past(unread_bytes, is_awaited))


class _TooFast(Exception):
    """More was told of the source meanwhile than is kept."""
