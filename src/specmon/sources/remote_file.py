"""A log on another machine: the follower's look and tail, over one SSH channel each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from specmon.errors import SourceLost
from specmon.sources.cursor import FoundFile, Look, MovedFile, NoFile, Tick
from specmon.sources.events import FileIdentity, SourceEvent
from specmon.sources.follow import BACKFILL_BYTES, Pace, follow_file
from specmon.sources.remote_commands import LookAt, Tail
from specmon.sources.ssh import RemoteStream, SshHost

_FIRST_LOOK_S = 30.0  # a far side that says nothing at all for so long is not well
_QUEUED_PARTS = 32  # of 64 KiB: a slow reader makes the far side wait instead of filling our memory

_REASONS = {
    b"directory": NoFile("is a directory, not a log", is_final=True),
    b"special": NoFile("is a pipe or a device, which cannot be followed", is_final=True),
    b"missing": NoFile("no such file"),
    b"unreadable": NoFile("no permission to read it"),
}


class RemoteReach:
    """Looks at and reads files of one host."""

    def __init__(self, host: SshHost, *, interval_s: int = 1) -> None:
        self._host = host
        self._interval_s = interval_s  # between two looks beside an open file

    @property
    def looks_lag(self) -> bool:
        """Yes: looks and bytes come on two streams."""
        return True

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        result = await self._host.run(LookAt(path, None if known is None else known.inode).text())
        look = parse_look(result.stdout)
        if look is None:
            raise SourceLost(
                f"{self._host.name}: the host's shell gave no usable answer ({_first_line(result.stderr)})"
            )
        return look

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str) -> AsyncIterator[RemoteOpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
        async with self._host.stream(Tail(path, offset, watch, self._interval_s).text()) as stream:
            opened = RemoteOpenFile(stream, self._host.name)
            try:
                await opened.start()
                yield opened
            finally:
                await opened.stop()


class RemoteOpenFile:
    """A remote file that is being read: its bytes, and the looks that come beside them."""

    def __init__(self, stream: RemoteStream, host: str) -> None:
        self._stream = stream
        self._host = host
        self._outputs: asyncio.Queue[bytes | Tick | SourceLost] = asyncio.Queue(_QUEUED_PARTS)
        self._pumps: list[asyncio.Task[None]] = []
        self._lines = b""
        self._tick: Tick | None = None

    async def start(self) -> None:
        """Wait for the first look, which the far side sends before the first byte; SourceLost when there is none."""
        try:
            async with asyncio.timeout(_FIRST_LOOK_S):
                while self._tick is None:
                    if not (data := await self._stream.read_error()):
                        raise SourceLost(f"{self._host}: the file could not be opened ({_first_line(self._lines)})")
                    for tick in self._ticks(data):
                        self._outputs.put_nowait(tick)
        except TimeoutError:
            raise SourceLost(f"{self._host}: no answer in time") from None
        self._pumps = [
            asyncio.create_task(self._pump(self._stream.read, self._as_bytes)),
            asyncio.create_task(self._pump(self._stream.read_error, self._ticks)),
        ]

    async def stop(self) -> None:
        """Stop reading."""
        for pump in self._pumps:
            pump.cancel()
        if self._pumps:
            await asyncio.wait(self._pumps)

    async def next(self) -> bytes | Tick:
        """The next bytes, or what a look beside them saw; SourceLost when the link or the far side's tail is gone."""
        # No time limit: a silent log is normal, and keepalives notice a dead link.
        output = await self._outputs.get()
        if isinstance(output, SourceLost):
            raise output
        return output

    async def _pump(
        self, read: Callable[[], Awaitable[bytes]], outputs: Callable[[bytes], list[bytes] | list[Tick]]
    ) -> None:
        try:
            while data := await read():
                for output in outputs(data):
                    await self._outputs.put(output)
            await self._outputs.put(SourceLost(f"{self._host}: the remote tail ended"))
        except SourceLost as error:
            await self._outputs.put(error)

    @staticmethod
    def _as_bytes(data: bytes) -> list[bytes]:
        return [data]

    def _ticks(self, data: bytes) -> list[Tick]:
        *lines, self._lines = (self._lines + data).split(b"\n")
        self._lines = self._lines[-4096:]  # a shell that talks without end is not kept
        ticks: list[Tick] = []
        for line in lines:
            if (tick := parse_tick(line, self._tick)) is not None:
                self._tick = tick
                ticks.append(tick)
            elif self._tick is None:
                self._lines = line + b"\n"  # likely the reason why there is no look
        return ticks


class RemoteFile:
    """A log on a host as a source."""

    def __init__(
        self,
        host: SshHost,
        path: str,
        *,
        follow: bool = True,
        backfill_bytes: int | None = BACKFILL_BYTES,
        pace: Pace | None = None,
        interval_s: int = 1,
    ) -> None:
        self._host = host
        self._path = path
        self._follow = follow
        self._backfill_bytes = backfill_bytes
        self._pace = pace or Pace()
        self._interval_s = interval_s

    @property
    def name(self) -> str:
        """HOST:PATH as the user wrote it."""
        return f"{self._host.name}:{self._path}"

    def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Open the file and yield what it says. Closing the iterator closes the channel, not the connection."""
        return follow_file(
            RemoteReach(self._host, interval_s=self._interval_s),
            self.name,
            self._path,
            backfill_bytes=self._backfill_bytes,
            follow=self._follow,
            pace=self._pace,
        )


def parse_look(answer: bytes) -> Look | None:
    """Read the answer to a `LookAt`; None when it is none."""
    first, _, rest = answer.partition(b"\n")
    words = first.split()
    if not words:
        return None
    at_path: FoundFile | NoFile | None = _REASONS.get(words[0]) if words[0] != b"file" else _file(words[1:])
    if at_path is None:
        return None
    line, _, path = rest.partition(b"\n")
    moved_words = line.split()
    moved = _file(moved_words[1:]) if moved_words[:1] == [b"moved"] else None
    try:
        return Look(at_path, MovedFile(path.decode("utf-8"), moved) if moved is not None and path else None)
    except UnicodeDecodeError:  # a name that cannot be asked for
        return Look(at_path)


def parse_tick(line: bytes, last: Tick | None) -> Tick | None:
    """Read a line of a `Tail`'s looks; None when it is something else, such as a shell's complaint."""
    if line == b"same":
        return last
    parts = line.split(b"|")
    if len(parts) != 4 or parts[0] != b"look" or (opened := _file(parts[1].split())) is None:
        return None
    return Tick(opened, _file(parts[2].split() + parts[3].split()))


def _file(words: list[bytes]) -> FoundFile | None:
    """Read "DEVICE INODE SIZE" and the first bytes in hexadecimal."""
    try:
        device, inode, size = (int(word) for word in words[:3])
        return FoundFile(FileIdentity(device, inode, bytes.fromhex(b"".join(words[3:]).decode("ascii"))), size)
    except ValueError:
        return None


def _first_line(text: bytes) -> str:
    return text.split(b"\n")[0].decode("utf-8", "replace").strip()[:200] or "no message"
