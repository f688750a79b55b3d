"""The parser of a custom format: lines become columns of samples and rare events, as with any other dialect.

The phase times that such lines may hold are not read here but by `formats.phases`, which reads them out of the logs
of all engines.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from types import MappingProxyType

from specmon.events import (
    MISSING,
    Block,
    Clock,
    Covers,
    Crashed,
    EnvironmentSet,
    Exited,
    Flushed,
    Habits,
    Json,
    Launched,
    LogEvent,
    PrefillColumns,
    RanksAddUp,
    Ready,
    Retracted,
    SampleColumns,
    StopRequested,
    WentIdle,
    ZoneChanged,
)
from specmon.formats.custom.fields import DECODE, LAUNCH, PREFILL
from specmon.formats.custom.line import CustomLine, LineReader
from specmon.formats.custom.model import FormatModel
from specmon.formats.custom.moments import Moments, zone_of
from specmon.secrets import drop_secrets, is_secret_name, is_secret_value

# Columns of samples that are filled where a pattern may give the figure.
_OPTIONAL = (
    *("accept_len", "accept_rate", "context_tokens", "usage", "queue", "cycle_ms", "window_s", "tokens"),
    *("prompt_tok_s", "drafts", "drafted", "accepted"),
)
_PREFILL = ("cached_tokens", "running", "queue", "usage")
_NO_ALGORITHM = frozenset({"", "none", "null", "off", "false", "disabled"})
# What the launch facts are called in the launch records of engines, which the reports understand.
_FLAGS = {
    "model": "model_path",
    "draft_model": "speculative_draft_model_path",
    "algorithm": "speculative_algorithm",
    "num_steps": "speculative_num_steps",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "topk": "speculative_eagle_topk",
    "tp_size": "tp_size",
    "dp_size": "dp_size",
    "pp_size": "pp_size",
}


class CustomParser:
    """Reads one stream by one format."""

    def __init__(self, model: FormatModel, reader: LineReader) -> None:
        self._model = model
        self._reader = reader
        zone = zone_of(model.time.zone) if model.time.zone is not None else None
        self._moments = Moments(model.time.layout, zone)
        self._habits = Habits(
            covers=model.covers_what,
            tells_acceptance=model.tells_acceptance,
            tells_prefill=any(pattern.kind == PREFILL for pattern in model.patterns),
            cycles_per_sample=model.cycles_per_line,
        )
        self._ranks: dict[str, int] = {"": 0}
        self._last_at: dict[str, float] = {}  # of the decode lines of a rank
        self._has_stamps = False
        self._zone_s: int | None = None  # of the last stamp
        self._end = 0

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines; of a last line without a line feed only what cannot be half a figure."""
        decode, prefill = SampleColumns(), PrefillColumns()
        events: list[LogEvent] = []
        unparsed = array("q")
        recognised = 0
        for begin, _, line in self._reader.lines(block):
            recognised += 1
            offset, at = start + begin, self._time(line)
            if at == at and self._moments.utc_offset_s != self._zone_s:
                self._zone_s = self._moments.utc_offset_s
                events.append(ZoneChanged(offset, utc_offset_s=self._zone_s))
            if line.kind == DECODE:
                if not self._sample(decode, line, offset, at, events) and "tok_s" not in line.withheld:
                    unparsed.append(offset)
            elif line.kind == PREFILL:
                if not self._prefill(prefill, line, offset, at):
                    unparsed.append(offset)
            elif (event := self._event(line, offset, at)) is not None:
                events.append(event)
        self._end = start + len(block)
        return Block(
            start,
            self._end,
            block.count(b"\n"),
            recognised=recognised,
            clock=self._moments.clock if self._has_stamps else Clock.NONE,
            ranks=tuple(self._ranks),
            decode=decode,
            prefill=prefill,
            events=tuple(events),
            unparsed=unparsed,
            habits=self._habits,
        )

    def finish(self) -> Block:
        """Nothing is ever held back."""
        return Block(self._end, self._end, 0, ranks=tuple(self._ranks), habits=self._habits)

    def _time(self, line: CustomLine) -> float:
        text = line.words.get("time")
        if text is None:
            return MISSING
        at = self._moments.read(text.encode())
        self._has_stamps = self._has_stamps or at == at
        return at

    def _rank(self, line: CustomLine) -> str:
        """The tag; a bare number becomes one that says what it numbers."""
        word = line.words.get("rank", "")[:64]
        return f"RANK{int(word)}" if word.isascii() and word.isdigit() else word

    def _sample(self, columns: SampleColumns, line: CustomLine, offset: int, at: float, events: list[LogEvent]) -> bool:
        tok_s, running = line.figure("tok_s"), line.figure("running")
        if not (tok_s >= 0 and running >= 0):
            return False
        rank = self._rank(line)
        if self._model.ranks == "add_up" and rank and rank not in self._ranks:
            events.append(RanksAddUp(offset))
        figures = self._completed(line, rank, at)
        columns.offset.append(offset)
        columns.at.append(at)
        columns.rank.append(self._ranks.setdefault(rank, len(self._ranks)))
        columns.process.append(_whole(line.figure("process"), -1))
        columns.running.append(_whole(running, 0))
        columns.tok_s.append(tok_s)
        for name in _OPTIONAL:
            getattr(columns, name).append(figures.get(name, MISSING))
        columns.graph.append(line.graph)
        return True

    def _completed(self, line: CustomLine, rank: str, at: float) -> dict[str, float]:
        """The figures of a line with what it covers, in the words of `SampleColumns`."""
        figures, get = dict(line.figures), line.figure
        running, tok_s = get("running"), get("tok_s")
        accept = get("accept_len") if self._model.tells_acceptance and "accept_len" in figures else MISSING
        per_cycle = 1.0 if accept != accept else accept
        covers = self._model.covers_what
        if covers is Covers.STEP:
            figures.setdefault("tokens", per_cycle * running)
        elif covers is Covers.WINDOW and "cycles" in figures:
            figures.setdefault("tokens", figures["cycles"] * per_cycle * running)
        elif covers is Covers.REQUEST and tok_s > 0:
            if "tokens" in figures:
                figures.setdefault("window_s", figures["tokens"] / tok_s)
            elif "window_s" in figures:
                figures["tokens"] = figures["window_s"] * tok_s
        elif covers is Covers.TICK:
            # A line by the clock weighs in the pooled accept length by the draft rounds that it stands for.
            window = get("window_s") if "window_s" in figures else at - self._last_at.get(rank, MISSING)
            if accept > 0 and window > 0:
                figures.setdefault("drafts", tok_s * window / accept)
        if at == at:
            self._last_at[rank] = at
        return figures

    def _prefill(self, columns: PrefillColumns, line: CustomLine, offset: int, at: float) -> bool:
        if not line.figure("new_tokens") >= 0:
            return False
        rank = self._rank(line)
        columns.offset.append(offset)
        columns.at.append(at)
        columns.rank.append(self._ranks.setdefault(rank, len(self._ranks)))
        columns.process.append(_whole(line.figure("process"), -1))
        columns.new_tokens.append(line.figure("new_tokens"))
        for name in _PREFILL:
            getattr(columns, name).append(line.figure(name))
        return True

    def _event(self, line: CustomLine, offset: int, time: float) -> LogEvent | None:
        rank, at = self._rank(line), time if time == time else None
        process = _whole(line.figure("process"), -1)
        pid = process if process >= 0 else None
        if line.kind == LAUNCH:
            return Launched(offset, at, rank, pid, flags_of(line), is_complete=False, version=line.words.get("version"))
        if line.kind == "crash":
            code = line.figure("exit_code")
            return Crashed(
                offset,
                at,
                rank,
                pid,
                detail=line.words.get("detail", ""),
                exit_code=_whole(code, 0) if code == code else None,
            )
        if line.kind == "retraction":
            many = line.figure("requests")
            return Retracted(offset, at, rank, pid, requests=_whole(many, 0) if many == many else None)
        if line.kind == "environment":
            name, value = line.words.get("variable", ""), line.words.get("value", "")
            if not name or is_secret_name(name) or is_secret_value(value):
                return None
            return EnvironmentSet(offset, at, rank, pid, name=name, value=value)
        if line.kind in ("stop", "exit"):
            told: Callable[..., LogEvent] = StopRequested if line.kind == "stop" else Exited
            return told(offset, at, rank, pid, detail=line.words.get("detail", ""))
        plain: dict[str, Callable[..., LogEvent]] = {"ready": Ready, "idle": WentIdle, "flush": Flushed}
        return plain[line.kind](offset, at, rank, pid) if line.kind in plain else None


def flags_of(line: CustomLine) -> MappingProxyType[str, Json]:
    """The launch facts under the names that engines give them, secrets dropped."""
    flags: dict[str, Json] = {}
    for name, flag in _FLAGS.items():
        if name in line.words:
            word = line.words[name]
            flags[flag] = None if name == "algorithm" and word.lower() in _NO_ALGORITHM else word
        elif name in line.figures:
            flags[flag] = _whole(line.figures[name], 0)
    return MappingProxyType(drop_secrets(flags))


def _whole(value: float, otherwise: int) -> int:
    return round(value) if abs(value) < 1e15 else otherwise
