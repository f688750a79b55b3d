"""The answer of a host to a `ReadRange`: two looks at a file and, between them, bytes that may be packed."""

from __future__ import annotations

import zlib

from specmon.sources.events import FileIdentity
from specmon.sources.file_commands import BLOCK_BYTES, ReadRange
from specmon.sources.looks import FoundFile, RangeRead

_GZIP = 16 + zlib.MAX_WBITS


def parse_range(answer: bytes, command: ReadRange) -> RangeRead | None:
    """Read the answer; None when it is none, or when it holds more than was asked for."""
    mark = command.mark.encode("ascii") + b"|"
    start = answer.find(mark)  # a login shell may have spoken before
    end = answer.rfind(mark)
    first_end = answer.find(b"\n", start)
    if start < 0 or end <= start or first_end < 0:
        return None
    packing, _, told = answer[start + len(mark) : first_end].partition(b"|")
    before = _file(told)
    after = _file(answer[end + len(mark) :].partition(b"|")[2].strip())
    data = answer[first_end + 1 : end]
    most = command.blocks * BLOCK_BYTES
    if packing.startswith(b"gzip"):
        unpacked = unpack(data, most)
        if unpacked is None:
            return None
        data = unpacked
    if before is None or after is None or len(data) > most:
        return None
    return RangeRead(data, before, after)


def unpack(packed: bytes, most: int) -> bytes | None:
    """Unpack what gzip wrote, `most` bytes at most; None when it is broken or would be more."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        data = unpacker.decompress(packed, most)
    except zlib.error:
        return None
    return data if unpacker.eof else None


def _file(told: bytes) -> FoundFile | None:
    """Read "DEVICE INODE SIZE|HEX"."""
    numbers, _, head = told.partition(b"|")
    try:
        device, inode, size = (int(word) for word in numbers.split())
        return FoundFile(FileIdentity(device, inode, bytes.fromhex(head.decode("ascii"))), size)
    except ValueError:
        return None
