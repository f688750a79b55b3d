"""One stream of a source on its way to its engine's dialect, and back to the offsets of the file.

A stream whose engine is not known yet is held back (its lines are counted at once), so that nothing is lost of a
launch that comes before the first line by which the engine is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from specmon.events import Block, LogEvent, PrefillColumns, SampleColumns
from specmon.formats import Dialect, Parser, Skimming
from specmon.formats.carriers.envelope import Envelope
from specmon.formats.carriers.supervisor import read_supervisor
from specmon.formats.contest import Contest
from specmon.formats.dating import Dater
from specmon.formats.detect import Detector
from specmon.formats.phases import PhaseReader
from specmon.formats.places import Places

_HELD_BYTES = 4 << 20  # of a file whose engine is not known
_HELD_BYTES_LABELLED = 256 << 10  # of each labelled stream in it: there may be many


@dataclass(frozen=True, slots=True)
class Stream:
    """Whose lines a portion holds: equal for all portions of one stream. `names` as in `Label`."""

    key: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Portion:
    """What one stream said in one block.

    `engine` is None while nobody knows it: such a portion only counts lines. `text` holds the lines as their
    engine wrote them, and `places` where they stand in the file (None: exactly at the block's start).
    """

    stream: Stream
    engine: str | None
    block: Block
    text: bytes = b""
    places: Places | None = None
    hidden: int = 0  # lines of which the carrier shows only the size
    proven_at: int | None = None  # where the first line by which the engine is known stands in the file

    def last_lines(self, most: int) -> list[tuple[int, bytes]]:
        """The last whole lines, at most so many, each with its offset in the file."""
        *lines, rest = self.text.rsplit(b"\n", most + 1)
        if len(lines) > most:
            lines = lines[1:]  # the part that was not split
        end = self.block.start + len(self.text) if self.places is None else self.places.end
        position = end - len(rest) - sum(len(line) + 1 for line in lines)
        found = []
        for line in lines:
            found.append((position if self.places is None else self.places.file_offset(position), line))
            position += len(line) + 1
        return found


@dataclass(frozen=True, slots=True)
class CarriedLine:
    """A line that is on its way to a stream."""

    offset: int
    envelope: Envelope


@dataclass(slots=True)
class _Held:
    """Text of a stream whose engine is not known, as it would have been given to a dialect."""

    text: bytes
    start: int


class StreamReader:
    """One stream on its way to its dialect."""

    def __init__(self, stream: Stream, detector: Detector | Contest, phases: PhaseReader) -> None:
        self.stream = stream
        self._detector = detector
        self._phases = phases
        self._dialect: Dialect | None = None
        self._parser: Parser | None = None
        self._held: list[_Held] = []
        self._held_bytes = 0
        self._most_held = _HELD_BYTES_LABELLED if stream.key else _HELD_BYTES
        self._proven_at: int | None = None
        self._places: Places | None = None  # None: the stream's own offsets are those of the file
        self._dater = Dater()
        self._pieces: list[bytes] = []
        self._start = 0  # offset in the stream of the first piece
        self._lines = 0  # physical lines since the last portion
        self._hidden = 0
        self._told: list[LogEvent] = []  # by others than the dialect, at offsets in the stream
        self._end = 0  # offset in the stream behind the last byte
        self._file_end = 0

    # -- in ------------------------------------------------------------------------------------------

    def read_plain(self, data: bytes, offset: int) -> list[Portion]:
        """A block in which nothing is carried."""
        if self._places is None:
            self._end = self._file_end = offset + len(data)
            return self._read(data, offset, offset, None)
        self.append_plain(data, offset)
        return self.flush(offset, offset + len(data))

    def read_long(
        self, data: bytes, offset: int, carried: re.Pattern[bytes], coloured: re.Pattern[bytes]
    ) -> list[Portion] | None:
        """A long block of which the dialect can read most lines at once; None when it is to be read as usual.

        Only lines that the dialect does not know by their beginning can be `carried`; the other pattern is for a block
        with colours.
        """
        parser, dialect = self._parser, self._dialect
        if dialect is None or not isinstance(parser, Skimming) or self._places is not None or self._pieces:
            return None
        if not isinstance(self._detector, Detector) or self._phases.has_formats:
            return None
        if (skimmed := parser.skim(data)) is None:
            return None
        unusual = b"\n" + skimmed.unusual
        scan = coloured if b"\x1b" in unusual else carried
        if scan.search(unusual) or self._detector.change(unusual, dialect.engine):
            return None
        self._end = self._file_end = offset + len(data)
        self._told += self._phases.read(data, offset)
        portion = self._portion(parser.feed_skimmed(skimmed, data, offset), None)
        return [replace(portion, text=data, hidden=self._take_hidden())]

    def append_plain(self, data: bytes, offset: int) -> None:
        """Lines as they stand in the file."""
        self._begin()
        self._table.add(offset, len(data))
        self._pieces.append(data)
        self._lines += data.count(b"\n")

    def append(self, line: CarriedLine) -> None:
        """A line that was carried."""
        self._begin()
        envelope, table = line.envelope, self._table
        if envelope.is_supervisor and (event := read_supervisor(envelope.text, table.end)):
            self._told.append(event)
        has_stamp = envelope.at == envelope.at
        kind = (envelope.clock, envelope.utc_offset_s) if has_stamp else None
        # A record of several lines that came in one object: all of them stand where the object stands.
        parts = envelope.text.splitlines(keepends=True) if envelope.text.count(b"\n") > 1 else (envelope.text,)
        for part in parts:
            table.add(line.offset, len(part), envelope.at, envelope.process, kind)
        self._pieces.append(envelope.text)
        self._lines += envelope.text.endswith(b"\n")
        self._hidden += envelope.is_hidden

    def count_line(self) -> None:
        """A line that says nothing by itself."""
        self._lines += 1

    @property
    def _table(self) -> Places:
        if self._places is None:
            self._places = Places(self._end)
        return self._places

    def _begin(self) -> None:
        if not self._pieces:
            self._start = self._table.end

    # -- out -----------------------------------------------------------------------------------------

    def flush(self, start: int | None, end: int | None) -> list[Portion]:
        """Hand the collected lines on; they lie between two offsets of the file."""
        if end is not None:
            self._file_end = end
        if not self._pieces:
            lines, self._lines = self._lines, 0
            return [self._count(lines, start)] if lines else []
        text = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces = []
        lines, self._lines = self._lines, 0
        self._end = self._table.end
        portions = self._read(text, self._start, start, lines)
        self._table.forget()
        return portions

    def finish(self) -> list[Portion]:
        """The stream has ended."""
        portions = []
        if self._parser is None and self._held:
            held = self._take_held()
            likely = self._likely(held)
            portions += self._open(likely or self._detector.dialects[0], held, is_proven=likely is not None)
        if self._parser is not None:
            portions.append(self._portion(self._parser.finish()))
        return portions

    def _likely(self, held: list[_Held]) -> Dialect | None:
        if not isinstance(self._detector, Detector):
            return None
        found = (self._detector.guess(b"\n" + part.text) for part in held)
        return next((dialect for dialect in found if dialect is not None), None)

    def _read(self, text: bytes, start: int, file_start: int | None, lines: int | None) -> list[Portion]:
        """Read text that begins at an offset of the stream; `lines` is None when none of it was carried."""
        whole, change = b"\n" + text, None
        if self._parser is not None and self._dialect is not None:
            change = self._detector.change(whole, self._dialect.engine)
            if change is None:
                portion = self._portion(self._feed(self._parser, text, start), lines)
                return [replace(portion, text=text, places=self._places, hidden=self._take_hidden())]
        portions = [self._count(text.count(b"\n") if lines is None else lines, file_start, text)]
        if self._parser is None:
            if (found := self._detector.first(whole)) is None:
                self._hold(text, start)
                return portions
            position, dialect = found
            proof = start + position
            self._proven_at = proof if self._places is None else self._places.file_offset(proof)
            self._hold(text[:position], start)
            portions += self._open(dialect, self._take_held())
            text, start, whole = text[position:], start + position, whole[position:]
            change = self._detector.change(whole, dialect.engine)
        while change is not None:
            position, dialect = change
            portions += self._parse(text[:position], start)
            if self._parser is not None:
                portions.append(self._portion(self._parser.finish()))
            self._dialect, self._parser = dialect, dialect.open()
            text, start, whole = text[position:], start + position, whole[position:]
            change = self._detector.change(whole, dialect.engine)
        return portions + self._parse(text, start)

    def _open(self, dialect: Dialect, held: list[_Held], *, is_proven: bool = True) -> list[Portion]:
        """The engine is known: read what was held for it."""
        self._parser = dialect.open()
        self._dialect = dialect if is_proven else None
        return [portion for part in held for portion in self._parse(part.text, part.start)]

    def _parse(self, text: bytes, start: int) -> list[Portion]:
        if not text or self._parser is None:
            return []
        return [self._portion(self._feed(self._parser, text, start))]

    def _feed(self, parser: Parser, text: bytes, start: int) -> Block:
        """What the dialect reads; the lines that stand in the log of any engine are told beside it."""
        self._told += self._phases.read(text, start)
        if isinstance(self._detector, Contest):
            self._told += self._detector.take_clashes(start)
        return parser.feed(text, start)

    def _portion(self, block: Block, lines: int | None = 0) -> Portion:
        """What a dialect said, at the offsets of the file. None: the lines are those that the dialect counted."""
        engine = self._dialect.engine if self._dialect is not None else None
        places = self._places
        if self._told:
            told, self._told = self._told, []
            block = replace(block, events=tuple(sorted((*block.events, *told), key=lambda event: event.offset)))
        if places is None or places.is_plain(first := _first_offset(block)):
            block = self._dater.leave(block)
            block = block if lines in (None, block.lines) else replace(block, lines=lines)
            return Portion(self.stream, engine, block, proven_at=self._proven_at)
        is_carried = first < places.stream[-1] or places.at[-1] == places.at[-1] or places.process[-1] >= 0
        is_stamped = places.has_stamps and is_carried
        block = self._dater.mend(block, places) if is_stamped else self._dater.leave(block)
        if places.has_processes and is_carried:
            _name_processes(block.decode, places)
            _name_processes(block.prefill, places)
        for columns in (block.decode, block.prefill, block.steps):
            columns.offset = places.mapped(columns.offset)
        events = tuple(
            replace(
                event,
                offset=places.file_offset(event.offset),
                process=places.process_at(event.offset) if event.process is None else event.process,
            )
            for event in block.events
        )
        block = replace(
            block,
            start=places.file_offset(block.start),
            end=max(self._file_end, places.file_offset(block.end)),
            lines=block.lines if lines is None else lines,
            events=events,
            unparsed=places.mapped(block.unparsed),
        )
        return Portion(self.stream, engine, block, proven_at=self._proven_at)

    def _count(self, lines: int, start: int | None, text: bytes = b"") -> Portion:
        engine = self._dialect.engine if self._dialect is not None else None
        begin = self._file_end if start is None else start
        block = Block(begin, self._file_end, lines)
        return Portion(self.stream, engine, block, text, self._places, self._take_hidden())

    def _take_hidden(self) -> int:
        hidden, self._hidden = self._hidden, 0
        return hidden

    # -- what is held while nobody knows the engine --------------------------------------------------

    def _hold(self, text: bytes, start: int) -> None:
        if not text:
            return
        self._held.append(_Held(text, start))
        self._held_bytes += len(text)
        while len(self._held) > 1 and self._held_bytes - len(self._held[0].text) > self._most_held:
            self._held_bytes -= len(self._held.pop(0).text)

    def _take_held(self) -> list[_Held]:
        """What is held, as far back as is promised: the same however the stream was cut into blocks."""
        held, self._held, self._held_bytes = self._held, [], 0
        oldest = held[-1].start + len(held[-1].text) - self._most_held if held else 0
        kept = []
        for part in held:
            if part.start < oldest:
                line = part.text.find(b"\n", max(oldest - part.start - 1, 0)) + 1
                if not line or line == len(part.text):
                    continue
                part = _Held(part.text[line:], part.start + line)
            kept.append(part)
        return kept


def _first_offset(block: Block) -> int:
    """Where the block's oldest news stands: a parser may have held a line back since an earlier block."""
    columns = (block.decode.offset, block.prefill.offset, block.steps.offset, block.unparsed)
    return min([block.start, *(offsets[0] for offsets in columns if len(offsets)), *(e.offset for e in block.events)])


def _name_processes(columns: SampleColumns | PrefillColumns, places: Places) -> None:
    """A carrier's word on who wrote a line, where the line itself does not say."""
    for index, offset in enumerate(columns.offset):
        if columns.process[index] < 0:
            columns.process[index] = places.process[places.index(offset)]
