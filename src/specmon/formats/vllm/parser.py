"""Finds vLLM's lines in a block and reads them in the order of the stream.

A quick pattern catches the statistics lines of recent releases. Of all other lines only those are looked at
that hold one of a few words. What one line means may depend on the lines before it (which process is whose,
which engine line a draft line belongs to, what the V0 counters were), so both kinds go through one loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specmon.events import Block, Crashed, Drafted, EnvironmentSet, LogEvent, PhasesTimed, WentIdle
from specmon.formats import deaths, nccl
from specmon.formats.traceback import TracebackReader
from specmon.formats.vllm.findings import ClockSeen, Findings
from specmon.formats.vllm.lifecycle import STARTS, Lifecycle
from specmon.formats.vllm.pairing import Pairing, Process, Sample
from specmon.formats.vllm.prefix import LONGEST, PROCESS, TIME, Prefix, PrefixReader, without_styles
from specmon.formats.vllm.rounds import Drafts, drafts_of_counters, drafts_of_interval
from specmon.formats.vllm.statistics import (
    BODY,
    DRAFT,
    ENGINE,
    STEP,
    DraftFigures,
    EngineFigures,
    StageFigures,
    StepFigures,
    engine_tag,
    read_draft,
    read_engine,
    read_positions,
    read_stages,
    read_step,
    step_of,
)

_QUICK = re.compile(
    rb"\n(?:" + PROCESS + rb" )?INFO (" + TIME + rb") \[[\w./-]{1,96}+:\d{1,6}+\] "
    rb"(?:" + ENGINE + rb"|" + DRAFT + rb"|" + STEP + rb")"
)  # fmt: skip
# Which group of `_QUICK` was the last to catch something tells the kind of line.
_DRAFT_FIRST, _STEP_FIRST = 10, 14

# One of these is in every line that `_read_line` can read.
# The first four are in the lines of the quick pattern too, so many times as `_QUICK_NEEDLES` says for each kind.
_NEEDLES = (
    b" throughput: ", b"Running: ", b"ecoding metrics: ", b"Iteration(", b"eculative metrics: ", b" version ",
    b" stage times: ", b"args: {", b"args: Namespace(", b" LLM engine (", b"Application startup complete",
    b"tarted server process",
    b" API server process", b"hutting down", b"Finished server process", b"[shutdown]", b"disabling stats logging",
    b" failed to start", b" a fatal error", b" died unexpectedly", b" hit an exception", b"ask failed",
    b"Engine core initialization failed", b"output_handler failed", b" is preempted by", b"reset prefix cache",
    b"Traceback (most", b": error: ", b"usage: vllm", b"usage: api_server", b"KeyboardInterrupt", b"\n^C", nccl.NEEDLE,
)  # fmt: skip
_QUICK_NEEDLES = ((2, 1, 0, 0), (2, 0, 1, 0), (0, 0, 0, 1))  # of an engine, a draft and an iteration line
_BODY = re.compile(
    rb"(?:^|(?<=[\s\]|>]))(?:(?P<statistics>" + BODY + rb")|(?P<event>" + STARTS + rb")"
    rb"|(?P<art>[\x80-\xff][\x80-\xff ]{1,255}+(?<= )version v?\d))"
)  # fmt: skip
_OURS = re.compile(
    rb"\n(?:\x1b\[[\d;]{0,16}m)*+"
    rb"(?:\((?:APIServer|ApiServer_\d|EngineCore|Worker|VllmWorker|MainProcess)[\w-]{0,32} pid=\d"
    rb"|(?:DEBUG|INFO|WARNING|ERROR) " + TIME + rb" )"
)  # fmt: skip
_ANSWERS = re.compile(
    rb" - \\?\"POST /(?:v1/(?:chat/)?completions|v1/responses|v1/messages|generate|inference/v1/generate|invocations)"
    rb"(?:\?[^ \n\"]{0,256})? HTTP/[\d.]{1,3}\\?\" 2\d\d"
)  # fmt: skip
_JSON_MARK = b'"vllm_process_name"'


class VllmParser:
    """Reads one stream of one vLLM deployment."""

    def __init__(self) -> None:
        self._prefixes = PrefixReader()
        self._lifecycle = Lifecycle()
        self._pairing = Pairing()
        self._traceback = TracebackReader(b"vllm")
        self._ranks: dict[str, int] = {"": 0}
        self._rank_of: dict[Process, str] = {}  # of the newest engine line of a process
        self._counters: dict[Process, tuple[float, float, float]] = {}  # V0, since the start
        self._steps: int | None = None  # k, as V0's draft lines tell it
        self._clock = ClockSeen()
        self._end = 0

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines; a last line without a line feed is read as a pending one."""
        text = b"\n" + block
        found = Findings(start, len(block))
        found.lines = text.count(b"\n") - 1
        found.recognised = len(_OURS.findall(text)) + text.count(_JSON_MARK)
        found.answers = len(_ANSWERS.findall(text)) if b"POST /" in text else 0
        quick = {match.start(): match for match in _QUICK.finditer(text)}
        for position in self._positions(text, quick):
            if (match := quick.get(position)) is not None and not self._traceback.is_open:
                self._read_quick(match, start + position, found)
            else:
                self._read_whole_line(text, position, found)
            found.add(self._pairing.released())
        self._end = found.end
        return found.block(tuple(self._ranks), self._clock)

    def finish(self) -> Block:
        """The engine lines whose draft line never came."""
        found = Findings(self._end, 0)
        self._pairing.settle()
        found.add(self._pairing.released())
        return found.block(tuple(self._ranks), self._clock)

    # -- finding lines --------------------------------------------------------------------------------

    def _positions(self, text: bytes, quick: dict[int, re.Match[bytes]]) -> Iterator[int]:
        """Where the lines begin that are worth a look, in order; all lines while a traceback is open."""
        wanted = set(quick)
        wanted.update(match.start() for match in deaths.SCAN.finditer(text))
        kinds = [0, 0, 0]
        for match in quick.values():
            last = match.lastindex or 0
            kinds[(last >= _DRAFT_FIRST) + (last >= _STEP_FIRST)] += 1
        for number, needle in enumerate(_NEEDLES):
            if number < len(_QUICK_NEEDLES[0]):
                expected = sum(count * each[number] for count, each in zip(kinds, _QUICK_NEEDLES, strict=True))
                if text.count(needle) == expected:
                    continue  # in no other line
            at = text.find(needle)
            while at >= 0:
                wanted.add(at if needle[0] == 10 else text.rfind(b"\n", 0, at))
                end = text.find(b"\n", at + 1)
                at = text.find(needle, end) if end >= 0 else -1
        last = len(text) - 1  # what stands behind the last line feed is no line
        position = 0
        for position_wanted in [*sorted(wanted), last]:
            while self._traceback.is_open and position < position_wanted:
                yield position
                position = _next_line(text, position)
            if position_wanted < last:
                yield position_wanted
                position = _next_line(text, position_wanted)

    def _read_whole_line(self, text: bytes, position: int, found: Findings) -> None:
        end = text.find(b"\n", position + 1)
        is_ended = end >= 0
        line = text[position + 1 : end if is_ended else len(text)]
        offset = found.start + position
        plain = _without_process(without_styles(line))
        was_open = self._traceback.is_open
        crash = self._traceback.read(plain, offset, offset + len(line) + 1)
        if isinstance(crash, Crashed):
            found.recognised += 1
            self._add(self._lifecycle.traceback(crash), found)
        if was_open and plain.startswith(b" "):
            return  # a frame, or the source of one
        recognised = found.recognised
        for piece in line.split(b"\r"):  # a record may stand behind a progress bar
            if piece:
                self._read_line(without_styles(piece), offset, found, is_ended=is_ended)
            offset += len(piece) + 1
        if found.recognised > recognised:
            found.recognised = recognised + (_OURS.match(text, position) is None)  # else counted already

    def _read_line(self, line: bytes, offset: int, found: Findings, *, is_ended: bool) -> None:
        if line.startswith(b"{"):
            if (record := self._prefixes.record(line)) is not None and (body := _BODY.match(record.message)):
                found.recognised += _JSON_MARK not in line
                self._read_body(body, record.message, record.prefix, offset, found, is_ended=is_ended)
            return
        if nccl.NEEDLE in line and (environment := nccl.read_environment(line)):
            name, value, pid = environment
            self._pairing.event(EnvironmentSet(offset, process=pid, name=name, value=value))
            return
        if deaths.SCAN.match(b"\n" + line):
            # Whoever started the process says that it has ended: no draft line comes any more.
            self._add(deaths.read_death(line, offset), found)
            self._pairing.settle()
            return
        event, is_usage = self._lifecycle.read_usage(line, offset)
        if is_usage:
            found.recognised += 1
            self._add(event, found)
            return
        body = _BODY.search(line, 0, LONGEST)
        if body is None or any(sign in line[: body.start()] for sign in (b'"', b"'", b"{")):
            return  # what quotes hold is a user's text
        found.recognised += not line.startswith(b"INFO: ")  # uvicorn serves other engines too
        prefix = self._prefixes.read(line[: body.start()])
        self._read_body(body, line[body.start() :], prefix, offset, found, is_ended=is_ended)

    # -- reading bodies -------------------------------------------------------------------------------

    def _read_quick(self, match: re.Match[bytes], offset: int, found: Findings) -> None:
        name, pid = match[1], match[2]
        prefix = Prefix(self._prefixes.yearless(match[3]), name.decode() if name else "", int(pid) if pid else -1)
        self._clock.note(prefix)
        last = match.lastindex or 0
        if last < _DRAFT_FIRST:
            number, prompt, tok_s, running, waiting, usage = match.group(4, 5, 6, 7, 8, 9)
            figures = EngineFigures(
                engine_tag(number), int(running), float(tok_s), float(prompt), float(waiting), has_throughput=True
            )
            if usage is not None:
                figures.usage = float(usage) / 100
            self._engine_line(figures, prefix, offset)
        elif last < _STEP_FIRST:
            length, accepted, proposed, positions = match.group(10, 11, 12, 13)
            drafts = DraftFigures(float(accepted), float(proposed), float(length), read_positions(positions))
            self._draft_line(drafts, prefix, offset)
        else:
            self._step_line(step_of(match.group(14, 15, 16, 17, 18)), prefix, offset, found)

    def _read_body(
        self, begin: re.Match[bytes], body: bytes, prefix: Prefix, offset: int, found: Findings, *, is_ended: bool
    ) -> None:
        self._clock.note(prefix)
        if begin["statistics"] is None:
            self._add(self._lifecycle.read(body, prefix, offset), found)
            return
        head = begin["statistics"]
        if b"Iteration(" in head:
            if (step := read_step(body)) is not None:
                self._step_line(step, prefix, offset, found)
        elif b" stage times: " in head:
            if is_ended and (stages := read_stages(body)) is not None:
                self._stages_line(stages, prefix, offset)
        elif b" metrics: " in head:
            if is_ended:
                self._draft_line(read_draft(body), prefix, offset)
        else:
            figures = read_engine(body, is_ended=is_ended)
            if figures.running is not None and figures.tok_s == figures.tok_s:
                found.clipped += figures.is_clipped
                self._engine_line(figures, prefix, offset)
            elif is_ended and (figures.running is None or not figures.has_throughput):
                found.unparsed.append(offset)

    def _engine_line(self, figures: EngineFigures, prefix: Prefix, offset: int) -> None:
        process = prefix.process
        self._lifecycle.launches.serve()
        self._rank_of[process] = figures.rank
        if figures.is_idle:
            self._pairing.other_line(process)
            at = None if prefix.at != prefix.at else prefix.at
            pid = prefix.pid if prefix.pid >= 0 else None
            self._pairing.event(WentIdle(offset, at, figures.rank, pid))
            return
        rank = self._ranks.setdefault(figures.rank, len(self._ranks))
        self._pairing.engine_line(Sample(offset, prefix.at, rank, process, figures))

    def _draft_line(self, figures: DraftFigures, prefix: Prefix, offset: int) -> None:
        process = prefix.process
        drafts = self._drafts(figures, process)
        rank = figures.rank or self._rank_of.get(process, "")
        if self._pairing.draft_line(process, drafts) or drafts.proposed != drafts.proposed:
            return
        self._ranks.setdefault(rank, len(self._ranks))
        at = None if prefix.at != prefix.at else prefix.at
        self._pairing.event(
            Drafted(
                offset, at, rank, prefix.pid if prefix.pid >= 0 else None,
                drafts.rounds, drafts.accept_len, drafts.proposed, drafts.accepted, drafts.by_position,
            )
        )  # fmt: skip

    def _drafts(self, figures: DraftFigures, process: Process) -> Drafts:
        steps = self._lifecycle.launches.steps
        if figures.steps is None:
            return drafts_of_interval(figures.accepted, figures.proposed, figures.length, figures.by_position, steps)
        self._steps = figures.steps
        now = (figures.accepted, figures.proposed, figures.emitted)
        before = self._counters.get(process, (0.0, 0.0, 0.0))
        self._counters[process] = now
        if any(new < old for new, old in zip(now, before, strict=True)):
            before = (0.0, 0.0, 0.0)  # another server counts anew
        accepted, proposed, emitted = (new - old for new, old in zip(now, before, strict=True))
        return drafts_of_counters(accepted, proposed, emitted, figures.steps)

    def _step_line(self, step: StepFigures, prefix: Prefix, offset: int, found: Findings) -> None:
        self._pairing.other_line(prefix.process)
        self._lifecycle.launches.serve()
        if step.is_dummy or step.prefills or not step.running:
            return  # a prompt is read in it, or nothing is
        rank = self._ranks.setdefault(step.rank, len(self._ranks))
        found.add_step(offset, prefix.at, rank, step.running, step.step_ms)

    def _stages_line(self, stages: StageFigures, prefix: Prefix, offset: int) -> None:
        self._lifecycle.launches.serve()
        at = None if prefix.at != prefix.at else prefix.at
        phases = stages.phases(self._lifecycle.launches.steps or self._steps)
        self._pairing.event(PhasesTimed(offset, at, source="log", ms=phases))

    def _add(self, event: LogEvent | None, found: Findings) -> None:
        if event is None:
            return
        self._pairing.settle()
        found.add(self._pairing.released())
        if event.kind == "launch":
            self._counters.clear()
        if event.kind in ("launch", "launch_continued", "process_started"):
            self._pairing.begin(is_speculative=self._lifecycle.launches.is_speculative)
        found.events.append(event)


def _next_line(text: bytes, position: int) -> int:
    end = text.find(b"\n", position + 1)
    return len(text) if end < 0 else end


def _without_process(line: bytes) -> bytes:
    """A traceback's line without the process in front [0.10 to 0.26]."""
    match = _PROCESS_AT_START.match(line)
    return line[match.end() :] if match else line


_PROCESS_AT_START = re.compile(PROCESS + rb" ")
