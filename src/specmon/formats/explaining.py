"""Says of each line of a log what was made of it: which carrier, whose dialect, what kind of line, which fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from specmon.events import (
    Block,
    EnvironmentSet,
    LaunchContinued,
    Launched,
    LogEvent,
    PhasesTimed,
    PrefillColumns,
    SampleColumns,
    StepColumns,
    ZoneChanged,
)
from specmon.formats import Dialect
from specmon.formats.custom.moments import written
from specmon.formats.reader import LogReader, Portion

OTHER, FAMILIAR, UNPARSED = "other", "familiar", "unparsed"
KIND_WORDS = {
    OTHER: "not recognised",
    FAMILIAR: "the engine's own, without a figure",
    UNPARSED: "statistics that lack a figure they need",
}
_SETTLED_BYTES = 8 << 20  # behind this many bytes a line is no longer held back by anybody
_LONGEST_TEXT = 400
_PLAIN = ("offset", "rank", "process")
_UNSHOWN = {"offset", "at", "rank", "process", "ms", "flags", "is_complete", "name", "value"}


@dataclass(slots=True)
class ExplainedLine:
    """One physical line."""

    number: int
    offset: int
    text: bytes
    carriers: tuple[str, ...] = ()
    stream: str = ""
    engine: str | None = None
    kinds: list[str] = field(default_factory=list)
    read: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """All that the line is: usually one word."""
        return "+".join(dict.fromkeys(self.kinds)) or OTHER


class Explainer:
    """Feed it blocks of whole lines in their order; explained lines come out when nothing can change them."""

    def __init__(self, dialects: Iterable[Dialect] = (), *, reader: LogReader | None = None) -> None:
        self._reader = reader or LogReader(dialects)
        self._lines: dict[int, ExplainedLine] = {}
        self._number = 0

    def feed(self, data: bytes, offset: int) -> Iterator[ExplainedLine]:
        """Take whole lines in."""
        self._reader.look_at(data)
        for raw in _split(data):
            self._number += 1
            line = ExplainedLine(self._number, offset, raw.rstrip(b"\r\n ")[:_LONGEST_TEXT])
            line.carriers = self._reader.carriers_of(raw.rstrip(b"\n"))
            self._lines[offset] = line
            self._take(self._reader.feed(raw, offset))
            offset += len(raw)
        yield from self._settled(offset - _SETTLED_BYTES)

    def finish(self) -> Iterator[ExplainedLine]:
        """The log has ended."""
        self._take(self._reader.finish())
        yield from self._settled(None)

    def _settled(self, before: int | None) -> Iterator[ExplainedLine]:
        while self._lines:
            offset = next(iter(self._lines))
            if before is not None and offset >= before:
                return
            yield self._lines.pop(offset)

    def _take(self, portions: Iterable[Portion]) -> None:
        for portion in portions:
            block = portion.block
            stream = portion.stream.names[-1] if portion.stream.names else ""
            told = list(_findings(block))
            for offset, kind, read in told:
                self._note(offset, kind, read, portion.engine, stream)
            if block.recognised and not told:
                self._note(block.start, FAMILIAR, {}, portion.engine, stream)

    def _note(self, offset: int, kind: str, read: Mapping[str, str], engine: str | None, stream: str) -> None:
        if (line := self._lines.get(offset)) is not None:
            line.kinds.append(kind)
            line.read.update(read)
            line.engine, line.stream = engine or line.engine, stream


def _findings(block: Block) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Offset, kind and fields of all that a block says."""
    yield from _of_columns("decode", block.decode, block)
    yield from _of_columns("prefill", block.prefill, block)
    yield from _of_columns("step", block.steps, block)
    for event in block.events:
        if not isinstance(event, ZoneChanged):  # it tells of the stamp, and what line it is on is told by others
            yield event.offset, event.kind, _of_event(event, block)
    for offset in block.unparsed:
        yield offset, UNPARSED, {}


def _of_columns(
    kind: str, columns: SampleColumns | PrefillColumns | StepColumns, block: Block
) -> Iterator[tuple[int, str, dict[str, str]]]:
    names = [one.name for one in fields(columns) if one.name not in _PLAIN]
    for index, offset in enumerate(columns.offset):
        read: dict[str, str] = {}
        if rank := block.ranks[columns.rank[index]]:
            read["rank"] = rank
        for name in names:
            column = getattr(columns, name)
            if len(column) and (shown := _shown(name, column[index], block)):
                read[name] = shown
        yield offset, kind, read


def _shown(name: str, value: object, block: Block) -> str:
    if name == "at":
        return written(value, block.clock) if isinstance(value, float) and value == value else ""
    if name == "graph":
        return {0: "false", 1: "true"}.get(value, "") if isinstance(value, int) else ""
    if isinstance(value, tuple):
        return ",".join(f"{part:g}" for part in value)
    return f"{value:.10g}" if isinstance(value, int | float) and value == value else ""


def _of_event(event: LogEvent, block: Block) -> dict[str, str]:
    read: dict[str, str] = {}
    if event.at is not None:
        read["at"] = written(event.at, block.clock)
    if event.rank:
        read["rank"] = event.rank
    if isinstance(event, PhasesTimed):
        read |= {f"{name}_ms": f"{value:.10g}" for name, value in event.ms.items()}
    elif isinstance(event, Launched | LaunchContinued):
        read |= {name: str(value) for name, value in list(event.flags.items())[:8]}
        if len(event.flags) > 8:
            read["flags"] = str(len(event.flags))
    elif isinstance(event, EnvironmentSet):
        read[event.name] = event.value
    for one in fields(event):
        value = getattr(event, one.name)
        is_missing = value is None or value in ("", ()) or value != value
        if one.name not in _UNSHOWN and not is_missing:
            read[one.name] = f"{value:.10g}" if isinstance(value, float) else str(value)
    return read


def _split(data: bytes) -> list[bytes]:
    """Lines end at a line feed and nowhere else."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])
