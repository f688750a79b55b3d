"""`specmon tail`: every line of logs once and in order, through faults, rotations and restarts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import stat
import sys
from collections.abc import Sequence

import click

from specmon.commands.loop import run_whole
from specmon.commands.places import Hosts, SshOptions, open_source, resolved
from specmon.commands.tail_output import LineOutput, Teller, printed, short_names
from specmon.errors import ConfigError
from specmon.sources.address import SourceAddress, StdinPlace, host_of, parse_source
from specmon.sources.events import Refused, Source
from specmon.sources.stdin import StdinSource
from specmon.visible import visible

EXIT_REFUSED = 2
EXIT_TERMINATED = 128 + signal.SIGTERM
_PIPE_BYTES = 4096  # a pipe that can be written to has room for these
_BLOCKED_POLL_MS = 200
_READER_CHECK_S = 1.0


def tail(*, sources: Sequence[str], from_start: bool, backfill: int | None, ssh: SshOptions) -> int:
    """Print what comes until the user quits; 2 when a source is refused."""
    if from_start and backfill is not None:
        raise ConfigError("--from-start and --backfill exclude each other: leave one out.")
    given = [parse_source(text) for text in sources]
    return run_whole(_tail(given, None if from_start else backfill or 0, ssh))


async def _tail(given: Sequence[SourceAddress], backfill_bytes: int | None, ssh: SshOptions) -> int:
    async with Hosts(ssh) as hosts:
        # Before anything is printed: a question about a password or a refusal comes first.
        remote = {host for address in given if (host := host_of(address.place)) is not None}
        await asyncio.gather(*(hosts.at(host).connect() for host in sorted(remote, key=str)))
        addresses = [single for address in given for single in await resolved(address, hosts, follow=True)]
        sources = [_open(address, hosts, backfill_bytes) for address in addresses]
        names = short_names([source.name for source in sources])
        stdout = Stdout(sys.stdout.fileno())
        outputs = [
            LineOutput(
                prefix=f"{visible(address.label or name)}| " if len(sources) > 1 else "",
                is_terminal=sys.stdout.isatty(),
            )
            for address, name in zip(addresses, names, strict=True)
        ]
        pumps = [
            asyncio.create_task(_pump(source, output, stdout)) for source, output in zip(sources, outputs, strict=True)
        ]
        try:
            return await _until_over(pumps, stdout)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
            for output in outputs:
                stdout.write_last(output.finish())


async def _until_over(pumps: Sequence[asyncio.Task[bool]], stdout: Stdout) -> int:
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    ending = asyncio.create_task(terminated.wait())
    reader_gone = asyncio.create_task(stdout.wait_until_unread())
    running = set(pumps)
    try:
        while running:
            done, _ = await asyncio.wait({*running, ending, reader_gone}, return_when=asyncio.FIRST_COMPLETED)
            if ending in done:
                return EXIT_TERMINATED
            if reader_gone in done:
                raise BrokenPipeError
            for pump in running & done:
                pump.result()  # an error of one ends the command
            running -= done
    finally:
        ending.cancel()
        reader_gone.cancel()
    return EXIT_REFUSED if any(pump.result() for pump in pumps) else 0


async def _pump(source: Source, output: LineOutput, stdout: Stdout) -> bool:
    """Print what a source says; whether it was refused."""
    teller = Teller(source.name)
    async for event in source.events():
        if data := printed(output, event):
            await stdout.write(data)
        if (sentence := teller.sentence(event)) is not None:
            click.echo(f"specmon: {visible(sentence)}", err=True)
        if isinstance(event, Refused):
            return True
    return False


def _open(address: SourceAddress, hosts: Hosts, backfill_bytes: int | None) -> Source:
    if isinstance(address.place, StdinPlace):
        return StdinSource()  # as it comes, packed or not
    is_whole = backfill_bytes is None
    return open_source(address, hosts, follow=True, from_start=is_whole, backfill_bytes=backfill_bytes, is_plain=True)


class Stdout:
    """Where lines go. A slow reader makes the sources wait, not the program."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._may_block = not stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        self._turn = asyncio.Lock()  # a line is not cut by another source's line
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def write(self, data: bytes) -> None:
        """Write all of it. BrokenPipeError when nobody reads any more."""
        async with self._turn:
            rest = memoryview(data)
            while rest:
                if self._may_block and not self._ready.poll(0):
                    await asyncio.to_thread(self._ready.poll, _BLOCKED_POLL_MS)
                    continue
                rest = rest[os.write(self._descriptor, rest[:_PIPE_BYTES] if self._may_block else rest) :]

    def write_last(self, data: bytes) -> None:
        """Write what is left at the end, if somebody still reads."""
        rest = memoryview(data)
        with contextlib.suppress(OSError):
            while rest and self._ready.poll(_BLOCKED_POLL_MS):
                rest = rest[os.write(self._descriptor, rest[:_PIPE_BYTES]) :]

    async def wait_until_unread(self) -> None:
        """Wait until the reader of a pipe is gone: with a silent log nothing else would tell."""
        errors = select.poll()
        errors.register(self._descriptor, 0)
        while not self._is_pipe or not errors.poll(0):  # noqa: ASYNC110 (no event tells of it)
            await asyncio.sleep(_READER_CHECK_S)
