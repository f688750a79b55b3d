"""A log on another machine: the follower's look and tail, over one SSH channel each."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.events import FileIdentity, SourceEvent
from specmon.sources.file_commands import BATCH_BYTES, BLOCK_BYTES, LookAt, ReadRange, Tail
from specmon.sources.follow import BACKFILL_BYTES, OpenFile, Pace, follow_file
from specmon.sources.looks import Batch, Evidence, FoundFile, Look, MovedFile, NoFile, RangeRead
from specmon.sources.machine import first_line
from specmon.sources.past import PastFile
from specmon.sources.ranges import parse_range
from specmon.sources.sftp_file import SftpReach
from specmon.sources.ssh import RemoteStream, SshHost

_FIRST_LOOK_S = 30.0  # a far side that says nothing at all for so long is not well
_NOISE_BYTES = 1 << 20  # so much may a login shell say before our command begins
_RANGE_LIMIT_S = 300.0  # a slow link takes its time for a piece of a log's past

_REASONS = {
    b"directory": NoFile("is a directory, not a log", is_final=True),
    b"special": NoFile("is a pipe or a device, which cannot be followed", is_final=True),
    b"missing": NoFile("no such file"),
    b"unreadable": NoFile("no permission to read it"),
}


class RemoteReach:
    """Looks at and reads files of one host."""

    def __init__(self, host: SshHost, *, interval_s: float = 1) -> None:
        self._host = host
        self._interval_s = interval_s  # between two looks at a file that is silent
        self._sftp: SftpReach | None = None  # instead, on a host that gives no shell
        self._can_pack = True
        self._has_shell = False  # it has answered once: whatever comes later is a fault that passes

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        if self._sftp is not None:
            return await self._sftp.look(path, known)
        command = LookAt(path, None if known is None else known.inode)
        result = await self._host.run(command.text())
        look = parse_look(result.stdout, command.mark, path)
        lacking = parse_lack(result.stdout, command.mark)
        if look is None and (lacking or (known is None and not self._has_shell)):
            sftp = SftpReach(self._host, interval_s=self._interval_s)
            with contextlib.suppress(SourceLost):
                look = await sftp.look(path, known)
                self._sftp = sftp
        if look is None and lacking:
            raise SourceRefused(
                f"{self._host.name}: the host has no program {lacking} and no SFTP. Install coreutils or BusyBox there."
            )
        if look is None:
            told = f"{self._host.name}: the host's shell gave no usable answer ({result.words})"
            if self._has_shell or known is not None or result.status is None:
                raise SourceLost(told)
            raise SourceRefused(f"{told}, and SFTP is closed too. Log in as a user who has a shell or SFTP there.")
        self._has_shell = self._sftp is None
        return look

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str, size: int) -> AsyncIterator[OpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
        if self._sftp is not None:
            async with self._sftp.open(path, offset, watch, size) as opened:
                yield opened
            return
        command = Tail(path, offset, watch, self._interval_s, size)
        async with self._host.stream(command.text()) as stream:
            yield RemoteOpenFile(stream, self._host.name, command.mark)

    async def read_range(self, path: str, start: int, size: int) -> RangeRead | None:
        """Up to `size` bytes and a little more from `start` on, packed on the way where the host has gzip."""
        if self._sftp is not None:
            return await self._sftp.read_range(path, start, size)
        command = ReadRange(path, start, -(-size // BLOCK_BYTES), self._can_pack)
        answer = (await self._host.run(command.text(), timeout_s=_RANGE_LIMIT_S)).stdout
        found = await asyncio.to_thread(parse_range, answer, command)
        if found is None and self._can_pack:
            self._can_pack = False  # a gzip that is none
            return await self.read_range(path, start, size)
        return found


class RemoteOpenFile:
    """A remote file that is being read."""

    def __init__(self, stream: RemoteStream, host: str, mark: str) -> None:
        self._stream = stream
        self._host = host
        self._splitter = BatchSplitter(mark)
        self._batches: deque[Batch] = deque()
        self._is_first = True

    async def next(self) -> Batch:
        """The next bytes with the look behind them; SourceLost when the link or the far side's reader is gone."""
        if self._is_first:
            self._is_first = False
            try:
                async with asyncio.timeout(_FIRST_LOOK_S):
                    first = await self._receive()
            except TimeoutError:
                raise SourceLost(f"{self._host}: no answer in time") from None
            # Whatever came before the first look came from a login shell.
            return replace(first, data=b"")
        return await self._receive()

    async def _receive(self) -> Batch:
        while not self._batches:
            # No time limit: the far side speaks every second, and keepalives notice a dead link.
            if not (data := await self._stream.read()):
                raise SourceLost(await self._reason())
            self._batches.extend(self._splitter.feed(data))
            if self._splitter.held_bytes > BATCH_BYTES + _NOISE_BYTES:
                raise SourceLost(f"{self._host}: the host's shell talks without end")
        return self._batches.popleft()

    async def _reason(self) -> str:
        if self._splitter.has_begun:
            return f"{self._host}: the remote tail ended"
        return f"{self._host}: the file could not be opened ({first_line(await self._stream.read_error())})"


