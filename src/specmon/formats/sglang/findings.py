"""What one block has given so far, until it becomes a `Block`."""

from __future__ import annotations

from array import array
from typing import TypeVar

from specmon.events import Answers, Block, Clock, LogEvent, PrefillColumns, SampleColumns, ZoneChanged
from specmon.formats.sglang.columns import DecodeRow, PrefillRow, decode_columns, prefill_columns, sort_columns
from specmon.formats.sglang.endings import Endings
from specmon.formats.sglang.excerpt import Excerpt
from specmon.formats.sglang.prefix import Prefix
from specmon.formats.sglang.statistics import DecodeFigures, PrefillFigures

# uvicorn behind SGLang's bracket: counted rather than read, because under load most lines are access lines.
UVICORN = b"] INFO:     "


class Findings:
    """Collects lines in any order; `block` puts them into the order of the stream."""

    def __init__(self, text: bytes, start: int, excerpt: Excerpt | None = None) -> None:
        self.text = text  # the block behind a line feed, so that every line of it begins with one
        self.start = start  # offset of the block's first byte; zero in an excerpt of one
        self._excerpt = excerpt
        self.decode_rows: list[DecodeRow] = []
        self.prefill_rows: list[PrefillRow] = []
        self.events: list[LogEvent] = []
        self.zones: list[tuple[int, int | None]] = []  # of stamps that were looked at one by one, by offset
        self.unparsed: list[int] = []
        self.recognised = 0
        self.clipped = 0
        self.answers = 0
        self.answered_at: float | None = None
        self._slow_decode = SampleColumns()
        self._slow_prefill = PrefillColumns()
        self._is_dated = False

    def offset(self, position: int) -> int:
        """The offset in the stream of a position in the block."""
        return self.start + position if self._excerpt is None else self._excerpt.offset(position)

    def line_end(self, offset: int) -> int:
        """Offset behind the line in which `offset` lies."""
        if self._excerpt is not None:
            return self._excerpt.line_end(offset)
        end = self.text.find(b"\n", offset - self.start + 1)
        return self.start + (len(self.text) if end < 0 else end)

    def note_prefix(self, prefix: Prefix) -> None:
        """Remember what kind of clock the block has."""
        self._is_dated = self._is_dated or prefix.at == prefix.at

    def tell_zones(self, before: int | None) -> int | None:
        """Add an event where the zone of the stamps changes; answers the last one."""
        for offset, zone in sorted(self.zones, key=lambda place: place[0]):
            if zone != before:
                self.events.append(ZoneChanged(offset, utc_offset_s=zone))
                before = zone
        return before

    def note_answers(self, count: int, at: float) -> None:
        """Count requests that were answered with success, the last of them at `at`."""
        self.answers += count
        if at == at and (self.answered_at is None or at > self.answered_at):
            self.answered_at = at

    def add_decode(self, figures: DecodeFigures, prefix: Prefix, rank: int, offset: int, *, is_ended: bool) -> None:
        """Add a decode line that was read field by field, or count it as unparsed."""
        if figures.running is None or figures.tok_s != figures.tok_s:
            # A throughput of nan is an answer, and a line that has not ended may still get its figures.
            if is_ended and (figures.running is None or not figures.has_throughput):
                self.unparsed.append(offset)
            return
        self.clipped += figures.is_clipped
        columns = self._slow_decode
        columns.offset.append(offset)
        columns.at.append(prefix.at)
        columns.rank.append(rank)
        columns.process.append(prefix.process)
        columns.running.append(figures.running)
        columns.tok_s.append(figures.tok_s)
        columns.accept_len.append(figures.accept_len)
        columns.accept_rate.append(figures.accept_rate)
        columns.context_tokens.append(figures.context_tokens)
        columns.usage.append(figures.usage)
        columns.queue.append(figures.queue)
        columns.graph.append(figures.graph)

    def add_prefill(self, figures: PrefillFigures, prefix: Prefix, rank: int, offset: int, *, is_ended: bool) -> None:
        """Add a prefill line that was read field by field, or count it as unparsed."""
        if figures.new_tokens != figures.new_tokens:
            if is_ended:
                self.unparsed.append(offset)
            return
        self.clipped += figures.is_clipped
        columns = self._slow_prefill
        columns.offset.append(offset)
        columns.at.append(prefix.at)
        columns.rank.append(rank)
        columns.process.append(prefix.process)
        columns.new_tokens.append(figures.new_tokens)
        columns.cached_tokens.append(figures.cached_tokens)
        columns.running.append(figures.running)
        columns.queue.append(figures.queue)
        columns.usage.append(figures.usage)

    def block(self, ranks: tuple[str, ...], endings: Endings) -> Block:
        """All of it, in line order."""
        # What is known of a stamp comes before what its line says.
        self.events.sort(key=lambda event: (event.offset, not isinstance(event, ZoneChanged)))
        size = len(self.text) - 1
        if self.decode_rows or self.prefill_rows:
            at = (self.decode_rows or self.prefill_rows)[0][1]
            self._is_dated = self._is_dated or at == at
        decode, prefill = decode_columns(self.decode_rows), prefill_columns(self.prefill_rows)
        if self._excerpt is not None:
            decode.offset, prefill.offset = map(self._excerpt.placed, (decode.offset, prefill.offset))
        return Block(
            start=self.start,
            end=self.start + size,
            lines=self.text.count(b"\n") - 1,
            recognised=self.recognised + len(self.decode_rows) + len(self.prefill_rows) + self.text.count(UVICORN),
            clock=Clock.DATED if self._is_dated else Clock.NONE,
            ranks=ranks,
            decode=joined(decode, self._slow_decode),
            prefill=joined(prefill, self._slow_prefill),
            events=tuple(endings.explain(self.events)),
            answers=Answers(self.answers, self.answered_at),
            unparsed=array("q", sorted(self.unparsed)),
            clipped=self.clipped,
        )


_Columns = TypeVar("_Columns", SampleColumns, PrefillColumns)


def joined(quick: _Columns, slow: _Columns) -> _Columns:
    """Both in line order."""
    if not slow.offset:
        return quick
    if not quick.offset:
        sort_columns(slow)
        return slow
    for name in quick.__slots__:
        getattr(quick, name).extend(getattr(slow, name))
    sort_columns(quick)
    return quick
