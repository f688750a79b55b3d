"""Where the bytes that a dialect was given came from in the file.

A dialect reads the lines of one stream as if nothing else had ever been in the file: its text is contiguous and
has offsets of its own. `Places` leads from those back to the offsets in the file, and to what the carriers said
about the line. A log without carriers needs none of this.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

from specmon.events import MISSING, Clock

_KEPT = 20_000  # places of earlier blocks that are remembered, for lines that a parser held back

_MOST_KINDS = 100
Kind: TypeAlias = tuple[Clock, int | None]  # how much of a date, seconds east of UTC


class Places:
    """Places in ascending order of the stream's own offsets; each holds up to the next one."""

    __slots__ = (
        "at",
        "end",
        "file",
        "has_processes",
        "has_stamps",
        "kind",
        "kinds",
        "process",
        "stream",
    )

    def __init__(self, end: int = 0) -> None:
        # Up to the first carried line the two offsets are the same.
        self.stream: array[int] = array("q", (0,))  # offset in the stream
        self.file: array[int] = array("q", (0,))  # offset in the file
        self.at: array[float] = array("d", (MISSING,))  # a carrier's stamp, NaN without one
        self.process: array[int] = array("q", (-1,))  # a carrier's word on who wrote it
        self.end = end  # offset in the stream behind the last byte
        self.has_processes = False
        self.has_stamps = False
        self.kind: array[int] = array("b", (0,))  # which of `kinds` the stamp is of
        self.kinds: list[Kind] = [(Clock.NONE, None)]

    def add(self, file: int, size: int, at: float = MISSING, process: int = -1, kind: Kind | None = None) -> None:
        """`size` more bytes of the stream, the first of which stands for the byte at `file`."""
        self.stream.append(self.end)
        self.file.append(file)
        self.at.append(at)
        self.process.append(process)
        self.kind.append(0 if kind is None else self._number(kind))
        self.has_processes = self.has_processes or process >= 0
        self.end += size

    def _number(self, kind: Kind) -> int:
        self.has_stamps = True
        if kind in self.kinds:
            return self.kinds.index(kind)
        if len(self.kinds) >= _MOST_KINDS:
            return len(self.kinds) - 1
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def stamp(self, offset: int) -> tuple[float, Kind]:
        """The carrier's stamp on the line there, NaN without one, and what kind of stamp it is."""
        index = self.index(offset)
        return self.at[index], self.kinds[self.kind[index]]

    def index(self, offset: int) -> int:
        """Which place an offset of the stream lies in."""
        return max(bisect_right(self.stream, offset) - 1, 0)

    def file_offset(self, offset: int) -> int:
        """The offset in the file; inside a line that carriers have shortened, one inside that line."""
        index = self.index(offset)
        return self.file[index] + max(offset - self.stream[index], 0)

    def process_at(self, offset: int) -> int | None:
        """Which process a carrier named for the line there."""
        process = self.process[self.index(offset)]
        return process if process >= 0 else None

    def forget(self) -> None:
        """Keep what a parser may still come back to."""
        if len(self.stream) > 2 * _KEPT:
            for column in (self.stream, self.file, self.at, self.process, self.kind):
                del column[:-_KEPT]

    def mapped(self, offsets: Sequence[int]) -> array[int]:
        """Many offsets at once."""
        if len(offsets) and offsets[0] >= self.stream[-1]:
            shift = self.file[-1] - self.stream[-1]
            return array("q", [offset + shift for offset in offsets])
        return array("q", map(self.file_offset, offsets))

    def is_plain(self, start: int) -> bool:
        """Whether all that is read from an offset of the stream on stands in the file as it is, unshifted."""
        return start >= self.stream[-1] == self.file[-1] and self.at[-1] != self.at[-1] and self.process[-1] < 0
