"""Writes what live sources say into a capture directory, beside whatever else is done with it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping

from specmon.captures.manifest import Life
from specmon.captures.writer import CaptureWriter
from specmon.references.fingerprint import Fingerprint
from specmon.sources.events import Chunk, Gap, Rotated, SourceEvent

FLUSH_S = 1.0


class Recorder:
    """Feeds a capture from the channels of a live feed. A fault ends the capture, never the feed.

    `names`: by channel, what the server is called in the capture. Used within a running event loop.
    """

    def __init__(self, writer: CaptureWriter, names: Mapping[str, str], *, clock: Callable[[], float]) -> None:
        self._writer = writer
        self._names = dict(names)
        self._clock = clock
        self._processes: dict[str, str] = {}  # whose conditions were written last, by channel
        self._flushing: asyncio.TimerHandle | None = None
        self._is_closed = False
        self.fault: str | None = None  # why nothing is written any more: one sentence

    @property
    def size_bytes(self) -> int:
        """Bytes of logs that have been taken."""
        return self._writer.size_bytes

    def feed(self, key: str, event: SourceEvent) -> None:
        """Take what a source says."""
        if self._is_closed or (name := self._names.get(key)) is None:
            return
        try:
            match event:
                case Chunk():
                    self._writer.write(name, event.data, self._clock())
                    self._flush_soon()
                case Rotated():
                    self._writer.interrupt(name, f"the file was {event.reason}; its new content follows", self._clock())
                case Gap():
                    size = "an unknown number of" if event.size_bytes is None else f"{event.size_bytes}"
                    self._writer.interrupt(name, f"{size} bytes are missing here: {event.reason}", self._clock())
        except OSError as error:
            self._give_up(error)

    def attach(self, key: str, fingerprint: Fingerprint, process: str) -> None:
        """Take the conditions of a server process."""
        if self._is_closed or (name := self._names.get(key)) is None:
            return
        facts = {field: getattr(fingerprint, field) for field in Fingerprint.model_fields}
        pid = process.split()[0] if process else ""
        life = Life(pid=int(pid) if pid.isdecimal() else None, started_at=self._clock(), **facts)
        try:
            self._writer.add_life(name, life, replaces_last=self._processes.get(key) == process)
        except OSError as error:
            self._give_up(error)
        self._processes[key] = process

    def look(self, key: str, page: bytes, at: float) -> None:
        """Take a metrics page, when it was looked at on this machine's clock."""
        if self._is_closed or (name := self._names.get(key)) is None:
            return
        try:
            self._writer.write_page(name, page, at)
            self._flush_soon()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """End the capture."""
        if self._is_closed:
            return
        self._end_timer()
        try:
            self._writer.close()
        except OSError as error:
            self.fault = self._sentence(error)
        self._is_closed = True

    def _flush_soon(self) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def _flush(self) -> None:
        self._flushing = None
        try:
            self._writer.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.fault = self._sentence(error)
        self._end_timer()
        self._is_closed = True
        self._writer.close(is_whole=False)

    def _end_timer(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None

    def _sentence(self, error: OSError) -> str:
        reason = (error.strerror or str(error)).lower()
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        mend = "Make room" if is_full else "Mend that"
        return (
            f"capture {self._writer.folder}: writing has stopped: {reason}. What was written before can be read. "
            f"{mend}, and begin another capture in a new folder."
        )
