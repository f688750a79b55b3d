"""Pieces of a file that were read backwards, packed in a temporary file until they are read forwards."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from specmon.sources.past import OVERLAP_BYTES

_QUICK = 1  # a log packs to a tenth at this level, at over 100 MB/s


class Pieces:
    """The bytes before a position, as far back as they have been read. The file has no name, so it goes with us."""

    def __init__(self, join: int, following: bytes) -> None:
        self.start = join  # offset of the first byte that is held
        self.following = following[:OVERLAP_BYTES]  # the bytes from there on
        self._file = tempfile.TemporaryFile(prefix="specmon-")  # noqa: SIM115 (closed by us)
        self._held: list[tuple[int, int, int]] = []  # offset in the log, place and size in our file; newest first

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, data: bytes) -> None:
        """Take the bytes before `start`. OSError when there is no room for them."""
        packed = zlib.compress(data, _QUICK)
        place = self._file.seek(0, 2)
        self._file.write(packed)
        self.start -= len(data)
        self._held.append((self.start, place, len(packed)))
        self.following = (data[:OVERLAP_BYTES] + self.following)[:OVERLAP_BYTES]

    def forwards(self) -> Iterator[tuple[int, bytes]]:
        """All that is held, in the order of the log: offset and bytes."""
        for start, place, size in reversed(list(self._held)):
            self._file.seek(place)
            yield start, zlib.decompress(self._file.read(size))
