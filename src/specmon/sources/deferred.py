"""A source that is found out when it is opened: where a job writes, for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.events import Refused, Source, SourceEvent, Waiting
from specmon.sources.follow import Pace, backoff_s


class Deferred:
    """Asks `find` for the source, again and again while the link is lost, and then is that source."""

    def __init__(self, name: str, find: Callable[[], Awaitable[Source]], *, pace: Pace | None = None) -> None:
        self._name = name
        self._find = find
        self._pace = pace or Pace()

    @property
    def name(self) -> str:
        """What the user wrote."""
        return self._name

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """What the found source says."""
        attempt = 0
        while True:
            try:
                source = await self._find()
                break
            except SourceLost as loss:
                attempt += 1
                delay_s = backoff_s(attempt, self._pace.chance)
                yield Waiting(self._pace.clock(), attempt, delay_s, str(loss))
                await self._pace.sleep(delay_s)
            except SourceRefused as refusal:
                yield Refused(self._pace.clock(), str(refusal))
                return
        events = source.events()
        try:
            async for event in events:
                yield event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
