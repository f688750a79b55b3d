"""What is piped into the program: on stdin, or through a pipe that has a path (`<(zcat x.gz)`, a FIFO)."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TypeVar

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, SourceEvent

_BLOCK_BYTES = 1024 * 1024
_Found = TypeVar("_Found")


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


class PipeSource:
    """A pipe with a path as a source: opened once, read until its last writer has closed it."""

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock

    @property
    def name(self) -> str:
        """The path as the user wrote it."""
        return self._path

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Wait for a writer and yield what it writes; UnreadableInput when the pipe cannot be opened."""
        try:
            # Opening waits for a writer, as it does in every program that reads a FIFO.
            descriptor = await _in_thread(lambda: os.open(self._path, os.O_RDONLY))
        except OSError as error:
            raise UnreadableInput(
                f"{self._path}: cannot be opened ({error.strerror}). Name a log file or a pipe that can be read."
            ) from error
        try:
            yield Connected(self._clock(), 0)
            offset = 0
            while data := await _in_thread(lambda: os.read(descriptor, _BLOCK_BYTES)):
                yield Chunk(self._clock(), offset, data)
                offset += len(data)
        finally:
            os.close(descriptor)
        yield CaughtUp(self._clock())


async def _read(descriptor: int) -> bytes:
    try:
        return await _in_thread(lambda: os.read(descriptor, _BLOCK_BYTES))
    except OSError as error:
        raise _closed() from error


async def _in_thread(work: Callable[[], _Found]) -> _Found:
    # A thread, because stdin may be a file, a pipe or a socket, and not all of these can be waited for in the loop.
    # A daemon thread of our own, because the pool's threads keep the program from ending while a read hangs.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Found] = loop.create_future()

    def finish(tell: Callable[[], None]) -> None:
        if not done.done():  # else nobody waits any more
            tell()

    def call() -> None:
        try:
            tell = partial(done.set_result, work())
        except OSError as error:
            tell = partial(done.set_exception, error)
        try:
            loop.call_soon_threadsafe(finish, tell)
        except RuntimeError:
            return  # the loop was closed while we waited for input

    threading.Thread(target=call, name="pipe", daemon=True).start()
    return await done


def _own_stdin() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError) as error:  # None, replaced by something without a descriptor, closed
        raise _closed() from error


def _closed() -> UnreadableInput:
    return UnreadableInput("-: stdin is closed. Pipe a log into the program, or name a file.")
