"""One source of bytes and the servers that turn out to be in it.

A source is announced as one server. When its lines bear labels (services of a compose file, pods, actors) and
more than one of the labelled streams is an engine's, each of these is a server of its own. Streams of anything
else, a proxy's or a database's, are no servers: as long as there is only one, they count among its lines.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from specmon.events import Block, PhasesTimed
from specmon.formats.reader import LogReader, Portion
from specmon.monitor.loglines import LogBuffer
from specmon.monitor.logstore import Trait
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Severity
from specmon.monitor.stamps import stamp_of
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Rotated, SourceEvent
from specmon.sources.framing import Framed, LineFramer
from specmon.sources.utf16 import Utf16Reader

_LONG_TEXT = 32 << 10  # bytes from which lines are worth being taken in as columns
_WAITING_BLOCKS = 100  # of a stream of which no line was recognised yet

Key = tuple[str, ...]


@dataclass(slots=True)
class _Stream:
    """What is known of one stream before, and besides, its being a server."""

    names: tuple[str, ...]
    lines: int = 0
    hidden: int = 0
    server: ServerMonitor | None = None
    waiting: list[Portion] = field(default_factory=list)


class Inlet:
    """Feeds the servers of one source. Offsets are counted on over rotations."""

    def __init__(
        self,
        first: ServerMonitor,
        another: Callable[[str], ServerMonitor],
        *,
        reader: LogReader,
        log: LogBuffer | None,
    ) -> None:
        self.servers: list[ServerMonitor] = [first]
        self.another = another  # announces a server of this source by the number that tells it apart
        self._reader = reader
        self._framer = LineFramer()
        self._utf16 = Utf16Reader()
        self.log = log  # None: nobody will look at the lines
        self._streams: dict[Key, _Stream] = {}
        self._last_told: dict[str, float] = {}  # when the newest line of each server was written
        self._base = 0  # position of the present file's first byte
        self._end = 0  # position after the last byte
        self._backlog_end = 0  # offset up to which the file was written before we looked
        self._has_ended = False

    def feed(self, event: SourceEvent) -> None:
        """Take what the source says."""
        for server in self.servers:
            server.hear(event)
        match event:
            case Chunk():
                if not self.servers[0].has_text:
                    self.servers[0].has_text = bool(event.data) and not event.data.isspace()
                self._end = self._base + event.offset + len(event.data)
                data, offset = self._utf16.feed(event.data, self._base + event.offset, self._base)
                if (framed := self._framer.feed(data, offset)) is not None:
                    arrived_at = None if event.offset < self._backlog_end else event.at
                    self._take(self._reader.feed(framed.data, framed.offset), arrived_at, framed)
            case Connected():
                self._backlog_end = event.size or (sys.maxsize if event.is_behind else 0)
            case CaughtUp():
                self._backlog_end = 0
            case Rotated():
                self._interrupt()
                self._base = self._end
                self._backlog_end = 0
            case Gap():
                self._interrupt()
            case _:
                pass

    def finish(self) -> None:
        """The source has ended; of a last line without its end, whole figures count."""
        if not self._has_ended:
            self._has_ended = True
            if (framed := self._framer.finish()) is not None:
                self._take(self._reader.feed(framed.data, framed.offset), None, framed)
            self._take(self._reader.finish(), None, is_over=True)
        for server in self.servers:
            server.finish()

    def _interrupt(self) -> None:
        self._framer.reset()
        self._reader.interrupt()

    def _take(
        self,
        portions: list[Portion],
        arrived_at: float | None,
        framed: Framed | None = None,
        *,
        is_over: bool = False,
    ) -> None:
        for portion in portions:
            stream = self._streams.setdefault(portion.stream.key, _Stream(portion.stream.names))
            stream.names = portion.stream.names or stream.names
            stream.lines += portion.block.lines
            stream.hidden += portion.hidden
            if stream.server is None and portion.engine is not None and portion.block.recognised:
                self._assign(stream)
            if stream.server is not None and stream.server.first_at is None:
                stream.server.first_at = portion.proven_at
        self._count_lines()
        for portion in portions:
            stream = self._streams[portion.stream.key]
            if stream.server is None:
                if not _is_empty(portion.block):
                    stream.waiting.append(portion)
                    del stream.waiting[:-_WAITING_BLOCKS]
                continue
            for waiting in stream.waiting:
                stream.server.absorb(waiting.block, waiting.engine, None)
            stream.waiting.clear()
            stream.server.absorb(portion.block, portion.engine, arrived_at)
        if is_over and not any(stream.server for stream in self._streams.values()):
            # Nobody's log. What it says all the same (an environment, a crash) belongs to the announced server.
            for stream in self._streams.values():
                for waiting in stream.waiting:
                    self.servers[0].absorb(waiting.block, None, None)
        if self.log is not None:
            self._keep_lines(portions, framed, self.log)
            if fault := self.log.store.new_fault():
                server = self.servers[0]
                server.history.chronicle.tell(server.history.last_at or 0.0, Severity.WARNING, fault)
                server.version += 1

    # -- streams and servers -------------------------------------------------------------------------

    def _assign(self, stream: _Stream) -> None:
        """A line of an engine was recognised in a stream: it is a server's."""
        is_first = not any(other.server for other in self._streams.values())
        if is_first:
            stream.server = self.servers[0]
        else:
            stream.server = self.another(str(len(self.servers) + 1))
            stream.server.link = self.servers[0].link
            stream.server.known_ahead_s = self.servers[0].known_ahead_s
            self.servers.append(stream.server)
            self._name_streams()

    def _name_streams(self) -> None:
        """Call each server by the shortest name that tells all of them apart."""
        known = [stream for stream in self._streams.values() if stream.server is not None]
        longest = max(len(stream.names) for stream in known)
        labels: list[str | None] = []
        for level in range(max(longest, 1)):
            labels = [stream.names[min(level, len(stream.names) - 1)] if stream.names else None for stream in known]
            if len(set(labels)) == len(labels):
                break
        for stream, label in zip(known, labels, strict=True):
            if stream.server is not None:
                stream.server.stream, stream.server.is_split = label, True
                stream.server.version += 1

    def _count_lines(self) -> None:
        if len(self.servers) == 1:
            self.servers[0].lines = sum(stream.lines for stream in self._streams.values())
            self.servers[0].hidden = sum(stream.hidden for stream in self._streams.values())
            return
        for stream in self._streams.values():
            if stream.server is not None:
                stream.server.lines, stream.server.hidden = stream.lines, stream.hidden

    # -- lines for the log ---------------------------------------------------------------------------

    def _keep_lines(self, portions: list[Portion], framed: Framed | None, log: LogBuffer) -> None:
        """Hand the lines on, each with the time that its server's log last told."""
        with_text = [portion for portion in portions if portion.text]
        traits = _traits(portions)
        if len(with_text) == 1 and with_text[0].places is None and len(with_text[0].text) >= _LONG_TEXT:
            self._keep_text(with_text[0], portions, traits, log)
            return
        kept: list[tuple[int, ServerMonitor, float | None, bytes]] = []
        for portion in with_text:
            server = self._streams[portion.stream.key].server or self.servers[0]
            times = _times(other.block for other in portions if other.stream.key == portion.stream.key)
            lines = portion.last_lines(max(log.held, portion.text.count(b"\n")))
            told = bisect_left(times, (lines[0][0],)) if lines else 0
            at = times[told][1] if told < len(times) else server.history.last_at
            at = self._last_told.get(server.key, at)
            for position, line in lines:
                while told < len(times) and times[told][0] <= position:
                    at = times[told][1]
                    told += 1
                if (told == 0 or times[told - 1][0] != position) and (own := stamp_of(line)) is not None:
                    at = own
                kept.append((position, server, at, line))
            if at is not None:
                self._last_told[server.key] = at
        if len({server.key for _, server, _, _ in kept}) > 1:
            kept.sort(key=lambda line: line[0])
        noted = dict[int, int]()
        for trait, offsets in traits:
            sign = int(trait)  # numbers are put together a hundred times as quickly as flags
            for offset in offsets:
                noted[offset] = noted.get(offset, 0) | sign
        is_carried = framed is not None and any(portion.places is not None for portion in with_text)
        for position, server, at, line in kept:
            carried = _physical(framed, position) if is_carried and framed is not None else b""
            log.add(server.key, position, at, line, noted.pop(position, 0), b"" if carried == line else carried)
        for position, sign in noted.items():  # what a dialect held back
            log.mark(self.servers[0].key, position, Trait(sign))

    def _keep_text(
        self, portion: Portion, portions: list[Portion], traits: list[tuple[Trait, array[int]]], log: LogBuffer
    ) -> None:
        """Many lines at once."""
        server = self._streams[portion.stream.key].server or self.servers[0]
        last = portion.last_lines(log.held)
        if not last:
            return
        start = last[-1][0] + len(last[-1][1]) + 1 - (portion.text.rfind(b"\n") + 1)
        times = [(place, at) for place, at in _times(other.block for other in portions) if place >= start]
        before = self._last_told.get(server.key, None if times else server.history.last_at)
        log.add_text(server.key, portion.text, start, times, before, traits)
        at = before
        log.skip(max(portion.text.count(b"\n") - len(last), 0))
        places = [place for place, _ in times]
        for position, line in last:
            told = bisect_right(places, position)
            if (told == 0 or places[told - 1] != position) and (own := stamp_of(line)) is not None:
                at = own
            elif told and places[told - 1] == position:
                at = times[told - 1][1]
            log.show(server.key, position, at, line)
        if at is not None:
            self._last_told[server.key] = at
        for trait, offsets in traits:
            for position in offsets[: bisect_left(offsets, start)]:
                log.mark(server.key, position, trait)


