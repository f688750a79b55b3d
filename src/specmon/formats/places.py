"""Where the bytes that a dialect was given came from in the file.

A dialect reads the lines of one stream as if nothing else had ever been in the file: its text is contiguous and
has offsets of its own. `Places` leads from those back to the offsets in the file, and to what the carriers said
about the line. A log without carriers needs none of this.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from specmon.events import MISSING, Clock

_KEPT = 20_000  # places of earlier blocks that are remembered, for lines that a parser held back


class Places:
    """Places in ascending order of the stream's own offsets; each holds up to the next one."""

    __slots__ = (
        "at",
        "clock",
        "end",
        "file",
        "has_processes",
        "has_stamps",
        "process",
        "resolution_s",
        "stream",
        "utc_offset_s",
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
        self.clock = Clock.NONE  # of the stamps; of several, the one that says less
        self.resolution_s = 1.0
        self.utc_offset_s: int | None = None

    def add(self, file: int, size: int, at: float = MISSING, process: int = -1) -> None:
        """`size` more bytes of the stream, the first of which stands for the byte at `file`."""
        self.stream.append(self.end)
        self.file.append(file)
        self.at.append(at)
        self.process.append(process)
        self.has_processes = self.has_processes or process >= 0
        self.end += size

    def note_clock(self, clock: Clock, resolution_s: float, utc_offset_s: int | None) -> None:
        """What the stamps of the carriers are like."""
        if not self.has_stamps or clock is not Clock.DATED:
            self.clock, self.utc_offset_s = clock, utc_offset_s
        self.resolution_s = min(self.resolution_s, resolution_s)
        self.has_stamps = True

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
            for column in (self.stream, self.file, self.at, self.process):
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
