"""Collect what a source says until enough has been seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

from specmon.sources.events import Chunk, SourceEvent

EventT = TypeVar("EventT", bound=SourceEvent)


class Heard:
    """The events of a source so far."""

    def __init__(self) -> None:
        self.events: list[SourceEvent] = []

    @property
    def data(self) -> bytes:
        return b"".join(event.data for event in self.events if isinstance(event, Chunk))

    def last(self, count: int) -> bytes:
        """The last bytes, without joining all of them."""
        end = b""
        for event in reversed(self.events):
            if isinstance(event, Chunk):
                end = event.data[-count:] + end
            if len(end) >= count:
                break
        return end[-count:]

    def of(self, kind: type[EventT]) -> list[EventT]:
        return [event for event in self.events if isinstance(event, kind)]

    async def listen(self, events: AsyncGenerator[SourceEvent, None]) -> None:
        async with aclosing(events):
            async for event in events:
                self.hear(event)

    def hear(self, event: SourceEvent) -> None:
        """Take one event."""
        self.events.append(event)

    async def until(self, is_enough: Callable[[Heard], bool], *, limit_s: float = 40.0) -> None:
        """Wait until enough has been heard; the message of a failure shows what has."""
        try:
            async with asyncio.timeout(limit_s):
                while not is_enough(self):  # noqa: ASYNC110 (the condition may look at anything)
                    await asyncio.sleep(0.01)
        except TimeoutError:
            shown = [
                event if not isinstance(event, Chunk) else (event.offset, len(event.data)) for event in self.events
            ]
            raise AssertionError(f"not heard within {limit_s} s; so far: {shown[-30:]}") from None


class Listening:
    """`async with Listening(source.events()) as heard:` listens beside the test and stops at its end."""

    def __init__(self, events: AsyncGenerator[SourceEvent, None], heard: Heard | None = None) -> None:
        self._events = events
        self._task: asyncio.Task[None] | None = None
        self.heard = heard or Heard()

    async def __aenter__(self) -> Heard:
        self._task = asyncio.create_task(self.heard.listen(self._events))
        return self.heard

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        if self._task.done():
            self._task.result()  # a failure of the source is a failure of the test
        self._task.cancel()
        await asyncio.wait([self._task], timeout=90)
