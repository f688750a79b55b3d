"""Tells the traceback that ends the server from those that it survives.

An exception of a child process has a record of its own (SGLang: `Scheduler hit an exception: Traceback …`); of the
lines behind it only the last is read, which says what went wrong. A bare traceback ends the server when it comes out
of the main module (its first frame says so) and has the engine's own frames; one of a web request begins in uvicorn,
and the server lives on.
"""

from __future__ import annotations

import re

from specmon.events import Crashed, CrashExplained

_HEAD = b"Traceback (most recent call last):"
_MAIN = (b"<frozen runpy>", b", in <module>", b'runpy.py"')
_EXCEPTION = re.compile(rb"\s*[A-Za-z_][\w.]{0,100}(?:Error|Exception|Exit|Interrupt|Timeout)(?::|\s*$)")
_LONGEST_DETAIL = 300  # characters


class TracebackReader:
    """Reads the lines of tracebacks one by one, in the order of the stream."""

    def __init__(self, package: bytes) -> None:
        self._package = package  # in the paths of the engine's own frames
        self.is_open = False
        self._next = -1  # offset at which the traceback would go on
        self._frames = 0
        self._is_main = False
        self._is_ours = False
        self._explains = False  # the traceback belongs to a crash that is known already
        self._announced: set[int] = set()  # offsets at which the tracebacks of crash records go on

    def announce(self, offset: int) -> None:
        """A crash record, somewhere in the block at hand, has opened a traceback that goes on at `offset`."""
        self._announced.add(offset)

    @property
    def is_waiting(self) -> bool:
        """Whether any line to come may belong to a traceback."""
        return self.is_open or bool(self._announced)

    def wants(self, offset: int) -> bool:
        """Whether the line at an offset belongs to a traceback, or may."""
        return self.is_open or offset in self._announced

    def end_block(self, offset: int) -> None:
        """Lines before `offset` have passed: what was announced there was no traceback."""
        self._announced = {each for each in self._announced if each >= offset}

    def read(self, line: bytes, offset: int, end: int) -> Crashed | CrashExplained | None:
        """Take a line of the stream; answer the exception, when it ends the server or explains its end."""
        if self.is_open and offset != self._next:
            self.is_open = False  # a record of some logger came between
        if offset in self._announced:
            self.is_open, self._explains = True, True
        if line.startswith(_HEAD):
            self.is_open, self._next = True, end
            self._frames, self._is_main, self._is_ours, self._explains = 0, False, False, False
            return None
        if not self.is_open:
            return None
        self._next = end
        if self._explains:
            # Wrappers may have taken the indentation off, so frames are told by what they are not.
            if _EXCEPTION.match(line) is None:
                return None
            self.is_open = False
            return CrashExplained(offset, detail=_text(line))
        if line.startswith(b" ") or not line.strip():
            if line.startswith(b"  File "):
                self._frames += 1
                self._is_main = self._is_main or (self._frames == 1 and any(sign in line for sign in _MAIN))
                self._is_ours = self._is_ours or self._package in line
            return None
        self.is_open = False
        return Crashed(offset, cause="exception", detail=_text(line)) if self._is_main and self._is_ours else None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL]
