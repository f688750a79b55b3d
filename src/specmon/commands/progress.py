"""One line on the terminal for work that takes a while; nothing where stderr is no terminal."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TextIO

from specmon.visible import visible

_QUIET_S = 0.3  # nobody needs to read what is over before
_EVERY_S = 0.2
_CLEAR = "\r\x1b[K"


class Progress:
    """How far a piece of work is."""

    def __init__(self, what: str, *, total: int | None, stream: TextIO | None, clock: Callable[[], float]) -> None:
        self._what = visible(what)
        self._total = total
        self._stream = stream  # None: nobody looks
        self._clock = clock
        self._done = 0
        self._next = clock() + _QUIET_S
        self._is_shown = False

    def advance(self, size: int) -> None:
        """So many bytes more are done."""
        self._done += size
        if self._stream is not None and (now := self._clock()) >= self._next:
            self._next = now + _EVERY_S
            self._is_shown = True
            line = progress_line(self._what, self._done, self._total, get_terminal_size().columns - 1)
            self._write(f"{_CLEAR}{line}")

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._is_shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        assert self._stream is not None
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal has gone; the result may have another place to go to
            self._stream = None


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress]:
    """Show how far `what` is, in bytes of `total` when that is known; the line is gone afterwards, whatever happens."""
    shown = Progress(what, total=total, stream=sys.stderr if _is_seen() else None, clock=time.monotonic)
    try:
        yield shown
    finally:
        shown.end()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what an `async` body waits for, once that takes long; the line is gone afterwards."""
    shown: list[bool] = []

    def show() -> None:
        shown.append(True)
        sys.stderr.write(f"{_CLEAR}{visible(what)} (Ctrl+C ends it)")
        sys.stderr.flush()

    timer = asyncio.get_running_loop().call_later(_QUIET_S, show) if _is_seen() else None
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        if shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def _is_seen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def progress_line(what: str, done: int, total: int | None, width: int) -> str:
    """`reading base.log: 34 % of 300 MB (Ctrl+C ends it)`, the name cut to fit a width."""
    if total:
        tail = f": {min(100, 100 * done // total)} % of {_size(total)} (Ctrl+C ends it)"
    else:
        tail = f": {_size(done)} (Ctrl+C ends it)"
    room = width - len(tail)
    if len(what) > room:  # a path tells most at its end
        what = f"{what[:8]}...{what[max(8, len(what) - room + 11) :]}"
    return what + tail


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
