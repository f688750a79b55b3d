"""What a machine can be asked for, whether it is this one or at the far end of an SSH connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.converse import READ_BYTES as READ_BYTES
from specmon.sources.converse import IsWhole as IsWhole
from specmon.sources.converse import converse
from specmon.sources.tls import TlsCheck

_ENDING_S = 2.0  # a command whose reader has gone may take so long to end
ENDING = "ending a command"  # the name of a task that nobody may cancel: it ends by itself, and soon


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command gave back."""

    stdout: bytes
    stderr: bytes
    status: int | None  # None: it was ended by a signal

    @property
    def words(self) -> str:
        """What was said first, short enough for a sentence; "no message" where there is none."""
        return first_line(self.stderr if self.stderr.strip() else self.stdout)


def first_line(text: bytes) -> str:
    """What a program says first, short enough for a sentence."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[0][:200].rstrip(".") if lines else "no message"


class PortClosed(SourceLost):
    """Nobody listens there (yet)."""


class NoAnswer(SourceLost):
    """The machine's shell did not begin with what it was asked: there is none, or a forced command."""


class ForwardingRefused(SourceRefused):
    """The SSH server lets nothing be forwarded."""


class Stream(Protocol):
    """A running command: two streams of bytes. Its stdin stays open until nobody listens any more."""

    async def read(self) -> bytes:
        """The next bytes of stdout; b"" when the command has ended. SourceLost when the link is gone."""
        ...

    async def read_error(self) -> bytes:
        """The same for stderr."""
        ...


class Machine(Protocol):
    """A machine that runs commands and reaches its own ports. Errors are SourceLost and SourceRefused."""

    @property
    def name(self) -> str:
        """How the user wrote it."""
        ...

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        """Run a shell command to its end."""
        ...

    async def exchange(
        self,
        host: str,
        port: int,
        request: bytes,
        *,
        is_whole: IsWhole,
        limit_bytes: int,
        timeout_s: float,
        tls: TlsCheck | None = None,
    ) -> bytes:
        """Send bytes to a port as this machine sees it, and read until the answer is whole, at its end or too long.

        With `tls` within TLS; CertificateRefused and TlsFailed come before anything is sent.
        """
        ...


class StreamingMachine(Machine, Protocol):
    """A machine whose commands can also be listened to while they run."""

    def stream(self, command: str, *, timeout_s: float = 30.0) -> AbstractAsyncContextManager[Stream]:
        """Start a shell command (within `timeout_s`) and read what it writes; leaving ends it."""
        ...


class ThisMachine:
    """The machine that this program runs on."""

    name = "this machine"

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        """Run a shell command to its end. SourceLost when it cannot be run or the time is over."""
        process = await self._start(command, asyncio.subprocess.DEVNULL)
        try:
            async with asyncio.timeout(timeout_s):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            raise SourceLost(f"{self.name}: no answer in time") from None
        finally:
            await _kill(process)
        return CommandResult(stdout, stderr, process.returncode)

    @asynccontextmanager
    async def stream(self, command: str, *, timeout_s: float = 30.0) -> AsyncIterator[Stream]:
        """As `StreamingMachine.stream`. SourceLost when the command cannot be started."""
        process = await self._start(command, asyncio.subprocess.PIPE)
        try:
            yield _LocalStream(process)
        finally:
            ending = asyncio.create_task(_end(process), name=ENDING)
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError:
                await _finished(ending)  # a cancelled reader leaves no process behind either
                raise

    async def _start(self, command: str, stdin: int) -> asyncio.subprocess.Process:
        # In a session of its own: a Ctrl-C at the terminal is for us alone, and what hangs is ended as a whole.
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                "sh",
                "-c",
                command,
                stdin=stdin,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio (3.11) forgets the pipes of a process whose start is cancelled: start it, then end it.
            await _finished(starting)
            if not starting.cancelled() and starting.exception() is None:
                # It may have started something already.
                await _finished(asyncio.create_task(_end(starting.result()), name=ENDING))
            raise
        except OSError as error:
            raise SourceLost(f"{self.name}: no shell ({error.strerror or error})") from error

    async def exchange(
        self,
        host: str,
        port: int,
        request: bytes,
        *,
        is_whole: IsWhole,
        limit_bytes: int,
        timeout_s: float,
        tls: TlsCheck | None = None,
    ) -> bytes:
        """As `Machine.exchange`; PortClosed when nobody listens."""
        answer = bytearray()
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(host, port)
                try:
                    await converse(reader, writer, request, answer, is_whole=is_whole, limit_bytes=limit_bytes, tls=tls)
                finally:
                    writer.transport.abort()  # nothing is owed to the other side
        except ConnectionRefusedError as error:
            raise PortClosed(f"{self.name}: nobody listens on port {port}") from error
        except TimeoutError:
            raise SourceLost(f"{self.name}: no answer in time") from None
        except OSError as error:
            if not answer:
                raise SourceLost(f"{self.name}: {(error.strerror or str(error)).lower()}") from error
        return bytes(answer)


class _LocalStream:
    """A command that runs on this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def read(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.read(READ_BYTES)  # no time limit: a silent log is normal

    async def read_error(self) -> bytes:
        assert self._process.stderr is not None
        return await self._process.stderr.read(READ_BYTES)


async def _finished(task: asyncio.Task[Any]) -> None:
    """Wait for a task that ends soon, however often the one who waits is cancelled meanwhile."""
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let a command go as a closed channel does, and see that it goes."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM):
        if number is not None:
            _signal(process, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_S):
                await process.wait()
                break
    await _kill(process)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """End what is left of a command, and close our ends of its pipes."""
    if process.returncode is None:
        _signal(process, signal.SIGKILL)
    # Before waiting: to asyncio (3.11) a process has ended when its pipes have, which a grandchild may hold open.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await process.wait()
    await asyncio.sleep(0)  # the pipes are closed by the loop


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
