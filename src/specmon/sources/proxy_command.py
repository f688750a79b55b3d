"""The ProxyCommand of the SSH configuration: a program of the user's that carries the bytes to a host.

It is run as OpenSSH runs it, by the user's shell. asyncssh would run it without one, and would take what it says on
stderr for bytes of the host.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from contextlib import suppress

_MOST_SAID = 4096  # bytes of stderr that are kept, the newest
_PATIENCE_S = 1.0  # for the end of a program that has closed its side, and for its last words
# What the user's shell would obey. A host or user that is named on the command line may come from anywhere; OpenSSH
# refuses the same.
_UNSAFE = re.compile(r"""['`"$\\;&<>|(){}\s\x00-\x1f\x7f]|^-""")


def is_safe_word(word: str) -> bool:
    """Whether a host or a user may stand in a command for a shell."""
    return _UNSAFE.search(word) is None


class ProxyCommand:
    """A running ProxyCommand."""

    def __init__(self, process: asyncio.subprocess.Process, end: socket.socket) -> None:
        self.socket = end  # our end of its stdin and stdout
        self._process = process
        self._said = bytearray()
        self._listening = asyncio.create_task(self._listen(), name=f"stderr of ProxyCommand {process.pid}")

    @classmethod
    async def start(cls, command: str) -> ProxyCommand:
        """Run a command whose tokens are expanded. OSError when there is no shell for it."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                os.environ.get("SHELL") or "/bin/sh",
                "-c",
                f"exec {command}",
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # our Ctrl-C and our screen are none of its business
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        return cls(process, ours)

    async def is_missing(self) -> bool:
        """Whether it has ended because the shell found nothing to run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                return await self._process.wait() in (126, 127)
        return False

    async def last_words(self) -> str:
        """The last line that it said on stderr, for a program that ends; empty when there is none."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                await asyncio.shield(self._listening)
        lines = self._said.decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")[:200]

    async def close(self) -> None:
        """End it with all that it has started."""
        self.socket.close()
        self._send(signal.SIGHUP)  # as OpenSSH does
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._process.wait()
                await asyncio.shield(self._listening)  # what it has started holds its stderr, too
        except TimeoutError:
            self._send(signal.SIGKILL)
            await self._process.wait()
        self._listening.cancel()
        await asyncio.wait([self._listening])

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _listen(self) -> None:
        stream = self._process.stderr
        while stream is not None and (part := await stream.read(_MOST_SAID)):
            self._said += part
            del self._said[:-_MOST_SAID]
