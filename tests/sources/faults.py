"""What the fault tests need: a writer that numbers its lines, a hurried follower, a link that delays and breaks."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Rotated
from specmon.sources.follow import Pace
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost, SshSettings
from tests.conftest import free_port, running_sshd

from .reading import Heard, Listening

PACE = Pace(sleep=lambda seconds: asyncio.sleep(min(seconds, 0.15)), settle_s=0.3)
LINE_BYTES = len(b"line 00000000 of the log\n")


def line(number: int) -> bytes:
    return b"line %08d of the log\n" % number


def hurried(settings: SshSettings) -> SshSettings:
    """The same, giving up on a silent host after about a second."""
    return replace(
        settings,
        connect_timeout_s=2.0,
        login_timeout_s=2.0,
        keepalive_s=0.4,
        keepalive_count=2,
        waits_for_host=True,
    )


@asynccontextmanager
async def following(
    settings: SshSettings, path: Path, *, backfill_bytes: int | None = None, heard: Heard | None = None
) -> AsyncIterator[Heard]:
    """What a follower over SSH hears."""
    async with (
        SshHost("127.0.0.1", hurried(settings)) as host,
        Listening(
            RemoteFile(host, str(path), backfill_bytes=backfill_bytes, pace=PACE, interval_s=0.1).events(),
            heard,
        ) as listened,
    ):
        yield listened


class Writer:
    """Appends numbered lines, opening the log for each portion as `>>` does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0
        self.is_paused = False

    def write(self, count: int) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(map(line, range(self.written, self.written + count))))
        self.written += count

    @asynccontextmanager
    async def writing(self, *, lines_per_s: float = 400.0, portion: int = 2) -> AsyncIterator[None]:
        """Write beside what happens."""
        task = asyncio.create_task(self._write_on(portion, portion / lines_per_s))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def _write_on(self, portion: int, delay_s: float) -> None:
        while True:
            if not self.is_paused:
                self.write(portion)
            await asyncio.sleep(delay_s)

    async def is_read_by(self, heard: Heard, *, limit_s: float = 60.0) -> None:
        """Wait until the last line has come."""
        last = line(self.written - 1)
        await heard.until(lambda heard: heard.last(len(last)) == last, limit_s=limit_s)


def assert_each_line_once(heard: Heard, written: int) -> None:
    """In order, none missing, none twice, and no gap announced."""
    numbers = [int(words[5:13]) for words in heard.data.splitlines()]
    assert numbers == list(range(written))
    assert not heard.of(Gap)
    offset = 0
    for event in heard.events:
        if isinstance(event, Rotated):
            offset = 0
        elif isinstance(event, Chunk):
            assert event.offset == offset
            offset += len(event.data)
    assert all(len(words) == LINE_BYTES for words in heard.data.splitlines(keepends=True))


class Proxy:
    """A TCP link that delays what it carries, stalls now and then, and can break."""

    def __init__(self, port: int, *, delay_s: float = 0.0, bytes_per_s: float = 0.0, seed: int = 7) -> None:
        self._to_port = port
        self._delay_s = delay_s
        self._bytes_per_s = bytes_per_s
        self._chance = random.Random(seed)
        self._writers: list[asyncio.StreamWriter] = []
        self.port = 0
        self.connections = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.drop()

    def drop(self) -> None:
        """Break every connection, as a router that has forgotten them does."""
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        self._writers += [writer, far_writer]
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(4096):
                # A lost packet comes after a second attempt: everything behind it waits.
                stall_s = 0.2 if self._delay_s and self._chance.random() < 0.02 else 0.0
                slow_s = len(data) / self._bytes_per_s if self._bytes_per_s else 0.0
                if self._delay_s or slow_s:
                    await asyncio.sleep(self._delay_s + stall_s + slow_s)
                writer.write(data)
                await writer.drain()
        writer.close()


class Daemon:
    """An sshd of the test's own, that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._stack = ExitStack()
        self.sshd = self._stack.enter_context(running_sshd(folder, port=self._port))

    def stop(self) -> None:
        self.sshd.kill_sessions()
        self._stack.close()

    def start(self) -> None:
        self.sshd = self._stack.enter_context(running_sshd(self._folder, port=self._port))


async def begin(heard: Heard) -> None:
    await heard.until(lambda heard: bool(heard.of(CaughtUp)))


async def a_moment() -> None:
    """Let the writer write and the follower read."""
    await asyncio.sleep(0.15)


async def wait_for_reconnect(heard: Heard) -> None:
    connected = len(heard.of(Connected))
    await heard.until(lambda heard: len(heard.of(Connected)) > connected)
