"""The bytes of a captured log, packed or not, whoever made the capture.

A stream that ends in the middle is what a kill leaves, and no fault. One that grows beyond all that logs do is a
decompression bomb.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from specmon.captures.packed import ALWAYS_BYTES, MOST_TIMES
from specmon.errors import UnreadableInput

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

CHUNK_BYTES = 1 << 20


def read_log(path: Path) -> Iterator[bytes]:
    """The bytes of NAME.log or NAME.log.zst in pieces. UnreadableInput when they cannot be had or are a bomb."""
    try:
        if path.suffix != ".zst":
            with path.open("rb") as file:
                while data := file.read(CHUNK_BYTES):
                    yield data
            return
        limit = max(ALWAYS_BYTES, path.stat().st_size * MOST_TIMES)
        size = 0
        for data in _unpacked(path):
            size += len(data)
            if size > limit:
                raise UnreadableInput(
                    f"capture {path}: it unpacks to more than {MOST_TIMES:,} times its size, which no log does. "
                    "Do not trust this capture."
                )
            yield data
    except OSError as error:
        raise UnreadableInput(f"capture {path}: {(error.strerror or str(error)).lower()}. Copy it again.") from error


def _unpacked(path: Path) -> Iterator[bytes]:
    unpacker = zstd.ZstdDecompressor()
    with path.open("rb") as file:
        packed = b""
        try:
            while True:
                if unpacker.eof:
                    packed = unpacker.unused_data
                    unpacker = zstd.ZstdDecompressor()
                    if not packed and not (packed := file.read(CHUNK_BYTES)):
                        return
                elif unpacker.needs_input and not (packed := file.read(CHUNK_BYTES)):
                    return
                if data := unpacker.decompress(packed, max_length=CHUNK_BYTES):
                    yield data
                packed = b""
        except zstd.ZstdError as error:
            raise UnreadableInput(f"capture {path}: it cannot be unpacked ({error}). Copy it again.") from error
