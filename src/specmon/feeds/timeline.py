"""When the bytes of a captured log were written, read off the log itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from specmon.captures.reader import Arrivals
from specmon.events import FIRST_DATED_S, Block, ZoneChanged
from specmon.formats.reader import LogReader
from specmon.monitor.axis import zone_between
from specmon.sources.events import Chunk
from specmon.sources.files import read_whole
from specmon.sources.framing import Framed, LineFramer

CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class _Stamps:
    """Stamped lines in file order: offset of the line, its time, whether it is a decode sample."""

    offsets: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)  # offsets
    utc_offset_s: int | None = None  # the zone that the newest stamps say

    def add(self, blocks: Iterable[Block]) -> None:
        lines: list[tuple[int, float]] = []
        for block in blocks:
            lines += zip(block.decode.offset, block.decode.at, strict=True)
            lines += zip(block.prefill.offset, block.prefill.at, strict=True)
            lines += ((event.offset, event.at) for event in block.events if event.at is not None)
            self.samples.extend(block.decode.offset)
            zones = [event.utc_offset_s for event in block.events if isinstance(event, ZoneChanged)]
            self.utc_offset_s = zones[-1] if zones else self.utc_offset_s
        for offset, at in sorted(lines):
            if at == at:  # a stamp that the line lacks is NaN
                # What a reader held back comes late; it is there when the rest is.
                self.offsets.append(max(offset, self.offsets[-1]) if self.offsets else offset)
                # Clocks step back (a restart in another zone, two ranks): replay never does.
                self.at.append(max(at, self.at[-1]) if self.at else at)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The moments of one log."""

    arrivals: Arrivals
    samples: tuple[float, ...]  # moments of the decode samples, ascending
    newest_stamp: float | None = None  # the newest time that the log tells on its own clock
    ahead_s: float | None = 0.0  # how far the log's clock is ahead of these moments; None: it tells no date
    utc_offset_s: int | None = None  # of a log that plays by its own stamps, where these say their zone

    def moved(self, by_s: float) -> Timeline:
        """The same log on another clock."""
        if not by_s:
            return self
        arrivals = Arrivals(self.arrivals.offsets, tuple(at + by_s for at in self.arrivals.at))
        samples = tuple(at + by_s for at in self.samples)
        ahead_s = None if self.ahead_s is None else self.ahead_s - by_s
        return replace(self, arrivals=arrivals, samples=samples, ahead_s=ahead_s)


def read_chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file with their offsets, in pieces."""
    with path.open("rb") as file:
        offset = 0
        while data := file.read(CHUNK_BYTES):
            yield offset, data
            offset += len(data)


def timeline_of(
    path: Path,
    arrivals: Arrivals | None = None,
    *,
    reader: Callable[[], LogReader] = LogReader,
    advance: Callable[[int], object] = lambda _: None,
) -> Timeline:
    """Read a log through and say when what was written.

    Stamps of whole seconds hold several lines; these are spread evenly over their second, so that a replay
    does not jump. With `arrivals` (a capture) the file's own stamps are not needed and not used. A log
    without any stamp is there from the beginning. `advance` hears how many bytes more are read; what it raises ends it.
    """
    stamps = _Stamps()
    size = 0
    for blocks in _blocks(_counted(read_chunks(path), advance), reader()):
        stamps.add(blocks)
        size = max([size, *(block.end for block in blocks)])
    size = max(size, path.stat().st_size)
    ahead_s: float | None = 0.0
    zone_s = stamps.utc_offset_s
    newest = stamps.at[-1] if stamps.at else None
    if arrivals is None:
        arrivals = _arrivals(stamps, size)
    else:
        ahead_s, zone_s = _ahead(stamps, arrivals), None
    moments = tuple(arrivals.moment_of(offset) for offset in stamps.samples)
    return Timeline(arrivals, moments, newest, ahead_s, zone_s)


def _ahead(stamps: _Stamps, arrivals: Arrivals) -> float | None:
    """By the stamped line that came least late: what was written before the capture began says nothing."""
    every = max(1, len(stamps.at) // 1000)
    pairs = zip(stamps.offsets[::every], stamps.at[::every], strict=True)
    late = [at - arrivals.moment_of(offset) for offset, at in pairs if at >= FIRST_DATED_S] if arrivals.at else []
    return zone_between(max(late), 0.0) if late else None


def newest_stamp(path: Path) -> float | None:
    """The newest time that a log, packed or not, tells on its own clock; None when it tells none."""
    stamps = _Stamps()
    chunks = ((event.offset, event.data) for event in read_whole(str(path)) if isinstance(event, Chunk))
    for blocks in _blocks(chunks, LogReader()):
        stamps.add(blocks)
    return stamps.at[-1] if stamps.at else None


def _counted(chunks: Iterable[tuple[int, bytes]], advance: Callable[[int], object]) -> Iterator[tuple[int, bytes]]:
    for offset, data in chunks:
        yield offset, data
        advance(len(data))


def _blocks(chunks: Iterable[tuple[int, bytes]], reader: LogReader) -> Iterator[list[Block]]:
    framer = LineFramer()
    for offset, data in chunks:
        if (framed := framer.feed(data, offset)) is not None:
            yield _parsed(framed, reader)
    if (framed := framer.finish()) is not None:
        yield _parsed(framed, reader)
    yield [portion.block for portion in reader.finish()]


def _parsed(framed: Framed, reader: LogReader) -> list[Block]:
    return [portion.block for portion in reader.feed(framed.data, framed.offset)]


def _arrivals(stamps: _Stamps, size: int) -> Arrivals:
    if not stamps.at:
        return Arrivals((size,), (float("-inf"),))
    # A stretch ends where the next stamped line begins: what has no stamp came with the line before it.
    ends = (*stamps.offsets[1:], size)
    return Arrivals(ends, tuple(_spread(stamps.at)))


def _spread(at: list[float]) -> Iterator[float]:
    """Move the lines of one whole second apart, without leaving it."""
    first = 0
    while first < len(at):
        last = first
        while last < len(at) and at[last] == at[first]:
            last += 1
        share = 1 / (last - first) if at[first].is_integer() else 0.0
        yield from (at[first] + share * index for index in range(last - first))
        first = last