def _traits(portions: Iterable[Portion]) -> list[tuple[Trait, array[int]]]:
    """What the lines of blocks are, by the places of these lines."""
    found = []
    for portion in portions:
        block = portion.block
        columns = (
            (Trait.SAMPLE, block.decode.offset),
            (Trait.PREFILL, block.prefill.offset),
            (Trait.UNPARSED, block.unparsed),
            (Trait.PHASES, array("q", (event.offset for event in block.events if isinstance(event, PhasesTimed)))),
        )
        found += [(trait, offsets) for trait, offsets in columns if len(offsets)]
    return found


def _physical(framed: Framed, position: int) -> bytes:
    """The line of the file that stands there, as far as it is in the block."""
    start = position - framed.offset
    if not 0 <= start < len(framed.data):
        return b""
    start = framed.data.rfind(b"\n", 0, start) + 1
    end = framed.data.find(b"\n", start)
    return framed.data[start:] if end < 0 else framed.data[start:end]


def _times(blocks: Iterable[Block]) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    for block in blocks:
        found += zip(block.decode.offset, block.decode.at, strict=True)
        found += zip(block.prefill.offset, block.prefill.at, strict=True)
        found += [(event.offset, event.at) for event in block.events if event.at is not None]
    return sorted((place, at) for place, at in found if at == at)


def _is_empty(block: Block) -> bool:
    return not (block.recognised or block.events or len(block.decode) or len(block.prefill))
