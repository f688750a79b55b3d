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
from dataclasses import dataclass, field
from typing import Protocol

from specmon.errors import SourceLost, SourceRefused, UnreadableInput
from specmon.sources.cursor import Cursor, Look, ReadFrom, Tick
from specmon.sources.events import CaughtUp, Chunk, Connected, FileIdentity, Refused, SourceEvent, Waiting
from specmon.sources.overlap import BorderCut, Overlap

BACKFILL_BYTES = 64 * 1024 * 1024
_MISSING_FILE_DELAYS_S = (0.25, 0.5, 1.0)  # a look at a path is cheap, and a server's first lines matter


class OpenFile(Protocol):
    """A file that is being read from some byte on."""

    async def next(self) -> bytes | Tick:
        """The next bytes, or what a look beside them saw. SourceLost when the link or the reader is gone."""
        ...


class Reach(Protocol):
    """How to get at files of one machine."""

    @property
    def looks_lag(self) -> bool:
        """Whether bytes may arrive before a look that was taken earlier, as with `tail -f` on the far side."""
        ...

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        ...

    def open(self, path: str, offset: int, watch: str) -> AbstractAsyncContextManager[OpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
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
    cursor = Cursor(backfill_bytes=backfill_bytes, looks_lag=reach.looks_lag)
    session = _Session(reach, cursor, path, follow, pace)
    attempt = misses = 0
    while True:
        try:
            plan = cursor.plan(path, await reach.look(path, cursor.identity), pace.clock())
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


class _Session:
    """Reads one open file after the other; keeps what must be remembered between two of them."""

    def __init__(self, reach: Reach, cursor: Cursor, path: str, follow: bool, pace: Pace) -> None:
        self._reach = reach
        self._cursor = cursor
        self._path = path
        self._follow = follow
        self._pace = pace
        self._overlap = Overlap() if reach.looks_lag else None
        self._border: BorderCut | None = None  # survives a lost link, which may come before the border
        self._lost_at: float | None = None
        self.is_alive = False  # bytes came, or the far side has spoken twice

    async def read(self, plan: ReadFrom) -> AsyncGenerator[SourceEvent, None]:
        """Yield the events of one open file until another one is to be opened."""
        cursor, clock = self._cursor, self._pace.clock
        self.is_alive = False
        ticks = 0
        start = plan.offset
        if not plan.is_resumed:
            self._border = BorderCut() if plan.offset else None
            start -= 1 if plan.offset else 0
            cursor.advance(start - plan.offset)
        border = self._border
        is_behind = True
        if self._overlap is not None:
            self._overlap.open_file(plan)
        try:
            async with self._reach.open(plan.path, start, self._path) as opened:
                yield Connected(clock(), plan.offset, plan.file.size, plan.file.identity, self._detail(plan))
                while True:
                    if is_behind and cursor.offset >= plan.file.size:
                        is_behind = False
                        yield CaughtUp(clock())
                        if not self._follow:
                            return
                    output = await opened.next()
                    if isinstance(output, Tick):
                        ticks += 1
                        self.is_alive |= ticks > 1
                        if self._overlap is not None:
                            self._overlap.tick(output)
                        if cursor.judge(output) == "switch":
                            return
                        continue
                    self.is_alive = True
                    cursor.advance(len(output))
                    data = output if border is None else border.cut(output)
                    if data and self._overlap is not None:
                        data = self._overlap.new_part(data, is_last=cursor.offset >= plan.file.size)
                    if data:
                        yield Chunk(clock(), cursor.offset - len(data), data)
        except SourceLost:
            if self._lost_at is None:
                self._lost_at = clock()
            raise

    def _detail(self, plan: ReadFrom) -> str:
        lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None and plan.is_resumed:
            return f"resumed after {max(0.0, self._pace.clock() - lost_at):.0f} s"
        return ""
