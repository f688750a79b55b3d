"""What a followed file held before the part that is followed: read backwards, piece by piece, while it is followed.

A file only grows, so what lies before a position never changes as long as the file lives. That it is the same life is
proven for each piece: the file has the same number and beginning and is not shorter than before, at a look before the
reading and at one behind it, and the piece overlaps with the bytes that are known to come after it.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from specmon.sources.events import FileIdentity
from specmon.sources.looks import FoundFile, Look, RangeRead, is_same_file

PIECE_BYTES = 2 << 20  # on a slow link, a live line waits behind one packed piece at most
OVERLAP_BYTES = 256


class RangeReach(Protocol):
    """How to read parts of files of one machine."""

    async def look(self, path: str, known: FileIdentity | None) -> Look:
        """What lies at the path, and where the known file is if not there."""
        ...

    async def read_range(self, path: str, start: int, size: int) -> RangeRead | None:
        """Up to `size` bytes and a little more from `start` on; None when nothing can be read there."""
        ...


class PastGone(Exception):
    """The file was truncated, or removed, before its past was read."""


class PastFile:
    """The past of one file, that is still followed under its path or was renamed."""

    def __init__(self, reach: RangeReach, path: str, identity: FileIdentity) -> None:
        self._reach = reach
        self._path = path
        self._place = path  # where it was seen last
        self._identity = identity

    async def read(self, start: int, end: int, following: bytes) -> bytes:
        """The bytes from `start` to `end`, before `following` (empty: what comes next is not known).

        PastGone when the file's life is over, SourceLost when the link is.
        """
        for _ in range(2):
            found = await self._reach.read_range(self._place, start, end - start + min(len(following), OVERLAP_BYTES))
            if found is not None and self._is_proven(found, end) and len(found.data) >= end - start:
                overlap = found.data[end - start : end - start + OVERLAP_BYTES]
                known = following[: len(overlap)]
                if overlap[: len(known)] == known and (overlap or not following):
                    return found.data[: end - start]
            look = await self._reach.look(self._path, self._identity)
            place = _place_of(self._path, look, self._identity)
            if place is None:
                break
            self._place = place
        raise PastGone

    def _is_proven(self, found: RangeRead, end: int) -> bool:
        looks = (found.before, found.after)
        return all(is_same_file(self._identity, look.identity) and look.size >= end for look in looks)


def _place_of(path: str, look: Look, identity: FileIdentity) -> str | None:
    if isinstance(look.at_path, FoundFile) and is_same_file(identity, look.at_path.identity):
        return path
    if look.moved is not None and is_same_file(identity, look.moved.file.identity):
        return look.moved.path
    return None


@runtime_checkable
class HasPast(Protocol):
    """A source that begins near the end of a file."""

    def past_of(self, identity: FileIdentity) -> PastFile | None:
        """The past of the file that it connected to first; None when it has none that could be read."""
        ...