class BatchSplitter:
    """Cuts what the far side sends into batches: bytes, and the marked line that follows them."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode("ascii") + b"|"
        self._held = bytearray()
        self._searched = 0  # before this the mark does not begin
        self.has_begun = False

    @property
    def held_bytes(self) -> int:
        """Bytes whose look has not come yet."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Batch]:
        """The batches that these bytes complete."""
        batches: list[Batch] = []
        self._held += data
        while (start := self._held.find(self._mark, self._searched)) >= 0:
            end = self._held.find(b"\n", start)
            if end < 0:
                self._searched = start
                return batches
            batch = parse_batch(bytes(self._held[:start]), bytes(self._held[start + len(self._mark) : end]))
            if batch is not None:
                batches.append(batch)
                self.has_begun = True
            del self._held[: end + 1]
            self._searched = 0
        self._searched = max(0, len(self._held) - len(self._mark))
        return batches


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
        interval_s: float = 1,
    ) -> None:
        self._host = host
        self._path = path
        self._reach = RemoteReach(host, interval_s=interval_s)
        self._follow = follow
        self._backfill_bytes = backfill_bytes
        self._pace = pace or Pace()

    def past_of(self, identity: FileIdentity) -> PastFile:
        """What lies before the part of a file that the events tell of."""
        return PastFile(self._reach, self._path, identity)

    @property
    def name(self) -> str:
        """HOST:PATH as the user wrote it."""
        return f"{self._host.name}:{self._path}"

    def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Open the file and yield what it says. Closing the iterator closes the channel, not the connection."""
        return follow_file(
            self._reach,
            self.name,
            self._path,
            backfill_bytes=self._backfill_bytes,
            follow=self._follow,
            pace=self._pace,
        )


def parse_look(answer: bytes, mark: str, path: str) -> Look | None:
    """Read the answer to a `LookAt`; None when it is none."""
    _, _, told = answer.partition(mark.encode("ascii") + b"\n")  # a login shell may have spoken before
    first, _, rest = told.partition(b"\n")
    words = first.split()
    if not words:
        return None
    at_path: FoundFile | NoFile | None = _REASONS.get(words[0]) if words[0] != b"file" else _file(words[1:])
    if at_path is None:
        return None
    later: MovedFile | None = None
    if rest.startswith(b"later "):
        line, _, rest = rest.partition(b"\n")
        _, suffix, *words = line.split()
        if (file := _file(words)) is not None:
            later = MovedFile(path + suffix.decode("ascii", "replace"), file)
    line, _, place = rest.partition(b"\n")
    moved_words = line.split()
    moved = _file(moved_words[1:]) if moved_words[:1] == [b"moved"] else None
    try:
        return Look(at_path, MovedFile(place.decode("utf-8"), moved) if moved is not None and place else None, later)
    except UnicodeDecodeError:  # a name that cannot be asked for
        return Look(at_path, later=later)


def parse_lack(answer: bytes, mark: str) -> str | None:
    """Which program the far side would need to answer a `LookAt`; None when it has all."""
    _, _, told = answer.partition(mark.encode("ascii") + b"\nlacks ")
    return told.partition(b"\n")[0].decode("ascii", "replace")[:20] or None


def parse_batch(data: bytes, line: bytes) -> Batch | None:
    """Read the line "KIND|OFFSET|HEX|NUMBERS" behind some bytes; None when the far side could not look."""
    parts = line.split(b"|")
    if len(parts) != 4 or (opened := _file((numbers := parts[3].split())[:3])) is None:
        return None
    at_path = _file(numbers[3:6])
    is_evidence = parts[0] == b"own" or (at_path is not None and at_path.identity == opened.identity)
    try:
        evidence = Evidence(int(parts[1]), bytes.fromhex(parts[2].decode("ascii")))
    except ValueError:
        return None
    return Batch(data, opened, at_path, (evidence,) if is_evidence else ())


def _file(words: list[bytes]) -> FoundFile | None:
    """Read "DEVICE INODE SIZE" and the first bytes in hexadecimal."""
    try:
        device, inode, size = (int(word) for word in words[:3])
        return FoundFile(FileIdentity(device, inode, bytes.fromhex(b"".join(words[3:]).decode("ascii"))), size)
    except ValueError:
        return None
