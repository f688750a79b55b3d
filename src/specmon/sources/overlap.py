"""Two cuts in a stream of bytes: a backfill begins at a line's border, and a truncated file is not told twice."""

from __future__ import annotations

from specmon.sources.cursor import ReadFrom, Tick
from specmon.sources.events import Rotated

_BORDER_LIMIT_BYTES = 1024 * 1024  # a line longer than this is not waited for
_KEPT_BYTES = 4 * 1024 * 1024
_LEAST_MATCH_BYTES = 8  # shorter than this, two texts agree by chance


class BorderCut:
    """Drops the rest of a line that began before the backfill.

    It is fed from one byte before the backfill on: that byte tells whether the line before ended exactly there.
    """

    def __init__(self) -> None:
        self._dropped = 0
        self._is_done = False

    def cut(self, data: bytes) -> bytes:
        """The part of `data` that belongs to whole lines."""
        if self._is_done:
            return data
        end = data.find(b"\n") + 1
        self._is_done = end > 0 or self._dropped + len(data) > _BORDER_LIMIT_BYTES
        self._dropped += end or len(data)
        return data[end:] if end else b""


class Overlap:
    """Finds what a `tail -f` has already delivered of a file's new life.

    When a file is truncated, `tail -f` goes on with its new beginning in the same stream, and the look that shows the
    truncation comes later. So the last bytes are kept, and where the new file's beginning equals their end, it is not
    handed out again. It is cut at a line border: a line that was only half delivered comes again as a whole, since a
    reader of lines drops its half line at a rotation.
    """

    def __init__(self) -> None:
        self._before_tick = self._since_tick = b""
        self._suspect = self._pending = b""

    def open_file(self, plan: ReadFrom) -> None:
        """Note that reading starts anew."""
        is_truncated = any(isinstance(event, Rotated) and event.reason == "truncated" for event in plan.announce)
        self._suspect = self._before_tick + self._since_tick if is_truncated and plan.file.size else b""
        self._before_tick = self._since_tick = self._pending = b""

    def tick(self, tick: Tick) -> None:
        """Note a look: what came before the last one was written before any truncation that a look will show."""
        self._before_tick, self._since_tick = self._since_tick, b""

    def new_part(self, data: bytes, *, is_last: bool) -> bytes:
        """The part of `data` that was not delivered before; `is_last`: the file had no more when it was opened."""
        if self._suspect:
            self._pending += data
            if len(self._pending) < len(self._suspect) and not is_last:
                return b""
            told = told_again(self._suspect, self._pending)
            data, self._suspect, self._pending = self._pending[told:], b"", b""
        self._since_tick = (self._since_tick + data)[-_KEPT_BYTES:]
        return data


def told_again(delivered: bytes, beginning: bytes) -> int:
    """How many bytes of `beginning`, in whole lines, are the last ones of `delivered`."""
    probe = beginning[:_LEAST_MATCH_BYTES]
    if len(probe) < _LEAST_MATCH_BYTES:
        return 0
    place = delivered.find(probe)
    while place >= 0:
        rest = delivered[place:]
        if beginning.startswith(rest):
            return beginning.rfind(b"\n", 0, len(rest)) + 1
        place = delivered.find(probe, place + 1)
    return 0
