"""Compressed bytes from stdin or from afar: unpacked by their first bytes, whatever the cut."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, SourceEvent
from specmon.sources.unpack import Unpacked

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"line %d of a log that is long enough to be cut\n" % number for number in range(2000))
PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, zstd.compress]


class Bytes:
    """A source that hands out bytes in pieces of one size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self._size = size

    @property
    def name(self) -> str:
        return "-"

    async def events(self) -> AsyncIterator[SourceEvent]:
        yield Connected(0.0, 0, len(self._data))
        for offset in range(0, len(self._data), self._size):
            yield Chunk(0.0, offset, self._data[offset : offset + self._size])
        yield CaughtUp(0.0)


async def read(data: bytes, size: int = 1000) -> tuple[bytes, list[SourceEvent]]:
    text = b""
    others: list[SourceEvent] = []
    async for event in Unpacked(Bytes(data, size)).events():
        if isinstance(event, Chunk):
            assert event.offset == len(text)
            text += event.data
        else:
            others.append(event)
    return text, others


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("size", [100, 4096, 1 << 20])
async def test_every_kind_is_unpacked_whatever_the_cut(pack: Callable[[bytes], bytes], size: int) -> None:
    assert (await read(pack(TEXT), size))[0] == TEXT


@pytest.mark.parametrize("pack", PACKERS)
async def test_parts_that_were_joined_are_read_on(pack: Callable[[bytes], bytes]) -> None:
    assert (await read(pack(TEXT) + pack(TEXT)))[0] == TEXT + TEXT


@pytest.mark.parametrize("pack", PACKERS)
async def test_cut_end_gives_what_is_there_and_a_gap(pack: Callable[[bytes], bytes]) -> None:
    text, others = await read(pack(TEXT)[:-20])
    assert TEXT.startswith(text)
    assert any(isinstance(event, Gap) for event in others)


async def test_plain_bytes_pass_through() -> None:
    assert (await read(TEXT))[0] == TEXT


async def test_damaged_bytes_are_a_sentence() -> None:
    with pytest.raises(UnreadableInput, match=r"^-: cannot be unpacked"):
        await read(b"\x1f\x8b" + bytes(range(200)))
