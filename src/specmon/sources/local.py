"""A log on this machine: read to its end, or followed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from specmon.sources.events import FileIdentity, SourceEvent
from specmon.sources.file_commands import HEAD_BYTES
from specmon.sources.files import found_file, is_compressed, look_at, read_whole
from specmon.sources.follow import Pace, follow_file
from specmon.sources.looks import Batch, Evidence, FoundFile, Look, MovedFile, NoFile, RangeRead
from specmon.sources.past import PastFile
from specmon.sources.written import Watch

_BLOCK_BYTES = 1 << 20
_POLL_S = 0.02  # like the far side's tail, where nothing tells that the file is written
_TICK_S = 0.25
_ROTATED = re.compile(r"[.-][0-9][0-9.:T_-]*")  # what a rotation adds to a name: .1, -20261130


class LocalReach:
    """Looks at and reads files of this machine."""

    def __init__(self, *, poll_s: float = _POLL_S, tick_s: float = _TICK_S) -> None:
        self._poll_s = poll_s
        self._tick_s = tick_s

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        found = look_at(path)
        if known is None or (isinstance(found, FoundFile) and found.identity.inode == known.inode):
            return Look(found)
        moved = _find_moved(Path(path).parent, known)
        return Look(found, moved, None if moved is None else _find_later(path, moved.path))

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str, size: int) -> AsyncIterator[LocalOpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            # Gone since the look: the first batch says so, and the follower looks again.
            yield LocalOpenFile(None, offset, watch, self._poll_s, self._tick_s)
            return
        opened = LocalOpenFile(descriptor, offset, watch, self._poll_s, self._tick_s)
        try:
            yield opened
        finally:
            opened.close()
            os.close(descriptor)

    async def read_range(self, path: str, start: int, size: int) -> RangeRead | None:
        """`size` bytes from `start` on; None when nothing can be read there."""
        return await asyncio.to_thread(_read_range, path, start, size)


class LocalOpenFile:
    """A local file that is being read."""

    def __init__(self, descriptor: int | None, offset: int, watch: str, poll_s: float, tick_s: float) -> None:
        self._descriptor = descriptor
        self._offset = offset
        self._watch = watch
        self._poll_s = poll_s
        self._tick_s = tick_s
        self._next_tick: float | None = None  # on the monotonic clock; the first output is a look
        self._writing: Watch | None = None  # once the end was seen
        self._is_told = False  # the last bytes came with word of them

    async def next(self) -> Batch:
        """The next bytes, or none after a while, and a look behind them."""
        if self._descriptor is None:
            return Batch(b"", FoundFile(FileIdentity(-1, -1), 0), None)
        if self._next_tick is None:
            self._next_tick = time.monotonic() + self._tick_s
            return self._batch(self._descriptor, b"")
        while True:  # ends with bytes or, at the latest, with the next tick
            is_written = False
            if (writing := self._writing) is not None:
                is_written = writing.is_written
                writing.forget()
            data = os.pread(self._descriptor, _BLOCK_BYTES, self._offset)
            if data or is_written:
                self._is_told = is_written
            if data:
                await asyncio.sleep(0)  # a long file must not keep everybody else waiting
                return self._batch(self._descriptor, data)
            if (now := time.monotonic()) >= self._next_tick:
                self._next_tick = now + self._tick_s
                return self._batch(self._descriptor, b"")
            if writing is None:
                writing = self._writing = Watch.of(self._descriptor)
                continue  # what was written since the look was not told
            await writing.wait(self._next_tick - now if self._is_told else self._poll_s)

    def close(self) -> None:
        """The file is not read any more."""
        if self._writing is not None:
            self._writing.close()

    def _batch(self, descriptor: int, data: bytes) -> Batch:
        before = max(0, self._offset - HEAD_BYTES)
        places = (0, before) if before else (0,)
        evidence = tuple(Evidence(place, os.pread(descriptor, HEAD_BYTES, place)) for place in places)
        opened = found_file(os.fstat(descriptor), b"")
        at_path: FoundFile | None = None
        with contextlib.suppress(OSError, ValueError):
            at_path = found_file(os.stat(self._watch), b"")  # noqa: PTH116 (a Path costs more than the look)
        self._offset += len(data)
        return Batch(data, opened, at_path, evidence)


class LocalFile:
    """A local log as a source, read to its end or followed.

    It starts `backfill_bytes` before the end (None: at the first byte). Compressed files are always read from the
    first byte to the end.
    """

    def __init__(
        self,
        path: str,
        *,
        follow: bool = False,
        backfill_bytes: int | None = None,
        pace: Pace | None = None,
        reach: LocalReach | None = None,
    ) -> None:
        self._path = path
        self._follow = follow
        self._backfill_bytes = backfill_bytes
        self._pace = pace or Pace()
        self._reach = reach or LocalReach()

    def past_of(self, identity: FileIdentity) -> PastFile | None:
        """What lies before the part of a file that the events tell of; None for a packed one."""
        return None if is_compressed(self._path) else PastFile(self._reach, self._path, identity)

    @property
    def name(self) -> str:
        """The path as the user wrote it."""
        return self._path

    def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Open the file and yield what it says; UnreadableInput when it cannot be opened and is not waited for."""
        if is_compressed(self._path):
            return self._read_compressed()
        return follow_file(
            self._reach,
            self._path,
            self._path,
            backfill_bytes=self._backfill_bytes,
            follow=self._follow,
            pace=self._pace,
        )

    async def _read_compressed(self) -> AsyncGenerator[SourceEvent, None]:
        events = read_whole(self._path, clock=self._pace.clock)
        while (event := await asyncio.to_thread(next, events, None)) is not None:
            yield event


def _read_range(path: str, start: int, size: int) -> RangeRead | None:
    if isinstance(look_at(path), NoFile):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        before = found_file(os.fstat(descriptor), os.pread(descriptor, HEAD_BYTES, 0))
        data = os.pread(descriptor, size, start)
        after = found_file(os.fstat(descriptor), os.pread(descriptor, HEAD_BYTES, 0))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return RangeRead(data, before, after)


def _find_moved(folder: Path, known: FileIdentity) -> MovedFile | None:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return None
    for entry in entries:
        if entry.inode() == known.inode:
            found = look_at(entry.path)
            if isinstance(found, FoundFile) and found.identity.device == known.device:
                return MovedFile(entry.path, found)
    return None


def _find_later(path: str, moved: str) -> MovedFile | None:
    """The oldest of the files that were rotated away after one that was."""
    try:
        since = Path(moved).stat().st_mtime_ns
        later = [
            (status.st_mtime_ns, entry.path)
            for entry in os.scandir(Path(path).parent)
            if _ROTATED.fullmatch(entry.name.removeprefix(Path(path).name))
            and entry.name.startswith(Path(path).name)
            and (status := entry.stat()).st_mtime_ns > since
        ]
    except OSError:
        return None
    if not later:
        return None
    place = min(later)[1]
    return MovedFile(place, found) if isinstance(found := look_at(place), FoundFile) else None
