"""The newest bytes of all logs, in a file of our own that nobody else can open and that is never left behind."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable

SPILL_BYTES = 50 << 20
_AT_ONCE = 256 << 10  # bytes that are gathered before they are written
_IN_MEMORY = 4 << 20  # bytes that stay when there is no file


class Spill:
    """A ring of bytes. Each byte has a number, counted on for good; those that fell out are gone.

    The file has no name: it is unlinked before its first byte, so that also a killed process leaves nothing. Where
    none can be made or grown (a full disk), the newest bytes stay in memory and `fault` says why.
    """

    def __init__(
        self,
        capacity: int = SPILL_BYTES,
        *,
        folder: str | None = None,
        in_memory: int = _IN_MEMORY,
        at_once: int = _AT_ONCE,
    ) -> None:
        if capacity < 1 or in_memory < 1:
            raise ValueError("a ring holds at least one byte")
        self.end = 0  # number of the next byte
        self.fault = ""  # why there is no file
        self._capacity = capacity
        self._folder = folder
        self._in_memory = in_memory
        self._at_once = min(at_once, capacity)
        self._written = 0  # number of the first byte that is not in the file
        self._recent = bytearray()  # the bytes from there on
        self._file: int | None = None
        self._close: Callable[[], object] | None = None

    @property
    def first(self) -> int:
        """Number of the oldest byte that is held."""
        if self._file is None:
            return self._written
        return max(self._written - self._capacity, 0)

    def append(self, data: bytes) -> int:
        """Take bytes in; answer the number of their first."""
        start = self.end
        self._recent += data
        self.end += len(data)
        if len(self._recent) >= self._at_once:
            self._flush()
        return start

    def read(self, start: int, size: int) -> bytes | None:
        """So many bytes from one on; None when some of them are gone."""
        if start < self.first or start + size > self.end:
            return None
        from_file = min(max(self._written - start, 0), size)
        data = self._read_file(start, from_file) if from_file else b""
        if data is None:
            return None
        behind = start + from_file - self._written
        return data + bytes(self._recent[behind : behind + size - from_file])

    def close(self) -> None:
        """Give the room back at once; otherwise it is given back with the object."""
        if self._close is not None:
            self._close()
        self._file = None

    def _flush(self) -> None:
        if not self.fault:
            try:
                self._write()
            except OSError as error:
                self.fault = error.strerror or str(error)
                self.close()
        if self.fault:
            over = max(len(self._recent) - self._in_memory, 0)
            self._written += over
            del self._recent[:over]

    def _write(self) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        # Of more than the ring holds only the end is worth writing.
        skipped = max(len(self._recent) - self._capacity, 0)
        data = memoryview(bytes(self._recent))[skipped:]
        number = self._written + skipped
        while data:
            place = number % self._capacity
            done = os.pwrite(self._file, data[: self._capacity - place], place)
            number += done
            data = data[done:]
        self._written = number
        self._recent.clear()

    def _open(self) -> None:
        with tempfile.TemporaryFile(prefix="specmon-log-", dir=self._folder, buffering=0) as file:
            self._file = os.dup(file.fileno())
        self._close = weakref.finalize(self, os.close, self._file)

    def _read_file(self, start: int, size: int) -> bytes | None:
        if self._file is None:
            return None
        place = start % self._capacity
        head = os.pread(self._file, min(size, self._capacity - place), place)
        data = head if len(head) == size else head + os.pread(self._file, size - len(head), 0)
        return data if len(data) == size else None
