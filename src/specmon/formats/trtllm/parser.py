"""Finds TensorRT-LLM's rows in a block.

[04/30/2025-09:56:49] [TRT-LLM] [I] iter = 198, global_rank = 0, …
0: [08/04/2026-19:08:13] [TRT-LLM] [I] [_torch][RANK 0] iter = 4, global_rank = 0, …
"""

from __future__ import annotations

import re
from array import array

from specmon.events import (
    MISSING,
    Block,
    Clock,
    Covers,
    Crashed,
    EnvironmentSet,
    Habits,
    Launched,
    LogEvent,
    PrefillColumns,
    RanksAddUp,
    SampleColumns,
    WindowSpoiled,
)
from specmon.formats import nccl
from specmon.formats.stamps import StampReader
from specmon.formats.trtllm.iteration import MARK, Row, read_row
from specmon.formats.trtllm.ranks import AttentionDp, RankRows, Step

HABITS = Habits(covers=Covers.STEP, tells_acceptance=False, tells_prefill=False)

# One of these is in every line that means something.
_SIGNS = re.compile(
    rb"(?:(" + MARK + rb")|TensorRT-LLM version: (\d[\w.+-]{0,63})|(enable_attention_dp['\"]?[=:] ?True)"
    rb"|\[TRT-LLM\] \[E\] ([^\n]{1,300})|NCCL INFO ([A-Z][A-Z0-9_]{1,127} set by environment to ))"
)
_OURS = re.compile(rb"\[(?:TRT-LLM|TensorRT-LLM)\]")
_BRACKET = re.compile(rb"\[(\d\d)/(\d\d)/(20\d\d)-(\d\d:\d\d:\d\d)\]")
_STAMP = re.compile(rb"(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d)|(\d\d)-(\d\d)-(20\d\d) (\d\d:\d\d:\d\d)")
_FATAL = re.compile(rb"(?:Traceback|Failed to initialize|Fatal|Encountered an error in forward function|Hang detected)")
_LONGEST_BEFORE = 512  # bytes in front of a row
_FEWEST_FIELDS = 4


