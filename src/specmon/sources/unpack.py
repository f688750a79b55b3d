"""Compressed bytes of a source that has no file name to go by, or is far away: told by their first bytes."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from specmon.errors import UnreadableInput
from specmon.sources.events import Chunk, Connected, Gap, Source, SourceEvent


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes) -> bytes: ...


def _zstandard() -> _Unpacker:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()


_MAGIC: tuple[tuple[bytes, Callable[[], _Unpacker]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
    (b"\x28\xb5\x2f\xfd", _zstandard),
)


class Unpacked:
    """A source whose bytes are unpacked when they are compressed, and handed on as they are otherwise.

    Offsets count unpacked bytes. Parts that were compressed one by one and then joined are read on. For sources that
    are read once from their beginning; a cut end gives what could be unpacked and a gap.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """The name of what is unpacked."""
        return self._source.name

    async def events(self) -> AsyncIterator[SourceEvent]:
        """What the source says, unpacked."""
        make: Callable[[], _Unpacker] | None = None
        unpacker: _Unpacker | None = None
        offset, at, is_first = 0, 0.0, True
        async for event in self._source.events():
            if isinstance(event, Connected) and event.size is not None:
                event = Connected(event.at, event.offset, None, event.identity, event.detail)
            if not isinstance(event, Chunk):
                yield event
                continue
            at = event.at
            if is_first:
                is_first = False
                make = next((maker for magic, maker in _MAGIC if event.data.startswith(magic)), None)
            if make is None:
                yield event
                continue
            rest = event.data
            while rest:
                unpacker = unpacker or make()
                try:
                    data = unpacker.decompress(rest)
                except Exception as error:  # each library has its own, and zstd's is in a module of two names
                    raise UnreadableInput(f"{self.name}: cannot be unpacked ({error}). Copy it again.") from error
                if data:
                    yield Chunk(at, offset, data)
                    offset += len(data)
                rest = unpacker.unused_data if unpacker.eof else b""
                unpacker = None if unpacker.eof else unpacker
        if unpacker is not None:
            yield Gap(at, None, f"the compressed data of {self.name} ends in the middle. Copy it again.")
