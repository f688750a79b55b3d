"""Logs on this machine, read from the first byte to the end and closed again."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from glob import iglob
from pathlib import Path
from typing import BinaryIO

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, FileIdentity, Gap, SourceEvent
from specmon.sources.file_commands import HEAD_BYTES
from specmon.sources.looks import FoundFile, NoFile

BLOCK_BYTES = 2 << 20  # 1 MiB takes a tenth more time, 4 MiB as much more memory


def _open_gzip(path: str) -> BinaryIO:
    import gzip  # each decompressor is imported when it is needed

    return gzip.open(path, "rb")  # type: ignore[return-value]  # typeshed gives GzipFile, which reads the same


def _open_bzip2(path: str) -> BinaryIO:
    import bz2

    return bz2.open(path, "rb")  # type: ignore[return-value]


def _open_xz(path: str) -> BinaryIO:
    import lzma

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


_MAGIC = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\0", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))


def is_compressed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return Path(path).suffix.lower() in _OPENERS


def _opener_of(path: str, found: FoundFile) -> Callable[[str], BinaryIO] | None:
    """How to unpack a file: its first bytes tell, and its name for one that is damaged or empty."""
    suffix = next((suffix for magic, suffix in _MAGIC if found.identity.head.startswith(magic)), None)
    return _OPENERS.get(suffix or Path(path).suffix.lower())


def is_pipe(path: str) -> bool:
    """Whether a pipe lies at the path: a FIFO, or what a shell's `<(zcat x.gz)` stands for."""
    return Path(path).is_fifo()  # without opening it: its writer would take us for the reader


def read_whole(path: str, *, clock: Callable[[], float] = time.time) -> Iterator[SourceEvent]:
    """What a file holds at this moment, unpacked where needed; UnreadableInput when it cannot be opened."""
    found = look_at(path)
    if isinstance(found, NoFile):
        raise UnreadableInput(f"{path}: {found.reason}. Name a log file that can be read.")
    if (opener := _opener_of(path, found)) is not None:
        yield from _read_compressed(path, opener, found, clock)
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UnreadableInput(
            f"{path}: cannot be opened ({error.strerror}). Name a log file that can be read."
        ) from error
    try:
        yield Connected(clock(), 0, found.size, found.identity)
        offset = 0
        # What a server writes while the file is read belongs to another moment.
        while offset < found.size and (data := os.read(descriptor, BLOCK_BYTES)):
            yield Chunk(clock(), offset, data)
            offset += len(data)
    finally:
        os.close(descriptor)
    yield CaughtUp(clock())


def _read_compressed(
    path: str, opener: Callable[[str], BinaryIO], found: FoundFile, clock: Callable[[], float]
) -> Iterator[SourceEvent]:
    offset = 0
    try:
        with opener(path) as handle:
            yield Connected(clock(), 0, None, found.identity)
            fault: Exception | None = None
            while fault is None:
                data, fault = _unpack(handle)
                if data:
                    yield Chunk(clock(), offset, data)
                    offset += len(data)
                elif fault is None:
                    break
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be opened ({error}). Name a log file that can be read.") from error
    if fault is not None and not offset:
        raise UnreadableInput(f"{path}: cannot be unpacked ({fault}); unpack it by hand to see why.") from fault
    if fault is not None:
        # A copy that was cut off, or a file that is still being written: its beginning is as good as ever.
        yield Gap(
            clock(),
            None,
            f"{path} is cut off or damaged: {offset:,} bytes could be unpacked, then: {fault}. Copy it again.",
        )
    yield CaughtUp(clock())


def _unpack(handle: BinaryIO) -> tuple[bytes, Exception | None]:
    """The next bytes of a compressed file, and why there will be no more; no bytes and no reason at its end.

    `read` would drop what it has unpacked already when the rest is broken, so it is done in small steps.
    """
    pieces: list[bytes] = []
    size = 0
    try:
        while size < BLOCK_BYTES and (piece := handle.read1(BLOCK_BYTES - size)):  # type: ignore[attr-defined]
            pieces.append(piece)
            size += len(piece)
    except Exception as error:  # each decompressor has errors of its own
        return b"".join(pieces), error
    return b"".join(pieces), None


def look_at(path: str) -> FoundFile | NoFile:
    """What lies at a local path."""
    try:
        if is_pipe(path):
            return NoFile("is a pipe, which can be read once and not be followed", is_final=True)
        # Opened without waiting: a device at the path might hold the program.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                return NoFile("is a directory, not a log", is_final=True)
            if not stat.S_ISREG(status.st_mode):
                return NoFile("is a device or a socket, not a log", is_final=True)
            head = os.pread(descriptor, HEAD_BYTES, 0)
            return found_file(os.fstat(descriptor), head)  # a size must not be older than the head
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
        raise UnreadableInput(f"{pattern}: no file matches. Check the pattern and the folder.")
    return sorted(paths, key=lambda path: (Path(path).stat().st_mtime, path))


def found_file(status: os.stat_result, head: bytes) -> FoundFile:
    """What a look at a file says."""
    return FoundFile(FileIdentity(status.st_dev, status.st_ino, head), status.st_size)
