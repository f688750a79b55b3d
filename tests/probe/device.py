"""A device whose clock the test moves: work takes time, the host runs ahead, events become true when it gets there."""

from __future__ import annotations

from dataclasses import dataclass, field

from specmon_probe.cycles import Event


class NotReady(RuntimeError):
    """What a real device answers when a time is asked for too early."""


@dataclass
class FakeGpu:
    """Work is queued on one stream; `reached_ms` is how far the device has got with it."""

    queued_ms: float = 0.0
    reached_ms: float = float("inf")  # as far as anything is queued
    made: int = 0  # events that exist
    early_queries: int = 0  # asked before the device had got there
    queries: int = 0
    is_capturing: bool = False
    recorded_in_capture: int = 0
    recorded: int = 0
    breaks_after: int | None = None  # events; the next one raises
    events: list[FakeEvent] = field(default_factory=list)

    def new_event(self) -> FakeEvent:
        if self.breaks_after is not None and self.made >= self.breaks_after:
            raise RuntimeError("CUDA error: out of events")
        self.made += 1
        return FakeEvent(self)

    def work(self, ms: float) -> None:
        self.queued_ms += ms

    def capturing(self) -> bool:
        return self.is_capturing


class FakeEvent:
    """Keeps the moment of the stream at which it was recorded."""

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu = gpu
        self.at_ms: float | None = None

    def record(self) -> None:
        self.gpu.recorded += 1
        if self.gpu.is_capturing:
            self.gpu.recorded_in_capture += 1
        self.at_ms = self.gpu.queued_ms

    def query(self) -> bool:
        assert self.at_ms is not None, "queried before it was recorded"
        self.gpu.queries += 1
        is_there = self.at_ms <= self.gpu.reached_ms
        self.gpu.early_queries += not is_there
        return is_there

    def elapsed_time(self, end_event: Event, /) -> float:
        assert isinstance(end_event, FakeEvent)
        assert self.at_ms is not None
        assert end_event.at_ms is not None
        if max(self.at_ms, end_event.at_ms) > self.gpu.reached_ms:
            raise NotReady("an event has not been reached")
        return end_event.at_ms - self.at_ms
