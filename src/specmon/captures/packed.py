"""A file of a capture that grows: one zstd stream, of which all that was handed over can be read at any moment."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

_FRAME_BYTES = 64 << 20  # then a new frame begins, so that a damaged place costs no more than that
_LEVEL = 3
MOST_TIMES = 500  # a file that unpacks to more than this is refused as a bomb
ALWAYS_BYTES = 64 << 20  # but not before it has unpacked to more than this
_BALLAST_WORD = 0x184D2A50  # of a frame that readers of zstd pass over


class PackedFile:
    """Packs what it is given. Every method may raise OSError, after which only `close` may be called."""

    def __init__(self, path: Path) -> None:
        """Make the file, which must not be there."""
        self.size = 0  # bytes taken, before packing
        self.flushed = 0  # of `size`: in the hands of the system
        self._in_frame = 0
        self._written = 0  # bytes of the file
        self._packer = zstd.ZstdCompressor(level=_LEVEL)
        self._packed: list[bytes] = []
        self._descriptor = create(path)

    def add(self, data: bytes) -> None:
        """Take bytes; they are written with the next flush."""
        self.size += len(data)
        self._in_frame += len(data)
        self._packed.append(self._packer.compress(data))

    def flush(self, *, is_last: bool = False) -> None:
        """Hand all that was taken to the system, so that it can be unpacked to its last byte."""
        packed_bytes = self._written + sum(map(len, self._packed))
        # A server that prints one line for ever packs like a bomb. Ballast keeps our own files apart from those.
        needs_ballast = self.size > ALWAYS_BYTES // 2 and self.size > packed_bytes * MOST_TIMES // 2
        is_end = is_last or needs_ballast or self._in_frame >= _FRAME_BYTES
        if is_end and self._in_frame:
            self._packed.append(self._packer.flush(zstd.ZstdCompressor.FLUSH_FRAME))
        elif self.size > self.flushed:
            self._packed.append(self._packer.flush(zstd.ZstdCompressor.FLUSH_BLOCK))
        if needs_ballast:
            size = (self.size + _FRAME_BYTES) // (MOST_TIMES // 2) - packed_bytes
            self._packed.append(struct.pack("<II", _BALLAST_WORD, size) + bytes(size))
        packed, self._packed = b"".join(self._packed), []
        write_all(self._descriptor, packed)
        self._written += len(packed)
        self.flushed = self.size
        if is_end:
            self._in_frame = 0
            self._packer = zstd.ZstdCompressor(level=_LEVEL)

    def close(self) -> None:
        """Let the file go; what was not flushed is lost."""
        os.close(self._descriptor)


def create(path: Path) -> int:
    """A new file for the user alone, open for appending. Neither a file nor a link that is there is written to."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however little the system takes at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
