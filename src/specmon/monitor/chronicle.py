"""What a reader is told of a server's past: lines of the event list, marks on the charts, restarts."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from specmon.monitor.life import Life
from specmon.monitor.snapshot import EventLine, Mark, MarkKind, Severity

_HELD_EVENTS = 500
_HELD_MARKS = 1000
_HELD_RESTARTS = 200  # they hold two lives each


class Chronicle:
    """The newest of each; the oldest fall out."""

    def __init__(self, server: str) -> None:
        self.server = server  # its key, in event lines
        self.marks: deque[Mark] = deque(maxlen=_HELD_MARKS)
        self.events: deque[EventLine] = deque(maxlen=_HELD_EVENTS)
        self.restarts: deque[tuple[float, Life, Life]] = deque(maxlen=_HELD_RESTARTS)

    def tell(
        self, at: float, severity: Severity, text: str, position: int | None = None, *, is_ours: bool = False
    ) -> None:
        """Add a line to the event list; `position` is the place in the log of what it tells of.

        `is_ours`: the time is by the session's clock and not by the log's.
        """
        self.events.append(EventLine(at, severity, self.server, text, position, is_ours))

    def crashed(self, at: float, text: str, position: int | None = None) -> None:
        """A crash has a line and a mark."""
        self.marks.append(Mark(at, MarkKind.CRASH, text))
        self.tell(at, Severity.ALERT, text, position)

    def explain_crash(self, at: float, detail: str, position: int | None = None) -> None:
        """The exception behind the last crash has come to light."""
        self.tell(at, Severity.ALERT, detail, position)
        last = next((i for i in reversed(range(len(self.marks))) if self.marks[i].kind is MarkKind.CRASH), None)
        if last is not None:
            self.marks[last] = replace(self.marks[last], text=f"crashed: {detail}")

    def restarted(self, at: float | None, before: Life, life: Life) -> None:
        """Another life began; what it changed is worked out when somebody looks."""
        if at is not None:
            self.marks.append(Mark(at, MarkKind.RESTART, "restart"))
            self.restarts.append((at, before, life))

    def withdraw_drifts(self) -> None:
        """The reference that they were told of is no longer the one that counts."""
        self.marks = deque((mark for mark in self.marks if mark.kind is not MarkKind.DRIFT), maxlen=_HELD_MARKS)

    def withdraw_restart(self) -> None:
        """What looked like a restart was a second process of the same server."""
        if self.restarts:
            at, _, _ = self.restarts.pop()
            kept = [mark for mark in self.marks if not (mark.at == at and mark.kind is MarkKind.RESTART)]
            self.marks = deque(kept, maxlen=_HELD_MARKS)
