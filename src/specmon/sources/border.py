"""A backfill begins at a line's border."""

from __future__ import annotations

_BORDER_LIMIT_BYTES = 1024 * 1024  # a line longer than this is not waited for


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
