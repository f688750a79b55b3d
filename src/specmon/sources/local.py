"""A log on this machine: read to its end, or followed."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import lzma
import os
import stat
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from glob import iglob
from pathlib import Path
from typing import BinaryIO

from specmon.errors import UnreadableInput
from specmon.sources.cursor import FoundFile, Look, MovedFile, NoFile, Tick
from specmon.sources.events import CaughtUp, Chunk, Connected, FileIdentity, Gap, SourceEvent
from specmon.sources.follow import Pace, follow_file
from specmon.sources.remote_commands import HEAD_BYTES

_BLOCK_BYTES = 1024 * 1024
_POLL_S = 0.02  # like the far side's tail; a look at an open file costs microseconds
_TICK_S = 0.25


def _open_plain(path: str) -> BinaryIO:
    return Path(path).open("rb")


def _open_gzip(path: str) -> BinaryIO:
    return gzip.open(path, "rb")  # type: ignore[return-value]  # typeshed gives GzipFile, which reads the same


def _open_bzip2(path: str) -> BinaryIO:
    return bz2.open(path, "rb")  # type: ignore[return-value]


def _open_xz(path: str) -> BinaryIO:
    return lzma.open(path, "rb")  # type: ignore[return-value]


def _open_zstandard(path: str) -> BinaryIO:
    if sys.version_info >= (3, 14):  # imported here: most runs need no decompressor
        from compression import zstd
    else:
        from backports import zstd
    return zstd.open(path, "rb")  # type: ignore[return-value]


_OPENERS: dict[str, Callable[[str], BinaryIO]] = {
    ".gz": _open_gzip,
    ".bz2": _open_bzip2,
    ".xz": _open_xz,
    ".zst": _open_zstandard,
    ".zstd": _open_zstandard,
}


def is_compressed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return Path(path).suffix.lower() in _OPENERS


class LocalReach:
    """Looks at and reads files of this machine."""

    def __init__(self, *, poll_s: float = _POLL_S, tick_s: float = _TICK_S) -> None:
        self._poll_s = poll_s
        self._tick_s = tick_s

    @property
    def looks_lag(self) -> bool:
        """No: a look and a read of one moment agree here."""
        return False

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        found = look_at(path)
        if known is None or (isinstance(found, FoundFile) and found.identity.inode == known.inode):
            return Look(found)
        return Look(found, _find_moved(Path(path).parent, known))

    @asynccontextmanager
    async def open(self, path: str, offset: int, watch: str) -> AsyncIterator[LocalOpenFile]:
        """Read `path` from a byte on, looking at `watch` beside it."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            # Gone since the look: the first tick says so, and the follower looks again.
            yield LocalOpenFile(None, watch, self._poll_s, self._tick_s)
            return
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            yield LocalOpenFile(descriptor, watch, self._poll_s, self._tick_s)
        finally:
            os.close(descriptor)


class LocalOpenFile:
    """A local file that is being read."""

    def __init__(self, descriptor: int | None, watch: str, poll_s: float, tick_s: float) -> None:
        self._descriptor = descriptor
        self._watch = watch
        self._poll_s = poll_s
        self._tick_s = tick_s
        self._next_tick = 0.0  # on the monotonic clock; the first output is a look

    async def next(self) -> bytes | Tick:
        """The next bytes, or what a look beside them saw."""
        if self._descriptor is None:
            return Tick(FoundFile(FileIdentity(-1, -1), 0), None)
        while True:  # ends with bytes or, at the latest, with the next tick
            now = time.monotonic()
            if now >= self._next_tick:
                self._next_tick = now + self._tick_s
                at_path = look_at(self._watch)
                opened = _found(os.fstat(self._descriptor), b"")
                return Tick(opened, at_path if isinstance(at_path, FoundFile) else None)
            if data := os.read(self._descriptor, _BLOCK_BYTES):
                await asyncio.sleep(0)  # a long file must not keep everybody else waiting
                return data
            await asyncio.sleep(self._poll_s)


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

    @property
    def name(self) -> str:
        """The path as the user wrote it."""
        return self._path

    def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Open the file and yield what it says; UnreadableInput when it cannot be opened and is not waited for."""
        opener = _OPENERS.get(Path(self._path).suffix.lower())
        if opener is not None:
            return self._read_compressed(opener)
        return follow_file(
            self._reach,
            self._path,
            self._path,
            backfill_bytes=self._backfill_bytes,
            follow=self._follow,
            pace=self._pace,
        )

    async def _read_compressed(self, opener: Callable[[str], BinaryIO]) -> AsyncGenerator[SourceEvent, None]:
        found = look_at(self._path)
        if isinstance(found, NoFile):
            raise UnreadableInput(f"{self._path}: {found.reason}.")
        clock, offset = self._pace.clock, 0
        try:
            with opener(self._path) as handle:
                yield Connected(clock(), 0, None, found.identity)
                fault: Exception | None = None
                while fault is None:
                    data, fault = await asyncio.to_thread(_unpack, handle)
                    if data:
                        yield Chunk(clock(), offset, data)
                        offset += len(data)
                    elif fault is None:
                        break
        except OSError as error:
            raise UnreadableInput(f"{self._path}: cannot be opened ({error}).") from error
        if fault is not None and not offset:
            raise UnreadableInput(
                f"{self._path}: cannot be unpacked ({fault}); unpack it by hand to see why."
            ) from fault
        if fault is not None:
            # A copy that was cut off, or a file that is still being written: its beginning is as good as ever.
            yield Gap(
                clock(),
                None,
                f"{self._path} is cut off or damaged: {offset:,} bytes could be unpacked, then: {fault}. "
                "Copy it again.",
            )
        yield CaughtUp(clock())


def _unpack(handle: BinaryIO) -> tuple[bytes, Exception | None]:
    """The next bytes of a compressed file, and why there will be no more; no bytes and no reason at its end.

    `read` would drop what it has unpacked already when the rest is broken, so it is done in small steps.
    """
    pieces: list[bytes] = []
    size = 0
    try:
        while size < _BLOCK_BYTES and (piece := handle.read1(_BLOCK_BYTES - size)):  # type: ignore[attr-defined]
            pieces.append(piece)
            size += len(piece)
    except Exception as error:  # each decompressor has errors of its own
        return b"".join(pieces), error
    return b"".join(pieces), None


def look_at(path: str) -> FoundFile | NoFile:
    """What lies at a local path."""
    try:
        # Opened without waiting: a pipe at the path would hold the program until somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                return NoFile("is a directory, not a log", is_final=True)
            if not stat.S_ISREG(status.st_mode):
                return NoFile("is not a regular file", is_final=True)
            return _found(status, os.pread(descriptor, HEAD_BYTES, 0))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return NoFile("no such file")
    except PermissionError:
        return NoFile("no permission to read it")
    except (OSError, ValueError) as error:
        return NoFile(f"cannot be opened ({error})")


def expand_glob(pattern: str) -> list[str]:
    """The files that a pattern means, oldest first; a file of exactly that name stands for itself."""
    if Path(pattern).exists():
        return [pattern]
    paths = [path for path in iglob(pattern) if Path(path).is_file()]  # noqa: PTH207 (absolute patterns)
    if not paths:
        raise UnreadableInput(f"{pattern}: no file matches.")
    return sorted(paths, key=lambda path: (Path(path).stat().st_mtime, path))


def _found(status: os.stat_result, head: bytes) -> FoundFile:
    return FoundFile(FileIdentity(status.st_dev, status.st_ino, head), status.st_size)


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
