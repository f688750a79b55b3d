"""What one block has given so far, until it becomes a `Block`."""

from __future__ import annotations

from array import array

from specmon.events import (
    MISSING,
    Answers,
    Block,
    Clock,
    Covers,
    Habits,
    LogEvent,
    Retracted,
    SampleColumns,
    StepColumns,
)
from specmon.formats.vllm.pairing import Sample
from specmon.formats.vllm.prefix import Prefix

HABITS = Habits(covers=Covers.TICK, tells_prefill=False)
# V1's clock ticks on while nothing is served, so a line covers one tick. V0 looks at its clock while it works.
TICK_S = 10.0  # VLLM_LOG_STATS_INTERVAL unless set; then the lines come closer, or all the further apart


class ClockSeen:
    """Which kind of stamps a stream has; a sample that is held back comes out with the kind of its own line."""

    def __init__(self) -> None:
        self.kind = Clock.NONE

    def note(self, prefix: Prefix) -> None:
        """Look at one prefix."""
        if prefix.at == prefix.at:
            self.kind = Clock.DATED if prefix.is_dated else Clock.YEARLESS


class Findings:
    """Collects what the lines of a block say, in their order."""

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.end = start + size
        self.lines = 0
        self.recognised = 0
        self.answers = 0
        self.clipped = 0
        self.events: list[LogEvent] = []
        self.unparsed = array("q")
        self.decode = SampleColumns()
        self.steps = StepColumns()

    def add(self, said: list[Sample | LogEvent]) -> None:
        """Engine lines that are complete, and what happened between them."""
        columns = self.decode
        for sample in said:
            if isinstance(sample, LogEvent):
                self.events.append(sample)
                continue
            figures, drafts = sample.figures, sample.drafts
            columns.offset.append(sample.offset)
            columns.at.append(sample.at)
            columns.rank.append(sample.rank)
            columns.process.append(sample.process[1])
            columns.running.append(figures.running or 0)
            columns.tok_s.append(figures.tok_s)
            columns.window_s.append(MISSING if figures.is_cumulative else TICK_S)
            columns.prompt_tok_s.append(figures.prompt_tok_s)
            columns.queue.append(figures.queue)
            columns.usage.append(figures.usage)
            columns.accept_len.append(drafts.accept_len)
            columns.drafts.append(drafts.rounds)
            columns.drafted.append(drafts.proposed)
            columns.accepted.append(drafts.accepted)
            columns.by_position.append(drafts.by_position)
            if figures.preemptions:
                # Of this very window, so it comes in front of its sample.
                at = None if sample.at != sample.at else sample.at
                self.events.append(Retracted(sample.offset, at, figures.rank, requests=figures.preemptions))

    def add_step(self, offset: int, at: float, rank: int, running: int, step_ms: float) -> None:
        """A pure decode iteration."""
        columns = self.steps
        columns.offset.append(offset)
        columns.at.append(at)
        columns.rank.append(rank)
        columns.running.append(running)
        columns.decode_ms.append(step_ms)

    def block(self, ranks: tuple[str, ...], clock: ClockSeen) -> Block:
        """All of it."""
        self.events.sort(key=lambda event: event.offset)
        return Block(
            start=self.start,
            end=self.end,
            lines=self.lines,
            recognised=self.recognised,
            clock=clock.kind,
            ranks=ranks,
            decode=self.decode,
            steps=self.steps,
            events=tuple(self.events),
            answers=Answers(self.answers),
            unparsed=self.unparsed,
            habits=HABITS,
            clipped=self.clipped,
        )
