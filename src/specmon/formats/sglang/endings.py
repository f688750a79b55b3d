"""Tells a server that goes down by itself from one that was told to, in the order of the lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from specmon.events import Crashed, Exited, Launched, LogEvent, ProcessStarted, Ready, StopRequested

# A terminal echoes the key at the beginning of a line, and a record may follow behind it.
_KEY = re.compile(rb"[\n\r]\^C")


class Endings:
    """Follows one stream: what has already been said about the end of its server."""

    def __init__(self) -> None:
        self._is_explained = False  # a line has already said why the server goes down

    def explain(self, events: Iterable[LogEvent]) -> list[LogEvent]:
        """The events of a block, in line order, with a signal that only repeats a known end as an exit."""
        return [self._explained(event) for event in events]

    def _explained(self, event: LogEvent) -> LogEvent:
        if isinstance(event, Crashed) and event.detail.startswith("KeyboardInterrupt"):
            event = StopRequested(event.offset, event.at, event.rank, event.process, event.detail)
        if isinstance(event, Crashed) and event.cause == "signal" and self._is_explained:
            # The main process tells again what a child, or the operator, has told before.
            return Exited(event.offset, event.at, event.rank, event.process, event.detail)
        if isinstance(event, Crashed | StopRequested):
            self._is_explained = True
        elif isinstance(event, Launched | ProcessStarted | Ready):
            self._is_explained = False
        return event


def interrupts(text: bytes, start: int) -> list[LogEvent]:
    """Each ^C that was typed; `text` is a block behind a line feed, `start` the offset of the block."""
    if b"^" not in text:  # asking for one byte is far quicker than looking for two
        return []
    return [StopRequested(start + match.start(), detail="^C") for match in _KEY.finditer(text)]
