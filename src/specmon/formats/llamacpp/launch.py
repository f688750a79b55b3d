"""Which of the rare lines begin a life of the server, and which only tell more of it."""

from __future__ import annotations

from specmon.events import (
    AcceptanceUntold,
    Crashed,
    Exited,
    LaunchContinued,
    Launched,
    LogEvent,
    Ready,
    StopRequested,
    WentIdle,
)
from specmon.formats.llamacpp.lifecycle import FIRST_WITH_ACCEPTANCE, Fact, Kind


class LaunchWatch:
    """Follows the starts and ends of one stream."""

    def __init__(self) -> None:
        self._is_starting = False  # a start was seen, and no work since
        self._has_started = False
        self._has_model = False
        self._has_build = False
        self._has_ended = False
        self._is_crashed = False
        self._is_untold = False
        self._child = -1

    def read(self, fact: Fact, offset: int, at: float | None, child: int) -> list[LogEvent]:
        """The events that a rare line comes to."""
        if fact.kind is Kind.IDLE:
            return [WentIdle(offset, at)]
        if fact.kind is Kind.READY:
            self._is_starting = False
            more: list[LogEvent] = (
                [LaunchContinued(offset, at, flags=fact.flags, is_complete=False)] if fact.flags else []
            )
            return [*more, Ready(offset, at)]
        if fact.kind is Kind.EXIT:
            self._has_ended = True
            return [Exited(offset, at, detail=fact.detail)]
        if fact.kind is Kind.STOP:
            return [StopRequested(offset, at, detail=fact.detail)]
        if fact.kind is Kind.CRASH:
            # What goes wrong is told by every function on the way up.
            is_told, self._is_crashed, self._has_ended = self._is_crashed, True, True
            return [] if is_told else [Crashed(offset, at, detail=fact.detail)]
        if fact.kind in (Kind.BEGIN, Kind.BUILD, Kind.FACT):
            return self._start(fact, offset, at, child)
        return []

    def has_begun(self, events: list[LogEvent]) -> bool:
        """Whether a life begins with these."""
        return any(isinstance(event, Launched) for event in events)

    def has_worked(self) -> None:
        """A request was served: another start line is another life."""
        self._is_starting = False

    def says_no_acceptance(self, offset: int, at: float | None) -> list[LogEvent]:
        """The build is one that never prints acceptance; said once a life."""
        if self._is_untold:
            return []
        self._is_untold = True
        return [AcceptanceUntold(offset, at)]

    def _start(self, fact: Fact, offset: int, at: float | None, child: int) -> list[LogEvent]:
        has_model = "model" in fact.flags
        goes_on = self._is_starting and not self._has_ended
        if fact.kind is Kind.BEGIN:
            is_new = not (goes_on and self._has_build and not self._has_model)
        elif fact.kind is Kind.BUILD:
            is_new = not (goes_on and not self._has_build)
        else:
            # A server that wakes up loads its model again; only without a start in view is that a start.
            is_new = has_model and (not self._has_started or self._has_ended)
        if is_new and child != self._child and self._has_started and not self._has_ended and child >= 0:
            is_new = False  # a router starts another child
        version = str(fact.flags["build"]) if "build" in fact.flags else None
        events: list[LogEvent]
        if is_new:
            self._has_started = self._is_starting = True
            self._has_model = self._has_build = self._has_ended = self._is_crashed = self._is_untold = False
            self._child = child
            events = [Launched(offset, at, flags=fact.flags, is_complete=False, version=version)]
        else:
            events = [LaunchContinued(offset, at, flags=fact.flags, is_complete=False, version=version)]
        self._has_model = self._has_model or has_model
        self._has_build = self._has_build or fact.kind is Kind.BUILD
        if fact.build is not None and 0 < fact.build < FIRST_WITH_ACCEPTANCE:
            events += self.says_no_acceptance(offset, at)
        return events
