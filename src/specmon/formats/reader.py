"""Reads one source of bytes: takes the carriers off, tells the streams apart, gives each to its engine's dialect.

Framed blocks of whole lines go in; out come portions, each a `Block` of one stream, whose offsets are those of
the file. What a line means depends on the lines before it and never on where the blocks were cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from specmon.formats import Dialect
from specmon.formats.carriers import router
from specmon.formats.carriers.envelope import Envelope, Label
from specmon.formats.carriers.members import Members
from specmon.formats.carriers.supervisor import unit_of
from specmon.formats.carriers.unwrap import COLOUR_SCAN, PLAIN_SCAN, Unwrapper
from specmon.formats.carriers.wrapped import Rejoiner, is_wrapped
from specmon.formats.contest import Contest
from specmon.formats.detect import Detector
from specmon.formats.phases import PhaseReader
from specmon.formats.stream import CarriedLine, Portion, Stream, StreamReader

if TYPE_CHECKING:
    from specmon.formats.custom import CustomDialect

_MOST_STREAMS = 256
_LONGEST_NAME = 200
_LONG = 128 << 10  # bytes of a block from which more than one look at it pays
_LONGEST_JOINED = 1 << 20  # bytes of a line that a runtime has split

Touched = dict[tuple[str, ...], None]  # keys of streams, in the order in which they got lines


class LogReader:
    """Reads one source; blocks must come in the order of the source."""

    def __init__(self, dialects: Iterable[Dialect] = ()) -> None:
        self._detector = Detector(dialects)
        self._customs = _customs_among(self._detector.dialects)
        self._phases = PhaseReader([custom.reader for custom in self._customs])
        claims = [custom.reader.claims for custom in self._customs]
        self._unwrapper = Unwrapper(claims)
        self._streams: dict[tuple[str, ...], StreamReader] = {}
        self._members: dict[tuple[str, ...], Members[CarriedLine]] = {}
        self._parts: dict[tuple[Label | None, bytes], bytes] = {}  # beginnings of split lines
        self._services: dict[str, dict[str, Label]] = {}  # by host and name in a journal: the label of its last line
        self._plain = self._stream(Stream())  # of lines that bear no label
        self._file: Label | None = None  # whose lines follow, as `tail` says between two files
        self._port = ""  # of the first child of a router
        self._rejoiner: Rejoiner | None = None  # once a line was broken

    def feed(self, data: bytes, offset: int) -> list[Portion]:
        """Read whole lines that begin at byte `offset` of the source. Never raises on input."""
        is_long = len(data) >= _LONG and not self._customs and not self._parts and self._rejoiner is None
        if is_long and (portions := self._plain.read_long(data, offset, PLAIN_SCAN, COLOUR_SCAN)) is not None:
            return portions
        text = b"\n" + data
        self.look_at(data, text)
        if self._rejoiner is not None:
            return self._feed_wrapped(data, offset)
        scan = COLOUR_SCAN if b"\x1b" in data else PLAIN_SCAN
        match = scan.search(text)
        if match is None:
            return self._plain.read_plain(data, offset)
        touched: Touched = {}
        done = 0  # bytes of `data` that have been handed out
        while match is not None:
            start = match.start()
            if start > done:
                self._append_plain(data[done:start], offset + done, touched)
            end = data.find(b"\n", start)
            done = len(data) if end < 0 else end + 1
            self._take_line(data[start:end] if end >= 0 else data[start:], offset + start, end >= 0, touched)
            match = scan.match(text, done) if text.startswith(b"\n", done) else None
            match = match or scan.search(text, done)
        if done < len(data):
            self._append_plain(data[done:], offset + done, touched)
        end = offset + len(data)
        return [portion for key in touched for portion in self._streams[key].flush(offset, end)]

    def _append_plain(self, data: bytes, offset: int, touched: Touched) -> None:
        self._plain.append_plain(data, offset)
        touched[self._plain.stream.key] = None

    def _feed_wrapped(self, data: bytes, offset: int) -> list[Portion]:
        """Read lines some of which a terminal has broken."""
        rejoiner = self._rejoiner or Rejoiner(data)
        touched: Touched = {}
        end = offset + len(data)
        position = offset
        for line in data.splitlines(keepends=True) if b"\r" not in data else data.replace(b"\r", b" ").splitlines(True):
            is_ended = line.endswith(b"\n")
            whole = rejoiner.take(line.removesuffix(b"\n"), position)
            if not is_ended:
                whole += rejoiner.give_up()
            self._take_joined(whole, touched, is_ended=is_ended)
            position += len(line)
        touched[self._plain.stream.key] = None
        return [portion for key in touched for portion in self._streams[key].flush(offset, end)]

    def _take_joined(self, lines: list[tuple[bytes, int, int]], touched: Touched, *, is_ended: bool) -> None:
        for text, offset, pieces in lines:
            for _ in range(pieces):
                self._plain.count_line()
            self._take_line(text, offset, is_ended, touched)

    def look_at(self, data: bytes, text: bytes | None = None) -> None:
        """See whether a screen has broken lines of a block that will be fed, as a whole or in smaller blocks."""
        if self._rejoiner is None and is_wrapped(b"\n" + data if text is None else text, PLAIN_SCAN):
            self._rejoiner = Rejoiner(data)

    def interrupt(self) -> None:
        """Bytes are missing, or another file follows: what comes next does not go on with a split line."""
        self._parts.clear()
        self._rejoiner = None

    def carriers_of(self, raw: bytes) -> tuple[str, ...]:
        """What carries a line, from the outside to the inside."""
        return self._unwrapper.layers(raw)

    def finish(self) -> list[Portion]:
        """The source has ended: what was held back is read now, by the first dialect if nobody else claims it."""
        touched: Touched = {}
        if self._rejoiner is not None:
            self._take_joined(self._rejoiner.give_up(), touched, is_ended=True)
        for group, members in self._members.items():
            for server, lines, counted in members.finish():
                self._hand_over(group, server, lines, counted, touched)
        portions = [portion for key in touched for portion in self._streams[key].flush(None, None)]
        return portions + [portion for stream in self._streams.values() for portion in stream.finish()]

    # -- lines that are carried ----------------------------------------------------------------------

    def _take_line(self, raw: bytes, offset: int, is_ended: bool, touched: Touched) -> None:
        envelope = self._unwrapper.open(raw)
        if envelope.is_header and envelope.label is not None:
            self._file = envelope.label
            self._plain = self._stream_of(self._file)
            self._plain.count_line()
            touched[self._plain.stream.key] = None
            return
        if envelope.label is not None and envelope.label.group[:1] == (router.GROUP,):
            envelope.label = self._of_child(envelope.label)
        if self._file is not None and envelope.label is not None:
            envelope.label = envelope.label.inside(self._file)
        label = envelope.label
        channel = (label, envelope.channel)
        if self._parts and (part := self._parts.pop(channel, None)) is not None:
            envelope.text = part + envelope.text
        if envelope.is_partial and is_ended and len(envelope.text) < _LONGEST_JOINED:
            self._parts[channel] = envelope.text
            stream = self._plain if label is None else self._stream_of(label)
            stream.count_line()
            touched[stream.stream.key] = None
            return
        envelope.text += b"\n" if is_ended else b""
        if label is not None and label.group[:1] == ("journal",):
            label = envelope.label = self._journalled(label, envelope)
        line = CarriedLine(offset, envelope)
        if label is None or not label.member:
            stream = self._plain if label is None else self._stream_of(label)
            stream.append(line)
            touched[stream.stream.key] = None
            return
        members = self._members.setdefault(label.group, Members())
        placed = members.place(label.member, envelope.text, line)
        if placed is not None:
            self._hand_over(label.group, *placed, touched)

    def _of_child(self, label: Label) -> Label | None:
        """The label of a router's child; the first one shares its stream with the router's own words."""
        (port,) = label.names
        if not self._port and self._file is None:
            self._port = port
            self._plain.stream = Stream(self._plain.stream.key, label.names)
        return None if port == self._port else label

    def _journalled(self, label: Label, envelope: Envelope) -> Label:
        """The label of a journal's line; systemd's words go to the service that they are about."""
        host = label.group[1]
        services = self._services.setdefault(host, {})
        if not envelope.is_supervisor:
            services[label.group[2]] = label
            return label
        named = services.get(unit_of(envelope.text) or "")
        if named is None and len(services) == 1:
            # The short forms name the program and not the unit: python3 for spec.service.
            (named,) = services.values()
        return named or label

    def _hand_over(
        self,
        group: tuple[str, ...],
        server: int,
        lines: list[CarriedLine],
        counted: list[CarriedLine],
        touched: Touched,
    ) -> None:
        """Give lines of one server of a group to its stream."""
        first = next(iter([*lines, *counted]), None)
        if first is None or first.envelope.label is None:
            return
        stream = self._stream(Stream((*group, str(server)), first.envelope.label.names))
        for _ in counted:
            stream.count_line()
        for line in lines:
            stream.append(line)
        touched[stream.stream.key] = None

    def _judge(self) -> Detector | Contest:
        """Who says whose log a new stream is."""
        is_contested = any(custom.model.owns_logs for custom in self._customs)
        return Contest(self._detector, self._customs) if is_contested else self._detector

    def _stream_of(self, label: Label) -> StreamReader:
        return self._stream(Stream(label.group, label.names))

    def _stream(self, stream: Stream) -> StreamReader:
        found = self._streams.get(stream.key)
        if found is None:
            if len(self._streams) >= _MOST_STREAMS:
                return self._plain  # words with a bar behind them, no labels
            # Names come out of foreign text and will be shown on a terminal.
            names = tuple(
                "".join(sign if sign.isprintable() else "?" for sign in name[:_LONGEST_NAME]) for name in stream.names
            )
            found = self._streams[stream.key] = StreamReader(Stream(stream.key, names), self._judge(), self._phases)
        return found


def _customs_among(dialects: Sequence[Dialect]) -> list[CustomDialect]:
    """The custom formats; they bring much with them, so their module is looked for only when somebody has loaded it."""
    if "specmon.formats.custom" not in sys.modules:
        return []
    from specmon.formats.custom import CustomDialect

    return [dialect for dialect in dialects if isinstance(dialect, CustomDialect)]


__all__ = ["LogReader", "Portion", "Stream"]
