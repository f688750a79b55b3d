"""Finds llama.cpp's lines in a block and hands each to the module that can read it.

A pattern of literal signs goes over the block; only lines that hold one are looked at. What spans lines is
kept in the parser: the record of a request ends with the first line that is not of it, and the timing lines
of the builds before mid 2026 have no slot of their own but that of the header line above them.
"""

from __future__ import annotations

import re
from array import array

from specmon.events import (
    MISSING,
    Answers,
    Block,
    Clock,
    Covers,
    DraftsTimed,
    EnvironmentSet,
    Habits,
    LogEvent,
    PrefillColumns,
    Progressed,
    ProgressEnded,
)
from specmon.formats import deaths, nccl
from specmon.formats.llamacpp.launch import LaunchWatch
from specmon.formats.llamacpp.lifecycle import read_fact
from specmon.formats.llamacpp.line import CHILD, UPTIME, Line, read_line
from specmon.formats.llamacpp.request import Request, Requests
from specmon.formats.llamacpp.slots import Slots
from specmon.formats.llamacpp.timing import (
    Drafts,
    is_rest,
    is_timing,
    read_count,
    read_counters,
    read_decoded,
    read_drafts,
    read_evaluation,
    read_positions,
    read_progress,
    read_prompt,
)

HABITS = Habits(covers=Covers.REQUEST)

# One of these is in every line that means something.
_SIGNS = re.compile(
    rb"eval time {1,8}=|print_timing|draft acceptance|acc per pos|#calls\(b,g,a\)|launch_slot_|stop processing"
    rb"|slot is processing task|slot released|all slots are idle|tokens in  |n_accept  =|n_drafted ="
    rb"|: initializing|build: |build info|_info: build |loading (?:draft )?model '|adding speculative"
    rb"|: - n_max=|listening on http|model loaded|cleaning up before exit|Received second interrupt"
    rb"|: failed to load |exiting due to |error while handling argument|error: (?:invalid|unknown) argument: "
    rb"|GGML_ASSERT\(| error: |terminate called after |run with -h|done request: POST| set by environment to "
)
_PREFIXED = re.compile(rb"^(?:" + CHILD + rb")?" + UPTIME, re.MULTILINE)
_JSON_LINE = b'{"type":"log","time":'
_SLOT = re.compile(rb"slot {1,16}([\w()]{1,64}): id {1,8}(\d{1,6}) \| task {1,4}(-?\d{1,12}) \| ?")
_LONGEST_LINE = 65_536  # bytes of a line that are looked at
_ANSWER = re.compile(
    rb"(?:srv {1,16})?log_server_r\w*: (?:done )?request: POST /(?:completions?|v1/(?:chat/)?completions|v1/responses"
    rb"|v1/messages|infill|chat/completions) \S{1,64} 2\d\d"
)


