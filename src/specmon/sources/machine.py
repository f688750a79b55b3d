"""What a machine can be asked for, whether it is this one or at the far end of an SSH connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from specmon.errors import SourceLost, SourceRefused

READ_BYTES = 65536

IsWhole = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command gave back."""

    stdout: bytes
    stderr: bytes
    status: int | None  # None: it was ended by a signal


class PortClosed(SourceLost):
    """Nobody listens there (yet)."""


class ForwardingRefused(SourceRefused):
    """The SSH server lets nothing be forwarded."""


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
        self, host: str, port: int, request: bytes, *, is_whole: IsWhole, limit_bytes: int, timeout_s: float
    ) -> bytes:
        """Send bytes to a port as this machine sees it, and read until the answer is whole, at its end or too long."""
        ...


class ThisMachine:
    """The machine that this program runs on."""

    name = "this machine"

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        """Run a shell command to its end. SourceLost when it cannot be run or the time is over."""
        try:
            process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise SourceLost(f"{self.name}: no shell ({error.strerror or error})") from error
        try:
            async with asyncio.timeout(timeout_s):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            raise SourceLost(f"{self.name}: no answer in time") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return CommandResult(stdout, stderr, process.returncode)

    async def exchange(
        self, host: str, port: int, request: bytes, *, is_whole: IsWhole, limit_bytes: int, timeout_s: float
    ) -> bytes:
        """As `Machine.exchange`; PortClosed when nobody listens."""
        answer = bytearray()
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(host, port)
                try:
                    writer.write(request)
                    while len(answer) < limit_bytes and not is_whole(bytes(answer)):
                        if not (part := await reader.read(READ_BYTES)):
                            break
                        answer += part
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
