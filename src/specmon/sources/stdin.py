"""What is piped into the program."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, SourceEvent

_BLOCK_BYTES = 1024 * 1024


class StdinSource:
    """Stdin as a source. It ends when the writer closes it; `tail -f … | specmon …` therefore stays live."""

    def __init__(self, *, descriptor: int | None = None, clock: Callable[[], float] = time.time) -> None:
        self._descriptor = descriptor  # None: the program's own stdin
        self._clock = clock

    @property
    def name(self) -> str:
        """The sign that stands for stdin on the command line."""
        return "-"

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Yield what comes in until it ends; UnreadableInput when there is no stdin or it is a terminal."""
        descriptor = self._descriptor if self._descriptor is not None else _own_stdin()
        try:
            is_terminal = os.isatty(descriptor)
        except OSError as error:
            raise _closed() from error
        if is_terminal:
            raise UnreadableInput("-: stdin is a terminal. Pipe a log into the program, or name a file.")
        yield Connected(self._clock(), 0)
        offset = 0
        while data := await _read(descriptor):
            yield Chunk(self._clock(), offset, data)
            offset += len(data)
        yield CaughtUp(self._clock())


async def _read(descriptor: int) -> bytes:
    # A thread, because stdin may be a file, a pipe or a socket, and not all of these can be waited for in the loop.
    # A daemon thread of our own, because the pool's threads keep the program from ending while a read hangs.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def finish(data: bytes, error: OSError | None) -> None:
        if done.done():
            return  # nobody waits any more
        if error is None:
            done.set_result(data)
        else:
            done.set_exception(_closed())

    def read() -> None:
        data, fault = b"", None
        try:
            data = os.read(descriptor, _BLOCK_BYTES)
        except OSError as error:
            fault = error
        try:
            loop.call_soon_threadsafe(finish, data, fault)
        except RuntimeError:
            return  # the loop was closed while we waited for input

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return await done


def _own_stdin() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError) as error:  # None, replaced by something without a descriptor, closed
        raise _closed() from error


def _closed() -> UnreadableInput:
    return UnreadableInput("-: stdin is closed. Pipe a log into the program, or name a file.")
