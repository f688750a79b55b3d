"""Files of a host that gives no shell, read over SFTP.

SFTP (version 3, what OpenSSH speaks) tells no device or inode. A file is known by its first bytes alone: the number in
its identity counts the files that were seen at the path. The follower asks for looks in the same way as elsewhere.
"""

from __future__ import annotations

import asyncio
import posixpath
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from specmon.errors import SourceLost
from specmon.sources.events import FileIdentity
from specmon.sources.file_commands import HEAD_BYTES
from specmon.sources.looks import Batch, Evidence, FoundFile, Look, MovedFile, NoFile, RangeRead
from specmon.sources.ssh import SshHost
from specmon.sources.ssh_errors import channel_error

_BLOCK_BYTES = 1 << 20
_POLL_S = (0.05, 0.1, 0.2)  # each poll is a round trip: a silent file is asked less often
_LIMIT_S = 30.0
_SIBLINGS = 50  # so many files of the same folder are looked into for one that was renamed


class SftpReach:
    """Looks at and reads files of one host."""

    def __init__(self, host: SshHost, *, interval_s: float = 1) -> None:
        self._host = host
        self._interval_s = interval_s
        self._connection: asyncssh.SSHClientConnection | None = None
        self._client: asyncssh.SFTPClient | None = None
        self._last_look: dict[str, FileIdentity] = {}  # by path

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        async with self.asking() as client:
            look = await _look_for(client, path, known)
        places = [(path, look.at_path)] + ([(look.moved.path, look.moved.file)] if look.moved else [])
        self._last_look = {place: file.identity for place, file in places if isinstance(file, FoundFile)}
        return look

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str, size: int) -> AsyncIterator[SftpOpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
        async with self.asking() as client:
            handle = await client.open(path, "rb", encoding=None)
        try:
            yield SftpOpenFile(self, handle, self._last_look.get(path), offset, watch, self._interval_s)
        finally:
            # Not waited for: on a frozen link the answer never comes.
            closing = asyncio.ensure_future(handle.close())
            closing.add_done_callback(lambda task: None if task.cancelled() else task.exception())

    async def read_range(self, path: str, start: int, size: int) -> RangeRead | None:
        """`size` bytes from `start` on."""
        known = self._last_look.get(path)
        async with self.asking() as client:
            before = await _look_at(client, path)
            if isinstance(before, NoFile):
                return None
            async with client.open(path, "rb", encoding=None) as handle:
                data = _bytes(await handle.read(size, start))
            after = await _look_at(client, path)
        number = -1 if known is None else known.inode
        before, after = _numbered(before, number), _numbered(after, number)
        return None if isinstance(before, NoFile) or isinstance(after, NoFile) else RangeRead(data, before, after)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[asyncssh.SFTPClient]:
        """The SFTP session of the connection as it is now. SourceLost when the link is gone or the time is over."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                connection = await self._host.connect()
                if self._client is None or connection is not self._connection:
                    self._client, self._connection = await connection.start_sftp_client(), connection
                yield self._client
        except TimeoutError:
            raise SourceLost(f"{self._host.name}: no answer in time") from None
        except (asyncssh.Error, OSError) as error:
            raise channel_error(error, self._host.name) from error


class SftpOpenFile:
    """A file that is being read: polled, since SFTP tells of no change by itself."""

    def __init__(
        self,
        reach: SftpReach,
        handle: asyncssh.SFTPClientFile,
        identity: FileIdentity | None,
        offset: int,
        watch: str,
        interval_s: float,
    ) -> None:
        self._reach = reach
        self._handle = handle
        self._identity = identity or FileIdentity(0, -1)
        self._offset = offset
        self._watch = watch
        self._interval_s = interval_s
        self._next_tick = 0.0  # on the monotonic clock; the first output is a look
        self._is_first = True
        self._polls = 0

    async def next(self) -> Batch:
        """The next bytes, or none after a while, and a look behind them."""
        if self._is_first:
            self._is_first = False
            return await self._batch(b"")
        while True:  # ends with bytes or, at the latest, with the next tick
            async with self._reach.asking():
                data = _bytes(await self._handle.read(_BLOCK_BYTES, self._offset))
            if data or time.monotonic() >= self._next_tick:
                self._polls = 0 if data else self._polls
                return await self._batch(data)
            await asyncio.sleep(_POLL_S[min(self._polls, len(_POLL_S) - 1)])
            self._polls += 1

    async def _batch(self, data: bytes) -> Batch:
        before = max(0, self._offset - HEAD_BYTES)
        async with self._reach.asking() as client:
            head = _bytes(await self._handle.read(HEAD_BYTES, 0))
            evidence = [Evidence(0, head)]
            if before:
                evidence.append(Evidence(before, _bytes(await self._handle.read(HEAD_BYTES, before))))
            size = (await self._handle.stat()).size or 0
            opened = FoundFile(FileIdentity(0, self._identity.inode), size)
            at_path: FoundFile | None = opened
            if time.monotonic() >= self._next_tick:
                self._next_tick = time.monotonic() + self._interval_s
                found = await _look_at(client, self._watch)
                if isinstance(found, NoFile):
                    at_path = None
                else:
                    number = self._number_of(found, head, size)
                    at_path = FoundFile(FileIdentity(0, number, found.identity.head), found.size)
        self._offset += len(data)
        return Batch(data, opened, at_path, tuple(evidence))

    def _number_of(self, found: FoundFile, head: bytes, size: int) -> int:
        """The open file's number when this is it: it begins the same and is not shorter."""
        is_it = found.size >= size and found.identity.head.startswith(head)
        return self._identity.inode + (not is_it)


async def _look_for(client: asyncssh.SFTPClient, path: str, known: FileIdentity | None) -> Look:
    found = await _look_at(client, path)
    if known is None or not known.head:
        return Look(_numbered(found, 1 if known is None else known.inode))
    if isinstance(found, FoundFile) and found.identity.head.startswith(known.head):
        return Look(_numbered(found, known.inode))
    moved = await _find_moved(client, path, known)
    # Without a file of the old beginning, the old one was truncated, or nobody can say more.
    return Look(_numbered(found, known.inode + (moved is not None)), moved)


async def _look_at(client: asyncssh.SFTPClient, path: str) -> FoundFile | NoFile:
    try:
        kind = (await client.stat(path)).permissions or 0
        if stat.S_ISDIR(kind):
            return NoFile("is a directory, not a log", is_final=True)
        if not stat.S_ISREG(kind):
            return NoFile("is a pipe or a device, which cannot be followed", is_final=True)
        async with client.open(path, "rb", encoding=None) as handle:
            head = _bytes(await handle.read(HEAD_BYTES, 0))
            return FoundFile(FileIdentity(0, 0, head), (await handle.stat()).size or 0)
    except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
        return NoFile("no such file")
    except asyncssh.SFTPPermissionDenied:
        return NoFile("no permission to read it")


async def _find_moved(client: asyncssh.SFTPClient, path: str, known: FileIdentity) -> MovedFile | None:
    """The file of the same folder, with a name that begins alike, that begins with the known bytes."""
    folder, name = posixpath.split(path)
    try:
        names = sorted(str(entry) for entry in await client.listdir(folder or "."))
    except asyncssh.SFTPError:
        return None
    for other in [other for other in names if other.startswith(name) and other != name][:_SIBLINGS]:
        place = posixpath.join(folder, other)
        found = await _look_at(client, place)
        if isinstance(found, FoundFile) and found.identity.head.startswith(known.head):
            return MovedFile(place, FoundFile(FileIdentity(0, known.inode, found.identity.head), found.size))
    return None


def _numbered(found: FoundFile | NoFile, number: int) -> FoundFile | NoFile:
    if isinstance(found, NoFile):
        return found
    return FoundFile(FileIdentity(0, number, found.identity.head), found.size)


def _bytes(data: bytes | str) -> bytes:
    return data if isinstance(data, bytes) else data.encode()