class TrtLlmParser:
    """Reads one stream of one TensorRT-LLM job."""

    def __init__(self) -> None:
        self._stamps = StampReader()
        self._ranks: dict[str, int] = {"": 0}
        self._rows: dict[int, RankRows] = {}
        self._sharing = AttentionDp()
        self._has_launched = False
        self._has_worked = False
        self._end = 0
        self._steps: list[Step] = []
        self._prefills: list[tuple[int, float, int, int]] = []
        self._events: list[LogEvent] = []
        self._unparsed = array("q")
        self._has_stamp = False

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines; a last line without a line feed is read as a pending one."""
        recognised = len(_OURS.findall(block))
        done = 0
        for match in _SIGNS.finditer(block):
            if match.start() < done:
                continue  # the line has been read
            begin = block.rfind(b"\n", 0, match.start()) + 1
            end = block.find(b"\n", match.start())
            is_ended = end >= 0
            done = end if is_ended else len(block)
            offset = start + begin
            line, sign = block[begin:done], match.start() - begin
            if match[1]:
                recognised += self._read_row(line.rstrip(b"\r "), sign, offset, is_ended=is_ended)
            elif match[2]:
                self._launched(offset, match[2].decode("ascii", "replace"), line[:sign])
            elif match[3]:
                self._share(offset)
            elif match[4] and _FATAL.match(match[4]):
                detail = match[4].decode("utf-8", "replace").strip()
                self._events.append(Crashed(offset, _known(self._bracket(line[:sign])), detail=detail))
            elif match[5]:
                self._read_environment(line, offset)
        self._end = start + len(block)
        return self._block(start, block.count(b"\n"), recognised)

    def finish(self) -> Block:
        """The last row of each rank waits for the device time of a next one that does not come."""
        for rank in sorted(self._rows):
            self._take(*self._rows[rank].finish())
        return self._block(self._end, 0, 0)

    def _block(self, start: int, lines: int, recognised: int) -> Block:
        steps, prefills, count = self._steps, self._prefills, len(self._steps)
        block = Block(
            start,
            self._end,
            lines,
            recognised=recognised,
            clock=Clock.DATED if self._has_stamp else Clock.NONE,
            ranks=tuple(self._ranks),
            decode=SampleColumns(
                offset=array("q", [step.offset for step in steps]),
                at=array("d", [step.at for step in steps]),
                rank=array("q", [self._rank_index(step.row.rank) for step in steps]),
                process=array("q", [-1] * count),
                running=array("q", [step.row.scheduled or 0 for step in steps]),
                tok_s=array("d", [1000 * (step.row.scheduled or 0) / step.step_ms for step in steps]),
                usage=array("d", [step.row.kv_used for step in steps]),
                cycle_ms=array("d", [step.step_ms for step in steps]),
                window_s=array("d", [step.step_ms / 1000 for step in steps]),
                tokens=array("d", [float(step.row.scheduled or 0) for step in steps]),
                iteration=array("q", [step.row.iteration for step in steps]),
            ),
            prefill=PrefillColumns(
                offset=array("q", [offset for offset, _, _, _ in prefills]),
                at=array("d", [at for _, at, _, _ in prefills]),
                rank=array("q", [rank for _, _, rank, _ in prefills]),
                process=array("q", [-1] * len(prefills)),
                new_tokens=array("d", [float(tokens) for _, _, _, tokens in prefills]),
            ),
            events=tuple(sorted(self._events, key=lambda event: event.offset)),
            unparsed=self._unparsed,
            habits=HABITS,
        )
        self._steps, self._prefills, self._events, self._unparsed = [], [], [], array("q")
        return block

    def _read_row(self, line: bytes, mark: int, offset: int, *, is_ended: bool) -> bool:
        """Take a row in; True when nothing else in its line says whose it is."""
        before = line[:mark]
        if len(before) > _LONGEST_BEFORE or b'"' in before:
            return False  # text of a user, not a row
        row = read_row(line[mark:])
        if row is None or row.fields < _FEWEST_FIELDS or not (is_ended or line.endswith(b"}")):
            return False  # prose, or half a row at the very end
        at = self._time(row, before)
        if self._sharing.look(row):
            self._events.append(RanksAddUp(offset))
        self._has_worked = True
        self._take(*self._rows.setdefault(row.rank, RankRows()).add(row, offset, at))
        return _OURS.search(before) is None

    def _take(self, step: Step | None, lacking: int | None) -> None:
        if lacking is not None:
            self._unparsed.append(lacking)
        if step is None:
            return
        row, rank = step.row, self._rank_index(step.row.rank)
        if row.context_requests or row.context_tokens:
            self._prefills.append((step.offset, step.at, rank, row.context_tokens))
        if row.is_decoding:
            if step.is_after_idle:
                self._events.append(WindowSpoiled(step.offset, rank=_tag(row.rank)))
            self._steps.append(step)

    def _launched(self, offset: int, version: str, line: bytes) -> None:
        """Every process of a job says it when it imports the library; before the first row that is one launch."""
        if self._has_launched and not self._has_worked:
            return
        if self._has_worked:
            for rank in sorted(self._rows):
                self._take(*self._rows[rank].finish())
            self._rows.clear()
        self._has_launched, self._has_worked = True, False
        self._sharing = AttentionDp()
        at = _known(self._bracket(line))
        self._events.append(Launched(offset, at, is_complete=False, version=version))

    def _share(self, offset: int) -> None:
        if not self._sharing.is_seen:
            self._sharing.is_seen = True
            self._events.append(RanksAddUp(offset))

    def _read_environment(self, line: bytes, offset: int) -> None:
        if environment := nccl.read_environment(line):
            name, value, pid = environment
            self._events.append(EnvironmentSet(offset, process=pid, name=name, value=value))

    def _rank_index(self, rank: int) -> int:
        return self._ranks.setdefault(_tag(rank), len(self._ranks))

    def _time(self, row: Row, before: bytes) -> float:
        """The row's own stamp before the logger's."""
        if match := _STAMP.fullmatch(row.timestamp):
            text = match[1] or b"%b-%b-%b %b" % (match[4], match[2], match[3], match[5])
            at = self._stamps.seconds(text)
            if at == at:
                self._has_stamp = True
                return at
        return self._bracket(before)

    def _bracket(self, before: bytes) -> float:
        if (match := _BRACKET.search(before)) is None:
            return MISSING
        self._has_stamp = True
        return self._stamps.seconds(b"%b-%b-%b %b" % (match[3], match[1], match[2], match[4]))


def _tag(rank: int) -> str:
    return f"RANK{rank}"


def _known(at: float) -> float | None:
    return at if at == at else None
