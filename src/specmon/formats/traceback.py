"""Tells the traceback that ends the server from those that it survives.

An exception of a child process has a record of its own (SGLang: `Scheduler hit an exception: Traceback …`)
and is not looked at here. A bare traceback ends the server when it comes out of the main module (its first
frame says so) and has the engine's own frames; one of a web request begins in uvicorn, and the server lives on.
"""

from __future__ import annotations

from specmon.events import Crashed

_HEAD = b"Traceback (most recent call last):"
_MAIN = (b"<frozen runpy>", b", in <module>", b'runpy.py"')
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

    def read(self, line: bytes, offset: int, end: int) -> Crashed | None:
        """Take a line of the stream; answer a crash when it is the exception that ends the server."""
        if self.is_open and offset != self._next:
            self.is_open = False  # a record of some logger came between
        if line.startswith(_HEAD):
            self.is_open, self._next = True, end
            self._frames, self._is_main, self._is_ours = 0, False, False
            return None
        if not self.is_open:
            return None
        self._next = end
        if line.startswith(b" ") or not line.strip():
            if line.startswith(b"  File "):
                self._frames += 1
                self._is_main = self._is_main or (self._frames == 1 and any(sign in line for sign in _MAIN))
                self._is_ours = self._is_ours or self._package in line
            return None
        self.is_open = False
        if not (self._is_main and self._is_ours):
            return None
        return Crashed(offset, cause="exception", detail=line.decode("utf-8", "replace").strip()[:_LONGEST_DETAIL])