class LlamaCppParser:
    """Reads one stream of one llama.cpp server, or of a router and its child."""

    def __init__(self) -> None:
        self._launch = LaunchWatch()
        self._slots: dict[int, Slots] = {}
        self._telling: set[tuple[int, int]] = set()  # child and slot of requests that have told their progress
        self._open: Request | None = None
        self._header: tuple[int, int, int, float] | None = None  # child, slot, task, time of a header line
        self._child: int | None = None  # whose clock is the stream's
        self._end = 0
        self._closed = Requests()
        self._prompts: list[tuple[int, float, int]] = []
        self._events: list[LogEvent] = []
        self._unparsed = array("q")
        self._clock = Clock.NONE
        self._answers = 0
        self._answered_at: float | None = None
        self._recognised = 0

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines; a last line without a line feed is read as a pending one."""
        self._recognised = len(_PREFIXED.findall(block)) + block.count(_JSON_LINE)
        position = 0
        while (sign := _SIGNS.search(block, position)) is not None:
            begin = block.rfind(b"\n", 0, sign.start()) + 1
            end = block.find(b"\n", sign.end())
            is_ended = end >= 0
            end = end if is_ended else len(block)
            self._read(block[begin : min(end, begin + _LONGEST_LINE)], start + begin, is_ended)
            position = end
        self._read_deaths(b"\n" + block, start)
        self._end = start + len(block)
        return self._block(start, block.count(b"\n"))

    def _read_deaths(self, text: bytes, start: int) -> None:
        for match in deaths.SCAN.finditer(text):
            self._close()
            end = text.find(b"\n", match.end())
            if crash := deaths.read_death(
                text[match.start() + 1 : end if end >= 0 else len(text)], start + match.start()
            ):
                self._events.append(crash)

    def finish(self) -> Block:
        """The last request of the stream may still wait for a draft line."""
        self._close()
        self._recognised = 0
        return self._block(self._end, 0)

    def _block(self, start: int, lines: int) -> Block:
        prompts, count = self._prompts, len(self._prompts)
        answered_at = self._answered_at
        block = Block(
            start,
            self._end,
            lines,
            recognised=self._recognised,
            clock=self._clock,
            decode=self._closed.columns(),
            prefill=PrefillColumns(
                offset=array("q", [offset for offset, _, _ in prompts]),
                at=array("d", [at for _, at, _ in prompts]),
                rank=array("q", bytes(8 * count)),
                process=array("q", [-1] * count),
                new_tokens=array("d", [float(tokens) for _, _, tokens in prompts]),
            ),
            events=tuple(sorted(self._events, key=lambda event: event.offset)),
            answers=Answers(self._answers, answered_at),
            unparsed=self._unparsed,
            habits=HABITS,
        )
        self._closed, self._prompts, self._events, self._unparsed = Requests(), [], [], array("q")
        self._answers, self._answered_at = 0, None
        return block

    # -- lines ----------------------------------------------------------------------------------------

    def _read(self, raw: bytes, offset: int, is_ended: bool) -> None:
        line = read_line(raw)
        at = self._time(line)
        if (head := _SLOT.match(line.body)) is not None:
            slot, task, body = int(head[2]), int(head[3]), line.body[head.end() :]
            self._count(line)
            if head[1].startswith(b"print_timing"):
                if not body:
                    # The header of a record whose lines have no prefix of their own.
                    if self._open is not None and not self._open.is_of(line.child, slot, task):
                        self._close()
                    self._header = (line.child, slot, task, at)
                    return
                self._read_figures(body, offset, line, slot, task, at, is_ended)
            elif head[1].startswith(b"launch_slot") and body.startswith(b"processing task"):
                self._close()
                self._end_progress(line.child, slot, offset, at)
                self._of(line.child).launch(slot, task, at)
            elif head[1] == b"release" and body.startswith(b"stop processing"):
                self._close()
                self._end_progress(line.child, slot, offset, at)
                self._of(line.child).release(slot, at)
            return
        if line.is_old and line.slot is not None and line.task is not None:
            self._read_old(line, line.slot, line.task, offset, at, is_ended)
        elif not self._read_without_slot(line, offset, at, is_ended):
            self._read_rare(line, offset, at)

    def _read_without_slot(self, line: Line, offset: int, at: float, is_ended: bool) -> bool:
        body = line.body
        if (counters := read_counters(body)) is not None:
            self._close()
            self._count(line)
            self._events.append(
                DraftsTimed(
                    offset,
                    _known(at),
                    drafter=counters.drafter,
                    requests=counters.requests,
                    draft_calls=counters.draft_calls,
                    accept_calls=counters.accept_calls,
                    draft_ms=counters.draft_ms,
                )
            )
            return True
        if (decoded := read_decoded(body)) is not None:
            # An offline tool works on one request, and says behind its speed what was accepted.
            self._close()
            self._count(line)
            self._begin(Request(offset, at, line.child, -1, -1, 1, decoded), is_offline=True)
            return True
        if (counted := read_count(body)) is not None:
            if self._open is not None and self._open.slot < 0:
                self._count_offline(*counted)
            return True
        if self._header is not None or self._open is not None or is_timing(body):
            if self._header is not None:
                _, slot, task, began = self._header
                at = began if at != at else at
            else:
                slot, task = (self._open.slot, self._open.task) if self._open is not None else (0, 0)
            return self._read_figures(body, offset, line, slot, task, at, is_ended)
        return False

    def _read_figures(
        self, body: bytes, offset: int, line: Line, slot: int, task: int, at: float, is_ended: bool
    ) -> bool:
        """A line of a request's record; False when it is something else."""
        if is_timing(body):
            self._count(line)
            if (timing := read_evaluation(body)) is not None:
                self._close()
                self._end_progress(line.child, slot, offset, at)
                running = self._of(line.child).running_during(slot, task, at, timing.seconds)
                self._begin(Request(offset, at, line.child, slot, task, running, timing))
            elif (tokens := read_prompt(body)) is not None:
                self._close()
                self._prompts.append((offset, at, tokens))
            elif is_ended:
                self._unparsed.append(offset)
        elif (drafts := read_drafts(body)) is not None:
            self._count(line)
            if self._open is not None and self._open.is_of(line.child, slot, task):
                self._open.drafts = drafts
        elif positions := read_positions(body):
            self._count(line)
            request = self._open
            if request is not None and request.drafts is not None and request.is_of(line.child, slot, task):
                request.drafts = Drafts(request.drafts.accepted, request.drafts.proposed, positions)
        elif (progress := read_progress(body)) is not None:
            self._close()
            self._count(line)
            self._launch.has_worked()
            self._telling.add((line.child, slot))
            self._events.append(
                Progressed(offset, _known(at), tok_s=progress[1], tokens=progress[0], request=(line.child, slot))
            )
        else:
            return is_rest(body)
        return True

    def _read_old(self, line: Line, slot: int, task: int, offset: int, at: float, is_ended: bool) -> None:
        """Before Sep 2024 each line carries its slot as a field behind the message."""
        function, _, body = line.body.partition(b": ")
        self._recognised += 1
        if function.startswith(b"print_timing"):
            if read_evaluation(body) is not None:
                self._close()
                self._events += self._launch.says_no_acceptance(offset, _known(at))
            self._read_figures(body, offset, line, slot, task, at, is_ended)
        elif body.startswith(b"slot is processing task"):
            self._close()
            self._of(line.child).launch(slot, task, at)
        elif body.startswith(b"slot released"):
            self._close()
            self._of(line.child).release(slot, at)

    def _read_rare(self, line: Line, offset: int, at: float) -> None:
        if nccl.NEEDLE in line.body:
            if environment := nccl.read_environment(line.body):
                name, value, pid = environment
                self._events.append(EnvironmentSet(offset, process=pid, name=name, value=value))
            return
        if _ANSWER.match(line.body):
            self._count(line)
            self._answers += 1
            self._answered_at = _known(at) if at == at else self._answered_at
            return
        if (fact := read_fact(line.body, is_old=line.is_old)) is None:
            return
        self._close()
        self._count(line)
        self._header = None
        found = self._launch.read(fact, offset, _known(at), line.child)
        if self._launch.has_begun(found):
            self._slots.clear()
            self._telling.clear()
        self._events += found

    # -- state ----------------------------------------------------------------------------------------

    def _begin(self, request: Request, *, is_offline: bool = False) -> None:
        """A request of one token decoded nothing: its token came with the prompt."""
        self._launch.has_worked()
        if request.timing.tokens > 1 and request.timing.seconds > 0 and request.timing.tok_s == request.timing.tok_s:
            self._open = request

    def _end_progress(self, child: int, slot: int, offset: int, at: float) -> None:
        if (request := (child, slot)) in self._telling:
            self._telling.remove(request)
            self._events.append(ProgressEnded(offset, _known(at), request=request))

    def _count_offline(self, name: bytes, count: int) -> None:
        request = self._open
        if request is None:
            return
        before = request.drafts or Drafts(0, 0)
        if name == b"accept":
            request.drafts = Drafts(count, before.proposed, before.by_position)
        else:
            request.drafts = Drafts(before.accepted, count, before.by_position)

    def _close(self) -> None:
        """The open record has all its lines."""
        request, self._open = self._open, None
        self._header = None if request is not None else self._header
        if request is None:
            return
        if request.drafts is not None and request.drafts.accepted >= request.timing.tokens:
            request.drafts = None  # more accepted than generated: these counts are of something else
        self._closed.rows.append(request)

    def _count(self, line: Line) -> None:
        """Lines with an uptime are counted for the whole block at once."""
        self._recognised += line.clock is not Clock.UPTIME

    def _time(self, line: Line) -> float:
        if line.clock is Clock.NONE:
            return MISSING
        self._clock = line.clock
        if self._child is None or (self._child == -1 and line.child >= 0):
            self._child = line.child
        # Each child of a router counts its own uptime, so only one of them can tell the time.
        return line.at if line.child == self._child else MISSING

    def _of(self, child: int) -> Slots:
        return self._slots.setdefault(child, Slots())


def _known(at: float) -> float | None:
    return at if at == at else None
