"""Several logs of one server as one source: whole lines, in the order in which they come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, Source, SourceEvent, Waiting

_MOST_WAITING = 64  # events of all sources that nobody has taken yet


class Joined:
    """Reads its sources side by side. A file that is replaced interrupts its own last line and no other's."""

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        self._name = name
        self._sources = tuple(sources)

    @property
    def name(self) -> str:
        """What the sources are together."""
        return self._name

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """The events of all; offsets count the joined bytes. An error of one ends it."""
        events: asyncio.Queue[tuple[int, SourceEvent | None]] = asyncio.Queue(_MOST_WAITING)

        async def listen(number: int) -> None:
            async for event in self._sources[number].events():
                await events.put((number, event))
            await events.put((number, None))

        tasks = [asyncio.create_task(listen(number)) for number in range(len(self._sources))]
        held: list[list[bytes]] = [[] for _ in tasks]  # of a line without its end: pieces, since it may be very long
        behind, running = set(range(len(tasks))), set(range(len(tasks)))
        offset, is_connected, now = 0, False, 0.0
        try:
            while running:
                getting = asyncio.create_task(events.get())
                watched = {getting, *(task for task in tasks if not task.done() or task.exception() is not None)}
                done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                if getting not in done:
                    getting.cancel()
                    for task in done:
                        task.result()
                    continue
                number, event = getting.result()
                now = now if event is None else event.at
                match event:
                    case None:
                        running.discard(number)
                        data, held[number] = b"".join(held[number]), []
                        if data:
                            yield Chunk(now, offset, data)
                            offset += len(data)
                    case Chunk(data=new):
                        end = new.rfind(b"\n") + 1
                        if end:
                            data, held[number] = b"".join((*held[number], new[:end])), []
                        held[number] += [new[end:]] if end < len(new) else []
                        if end:
                            yield Chunk(now, offset, data)
                            offset += len(data)
                    case Connected():
                        if not is_connected:
                            yield Connected(now, offset, is_behind=True)
                        elif number not in behind:
                            yield Connected(now, offset, detail=event.detail)
                        is_connected = True
                    case CaughtUp():
                        if number in behind:
                            behind.discard(number)
                            if not behind:
                                yield event
                    case Rotated() | Gap():
                        data, held[number] = b"".join(held[number]), []
                        if data:  # a last line that nobody has ended, as a kill leaves it
                            yield Chunk(now, offset, data)
                            offset += len(data)
                        if isinstance(event, Rotated):
                            offset = 0
                        yield event
                    case Waiting():
                        yield event
                        if number in behind:  # nothing of it was there when we looked
                            behind.discard(number)
                            if not behind and is_connected:
                                yield CaughtUp(now)
                    case Refused():
                        yield event
                        return
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
