"""The newest file that a pattern means, followed until a newer one appears: `runs/*/server.log`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.events import (
    CaughtUp,
    Connected,
    FileIdentity,
    Refused,
    Rotated,
    Source,
    SourceEvent,
    Waiting,
)
from specmon.sources.follow import Pace, backoff_s
from specmon.sources.machine import NoAnswer
from specmon.sources.matches import Finder, Match, is_rotated, newest
from specmon.sources.past import HasPast, PastFile

_LOOK_S = 1.0  # between two looks for a newer file
_SILENT_S = 1.0  # a file so long silent has said what it had to say
_PATIENCE_S = 10.0  # but a newer one does not wait longer than this


class NewestFile:
    """Follows one file at a time. A newer one is taken up when it appears, the old one's last lines first.

    A file counts as newer when it was not there at an earlier look: two that are written to by turns are no reason to
    change for ever.
    """

    def __init__(
        self,
        name: str,
        find: Finder,
        open_file: Callable[[str, bool], Source],
        *,
        pace: Pace | None = None,
        look_s: float = _LOOK_S,
        silent_s: float = _SILENT_S,
    ) -> None:
        """`open_file` takes a path and whether it is the first one (later ones are read from their first byte)."""
        self._name = name
        self._find = find
        self._open_file = open_file
        self._pace = pace or Pace()
        self._look_s = look_s
        self._silent_s = silent_s
        self._first: Source | None = None

    def past_of(self, identity: FileIdentity) -> PastFile | None:
        """What lies before the followed part of the first file; later ones are read from their first byte."""
        first: object = self._first
        return first.past_of(identity) if isinstance(first, HasPast) else None

    @property
    def name(self) -> str:
        """The pattern as the user wrote it."""
        return self._name

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """The events of one file after the other, with a Rotated between two."""
        clock = self._pace.clock
        current: Match | None = None
        seen: set[object] = set()
        attempt, is_first = 0, True
        while current is None:
            try:
                matches = await self._find()
                seen = {match.identity for match in matches}
                if (current := newest(matches)) is not None:
                    break
                attempt, delay_s, reason = attempt + 1, self._look_s, f"{self._name}: no file matches"
                is_first = False  # what appears from now on is new from its first byte
            except SourceLost as loss:
                if is_first and isinstance(loss, NoAnswer):
                    yield Refused(clock(), f"{loss}. Log in as a user who has a POSIX shell there.")
                    return
                attempt += 1
                delay_s, reason = backoff_s(attempt, self._pace.chance), str(loss)
            except SourceRefused as refusal:
                yield Refused(clock(), str(refusal))
                return
            yield Waiting(clock(), attempt, delay_s, reason)
            await self._pace.sleep(delay_s)
        while current is not None:
            source = self._open_file(current.path, is_first)
            self._first = self._first or source
            following = _Following(source, self._pace)
            newer: Match | None = None
            try:
                looking = asyncio.create_task(self._newer(current, seen))
                try:
                    async for event in following.until(looking, self._silent_s):
                        if isinstance(event, Connected) and not event.detail:
                            event = replace(event, detail=current.path)
                        yield event
                        if isinstance(event, Refused):
                            return
                    newer = await looking if not looking.cancelled() else None
                finally:
                    looking.cancel()
                    await asyncio.wait([looking])
            finally:
                await following.close()
            if newer is None:
                return
            yield Rotated(clock(), None, f"{newer.path} is newer than {current.path}")
            current, is_first = newer, False

    async def _newer(self, current: Match, seen: set[object]) -> Match:
        """Wait for a file that was not there before."""
        while True:  # ends when it is cancelled, or finds one
            await self._pace.sleep(self._look_s)
            try:
                matches = await self._find()
            except (SourceLost, SourceRefused):
                continue  # the follower has the same link, and tells of it
            names = {match.path for match in matches} | {current.path}
            fresh = [
                match
                for match in matches
                # A new file at the followed path is the follower's own affair.
                if match.identity not in seen and match.path != current.path and not is_rotated(match.path, names)
            ]
            found = newest(fresh)
            seen.update(match.identity for match in matches)
            if found is not None:
                return found


class _Following:
    """One file's events, taken one by one so that a silence can be noticed."""

    def __init__(self, source: Source, pace: Pace) -> None:
        self._events = source.events().__aiter__()
        self._pace = pace
        self._next: asyncio.Task[SourceEvent | None] | None = None

    async def until(self, newer: asyncio.Task[Match], silent_s: float) -> AsyncGenerator[SourceEvent, None]:
        """Events until there is a newer file and this one is silent, or patience is over."""
        is_behind, leaves_at = True, float("inf")
        loop = asyncio.get_running_loop()
        while True:
            self._next = self._next or asyncio.create_task(self._take())
            watched: set[asyncio.Task[SourceEvent | None] | asyncio.Task[Match]] = {self._next}
            limit_s: float | None = None
            if newer.done():
                leaves_at = min(leaves_at, loop.time() + _PATIENCE_S)
                limit_s = min(silent_s, max(0.0, leaves_at - loop.time())) if not is_behind else _PATIENCE_S
            else:
                watched.add(newer)
            done, _ = await asyncio.wait(watched, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if self._next in done:
                event, self._next = self._next.result(), None
                if event is None:
                    return
                is_behind &= not isinstance(event, CaughtUp | Waiting)
                yield event
                if loop.time() < leaves_at:
                    continue
            if newer.done() and newer not in done:
                return

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
        if isinstance(self._events, AsyncGenerator):
            await self._events.aclose()

    async def _take(self) -> SourceEvent | None:
        return await anext(self._events, None)
