"""Brings the two statistics lines of one tick together: an engine line, and the draft line right behind it.

A process writes both without anything of its own in between, so its next line decides. Until then the
engine line is held back, and what comes later with it, so that all comes out in the order of the stream.
Where nothing speaks for speculation nothing is held.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from specmon.events import LogEvent
from specmon.formats.vllm.rounds import Drafts
from specmon.formats.vllm.statistics import EngineFigures

Process = tuple[str, int]
_PATIENCE = 3  # engine lines of a process without a draft line, after which none is awaited


@dataclass(slots=True)
class Sample:
    """An engine line on its way out."""

    offset: int
    at: float
    rank: int
    process: Process
    figures: EngineFigures
    drafts: Drafts = field(default_factory=Drafts)
    is_settled: bool = False


class Pairing:
    """Holds engine lines of one stream until their draft line has come or can come no more."""

    def __init__(self) -> None:
        self.is_speculative: bool | None = None  # what the launch, or a draft line, says
        self._held: deque[Sample | LogEvent] = deque()
        self._newest: dict[Process, Sample] = {}  # the engine line that a draft line would belong to
        self._alone: dict[Process, int] = {}  # engine lines since the last draft line

    def begin(self, *, is_speculative: bool | None) -> None:
        """Another server, of which the launch may have said whether it drafts."""
        self.is_speculative = is_speculative
        self._alone.clear()

    def engine_line(self, sample: Sample) -> None:
        """Take a sample in."""
        process = sample.process
        self.other_line(process)
        alone = self._alone.get(process, 0)
        self._alone[process] = alone + 1
        awaited = self.is_speculative if self.is_speculative is not None else alone < _PATIENCE
        sample.is_settled = not awaited
        if awaited:
            self._newest[process] = sample
        self._held.append(sample)

    def event(self, event: LogEvent) -> None:
        """Keep an event in its place behind what is held."""
        self._held.append(event)

    def draft_line(self, process: Process, drafts: Drafts) -> bool:
        """Give the counts to the engine line in front; False when there is none that waits for them."""
        self._alone[process] = 0
        if drafts.is_known:
            self.is_speculative = True
        if (sample := self._newest.pop(process, None)) is None:
            return False
        sample.drafts = drafts
        sample.is_settled = True
        return True

    def other_line(self, process: Process) -> None:
        """Any other line of the same process: its engine line stays without counts."""
        if (sample := self._newest.pop(process, None)) is not None:
            sample.is_settled = True

    def settle(self) -> None:
        """Nothing more can come to what is held: the server starts or ends, or the stream does."""
        for sample in self._newest.values():
            sample.is_settled = True
        self._newest.clear()

    def released(self) -> list[Sample | LogEvent]:
        """What is complete, in the order of the stream."""
        out: list[Sample | LogEvent] = []
        while self._held:
            first = self._held[0]
            if isinstance(first, Sample) and not first.is_settled:
                break
            out.append(self._held.popleft())
        return out
