"""Cuts a stream of bytes into blocks of whole lines without ever moving a byte from its offset.

What is put right here is put right in place: a blank stands for the carriage return of a CRLF and for a
NUL inside a line, so that an offset in a block is an offset in the file. A lone carriage return stays as it
is: it separates the states of a progress bar and ends no line.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE = 1 << 20  # bytes with the line feed; longer ones are bars or binary noise, never statistics

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Framed:
    """One contiguous block of whole lines.

    `skipped` counts the bytes of over-long lines that this block leaves out or blanks. Only `finish` gives
    a block whose last line has no line feed: that line is still pending, and counts as no line.
    """

    data: bytes
    offset: int  # of the first byte of `data` in the stream
    skipped: int = 0

    @property
    def line_ends(self) -> int:
        """How many lines end in this block."""
        return self.data.count(b"\n")


class LineFramer:
    """Turns chunks, cut anywhere, into blocks of whole lines. Time is linear, also for single bytes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        if max_line < 2:
            raise ValueError("max_line must hold one byte and its line feed")
        self._max_line = max_line
        self._pending = bytearray()
        self._start = 0  # offset of the first pending byte
        self._is_skipping = False  # inside the rest of a line that was cut
        self._skipped = 0  # bytes left out since the last block

    @property
    def pending_bytes(self) -> int:
        """Size of the line that has begun and not ended."""
        return len(self._pending)

    def feed(self, data: bytes, offset: int) -> Framed | None:
        """Take bytes that begin at `offset`; answer the lines that they complete, or None.

        `offset` must be where the last chunk ended. After a gap or a rotation call `reset` first.
        """
        if self._is_skipping:
            end = data.find(b"\n")
            if end < 0:
                self._skipped += len(data)
                return None
            # The cut head has been given out with a line feed of its own, which stands for this one.
            self._skipped += end
            data = data[end + 1 :]
            offset += end + 1
            self._is_skipping = False
        last = data.rfind(b"\n")
        if last < 0:
            self._hold(data, offset)
            return self._cut_pending(b"")
        start = self._start if self._pending else offset
        # One copy of what may be megabytes.
        block = b"".join((self._pending, memoryview(data)[: last + 1])) if self._pending else data[: last + 1]
        self._pending.clear()
        self._hold(data[last + 1 :], offset + last + 1)
        return self._cut_pending(block, start)

    def finish(self) -> Framed | None:
        """Give out the last line, which has no line feed, and forget it."""
        data, start, skipped = bytes(self._pending), self._start, self._skipped
        self.reset()
        return self._framed(data, start, skipped) if data or skipped else None

    def reset(self) -> None:
        """Forget a half-received line: what comes next does not continue it."""
        self._pending.clear()
        self._is_skipping = False
        self._skipped = 0

    def _hold(self, data: bytes, offset: int) -> None:
        """Keep the beginning of a line. The NULs of a hole in front of it belong to no line."""
        if not self._pending:
            self._start = offset
            if data.startswith(b"\0"):
                data, whole = data.lstrip(b"\0"), len(data)
                self._start += whole - len(data)
        self._pending += data

    def _cut_pending(self, block: bytes, start: int = 0) -> Framed | None:
        """Add the head of a pending line that has grown too long to the block; skip the rest of it."""
        if self._start == 0 and self._pending.startswith(_BOM):
            del self._pending[: len(_BOM)]
            self._start = len(_BOM)
        if not block:
            start = self._start
        if len(self._pending) >= self._max_line:
            kept = self._max_line - 1
            gap = self._start - start - len(block)  # the NULs of a hole between the lines and the head
            if gap > self._max_line and block:
                # Too wide to be filled up. The lines go first; the head waits for the next chunk.
                return self._framed(block, start, self._take_skipped())
            self._skipped += len(self._pending) - kept
            block += b"\0" * gap + self._pending[:kept] + b"\n"
            self._pending.clear()
            self._is_skipping = True
        return self._framed(block, start, self._take_skipped()) if block else None

    def _take_skipped(self) -> int:
        skipped, self._skipped = self._skipped, 0
        return skipped

    def _framed(self, block: bytes, start: int, skipped: int) -> Framed:
        if block.startswith(b"\0"):  # a hole that stands between two blocks belongs to no line
            text = block.lstrip(b"\0")
            block, start = text, start + len(block) - len(text)
        if start == 0 and block.startswith(_BOM):
            block, start = block[len(_BOM) :], len(_BOM)
        if len(block) > self._max_line:
            block, blanked = _blank_long_lines(block, self._max_line)
            skipped += blanked
        if b"\r" in block:  # asking for one byte is far quicker than looking for two
            block = block.replace(b"\r\n", b" \n")
        return Framed(block.replace(b"\0", b" "), start, skipped)


def _blank_long_lines(block: bytes, max_line: int) -> tuple[bytes, int]:
    """Put blanks over what exceeds `max_line` in the lines of a block; also say how many."""
    pieces: list[bytes] = []
    done = position = blanked = 0
    while len(block) - position > max_line:
        # Hop from line end to line end in steps of nearly max_line, so that short lines cost nothing.
        end = block.rfind(b"\n", position, position + max_line)
        if end >= 0:
            position = end + 1
            continue
        text = position
        if block.startswith(b"\0", text):
            while block.startswith(b"\0", text):
                text += 1
        end = block.find(b"\n", position)
        if end < 0:
            end = len(block)
        kept = text + max_line - 1
        if end > kept:
            pieces += [block[done:kept], b" " * (end - kept)]
            blanked += end - kept
            done = end
        position = end + 1
    return (b"".join([*pieces, block[done:]]) if pieces else block), blanked
