"""Read a file and stay with it: the loop between the cursor's decisions and the bytes.

How to reach the file (over SSH or on this machine) is given as a `Reach`. The link may break at any time; the
loop waits and resumes at the byte. Only a refusal, cancellation or, without following, the end of the file ends it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from specmon.errors import SourceLost, SourceRefused, UnreadableInput
from specmon.sources.border import BorderCut
from specmon.sources.cursor import SETTLE_S, Cursor
from specmon.sources.events import CaughtUp, Chunk, Connected, FileIdentity, Refused, SourceEvent, Waiting
from specmon.sources.looks import Batch, Compare, Look, ReadFrom

BACKFILL_BYTES = 64 * 1024 * 1024
TAIL_BYTES = 4 * 1024 * 1024  # the first picture is made of: hours of a busy server
_VAIN_OPENINGS = 5
_MISSING_FILE_DELAYS_S = (0.25, 0.5, 1.0)  # a look at a path is cheap, and a server's first lines matter


class OpenFile(Protocol):
    """A file that is being read from some byte on."""

    async def next(self) -> Batch:
        """The next bytes and a look behind them; the first batch holds no bytes. SourceLost when the link is gone."""
        ...


class Reach(Protocol):
    """How to get at files of one machine."""

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        ...

    def open(self, path: str, offset: int, watch: str, size: int) -> AbstractAsyncContextManager[OpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it; `size` is what it holds already."""
        ...


def backoff_s(attempt: int, chance: Callable[[], float] = random.random) -> float:
    """Seconds before attempt 1, 2, 3…: doubling from 0.5 to 30, each between half and the whole of that."""
    whole = min(30.0, 0.5 * 2.0 ** min(attempt - 1, 10))
    return max(0.5, whole * (0.5 + 0.5 * chance()))


@dataclass(frozen=True, slots=True)
class Pace:
    """Clock, sleep and chance of a follower: replaced in tests."""

    clock: Callable[[], float] = time.time  # s since 1970, UTC
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)  # 0..1
    settle_s: float = SETTLE_S  # how long a file that left its path must be silent before it is left


async def follow_file(
    reach: Reach,
    name: str,
    path: str,
    *,
    backfill_bytes: int | None = BACKFILL_BYTES,
    follow: bool = True,
    pace: Pace | None = None,
) -> AsyncGenerator[SourceEvent, None]:
    """Yield what a file says, from `backfill_bytes` before its end (None: from its first byte).

    Without `follow` it ends where the file ended when it was opened, and a file that cannot be opened raises
    `UnreadableInput`; with it, a file that is not there is waited for, and only `Refused` ends the events.
    """
    pace = pace or Pace()
    cursor = Cursor(backfill_bytes=backfill_bytes, settle_s=pace.settle_s)
    session = _Session(reach, cursor, path, follow, pace)
    attempt = misses = 0
    while True:
        try:
            look = await reach.look(path, cursor.identity)
            if cursor.is_in_doubt:
                seen: bytes | None = b""
                if (asked := cursor.compare(path, look)) is not None:
                    seen = await _read_range(reach, asked, path)
                if seen is None:
                    continue  # another file is at that path by now
                offset, old = cursor.settle(seen)
                if old:
                    yield Chunk(pace.clock(), offset, old)
            for missed in cursor.missed if look.moved is None else ():
                later = (await reach.look(path, missed)).moved
                if later is not None and later.path != path:
                    look = replace(look, later=later)
                    break
            plan = cursor.plan(path, look, pace.clock())
            if isinstance(plan, ReadFrom):
                misses = 0
                for announcement in plan.announce:
                    yield announcement
                async with aclosing(session.read(plan)) as events:
                    async for event in events:
                        yield event
                if not follow:
                    return
                continue  # another file is at the path now
        except SourceLost as error:
            attempt = 1 if session.is_alive else attempt + 1
            session.is_alive = False
            delay_s = backoff_s(attempt, pace.chance)
            yield Waiting(pace.clock(), attempt, delay_s, str(error))
            await pace.sleep(delay_s)
            continue
        except SourceRefused as error:
            yield Refused(pace.clock(), str(error))
            return
        if not follow:
            raise UnreadableInput(f"{name}: {plan.reason}. Name a log file that can be read.")
        if plan.is_final:
            yield Refused(pace.clock(), f"{name}: {plan.reason}. Name a log file instead.")
            return
        cursor.file_appears_later()
        delay_s = _MISSING_FILE_DELAYS_S[min(misses, len(_MISSING_FILE_DELAYS_S) - 1)]
        misses += 1
        yield Waiting(pace.clock(), misses, delay_s, f"{name}: {plan.reason}")
        await pace.sleep(delay_s)


async def _read_range(reach: Reach, asked: Compare, watch: str) -> bytes | None:
    """What stands at a place of a file; None when the path has come to mean another file."""
    seen = b""
    async with reach.open(asked.path, asked.offset, watch, asked.offset + asked.size) as opened:
        first = (await opened.next()).opened.identity
        if (first.device, first.inode) != (asked.file.device, asked.file.inode):
            return None
        while len(seen) < asked.size and (batch := await opened.next()).data:
            seen += batch.data
    return seen[: asked.size]


class _Session:
    """Reads one open file after the other; keeps what must be remembered between two of them."""

    def __init__(self, reach: Reach, cursor: Cursor, path: str, follow: bool, pace: Pace) -> None:
        self._reach = reach
        self._cursor = cursor
        self._path = path
        self._follow = follow
        self._pace = pace
        self._border: BorderCut | None = None  # survives a lost link, which may come before the border
        self._lost_at: float | None = None
        self._vain = 0  # openings in a row that gave no look at the right file
        self.is_alive = False  # bytes came, or the far side has spoken twice

    async def read(self, plan: ReadFrom) -> AsyncGenerator[SourceEvent, None]:
        """Yield the events of one open file until another one is to be opened."""
        cursor, clock = self._cursor, self._pace.clock
        self.is_alive = False
        start = plan.offset
        if not plan.is_resumed:
            self._border = BorderCut() if plan.offset else None
            start -= 1 if plan.offset else 0
            cursor.skip(start - plan.offset)
        border = self._border
        is_behind = True
        batches = 0
        try:
            async with self._reach.open(plan.path, start, self._path, plan.file.size) as opened:
                yield Connected(clock(), plan.offset, plan.file.size, plan.file.identity, self._detail(plan))
                while True:
                    if is_behind and batches and cursor.offset >= plan.file.size:
                        is_behind = False
                        yield CaughtUp(clock())
                        if not self._follow:
                            return
                    batch = await opened.next()
                    batches += 1
                    offset = cursor.offset
                    verdict = cursor.judge(batch, clock())
                    if verdict == "drop":
                        self._vain = self._vain + 1 if batches == 1 else 0
                        if self._vain > _VAIN_OPENINGS:
                            raise SourceLost("the file changes too fast to be opened")
                        return
                    self._vain = 0
                    self.is_alive |= batches > 1
                    data = batch.data if border is None else border.cut(batch.data)
                    if data:
                        yield Chunk(clock(), offset + len(batch.data) - len(data), data)
                    if verdict == "leave":
                        return
                    if cursor.wants_look:
                        cursor.note_look(await self._reach.look(self._path, None))
        except SourceLost:
            if self._lost_at is None:
                self._lost_at = clock()
            raise

    def _detail(self, plan: ReadFrom) -> str:
        lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None and plan.is_resumed:
            return f"resumed after {max(0.0, self._pace.clock() - lost_at):.0f} s"
        return ""
