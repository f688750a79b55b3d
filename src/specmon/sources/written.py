"""Tells when a file of this machine is written, so that nobody has to look all the time: Linux' inotify(7).

It is a hint and no more: a network file system tells nothing of what other machines write. Whoever waits looks for
himself from time to time.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import struct
import sys
from functools import cache
from typing import ClassVar
from weakref import WeakKeyDictionary

_MODIFY, _OVERFLOW = 0x2, 0x4000  # <sys/inotify.h>
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name; a file that is watched itself has no name
_READ_BYTES = 1 << 16


@cache
def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _called(name: str, *arguments: int | bytes) -> int:
    libc = _libc()
    found = -1 if libc is None else int(getattr(libc, name)(*arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), name)
    return found


class Watch:
    """One open file. After `forget`, `wait` returns as soon as it is written, or when the time is over."""

    def __init__(self, kernel: _Kernel | None, number: int) -> None:
        self._kernel = kernel
        self._number = number
        self._waiter: asyncio.Future[None] | None = None
        self.is_written = False  # since `forget`

    @classmethod
    def of(cls, descriptor: int) -> Watch:
        """Of a file that this process has open; where nothing can tell, a watch that always waits its time."""
        kernel = None
        with contextlib.suppress(OSError):  # no inotify here, or no instance or watch left for this user
            kernel = _Kernel.of_this_loop()
            return kernel.add(descriptor)
        if kernel is not None:
            kernel.close_unless_used()
        return cls(None, -1)

    def forget(self) -> None:
        """What was written up to now has been seen."""
        self.is_written = False

    async def wait(self, seconds: float) -> None:
        """Until the file is written, at most so long."""
        if self.is_written:
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        over = loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            over.cancel()
            self._waiter = None

    def tell(self) -> None:
        """The file is written."""
        self.is_written = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Nothing is told any more."""
        if self._kernel is not None:
            self._kernel.drop(self, self._number)
            self._kernel = None


class _Kernel:
    """The one inotify instance of an event loop (a user may have 128), as long as there are watches."""

    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, _Kernel]] = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watches: dict[int, list[Watch]] = {}  # by the kernel's number: one inode has one
        self._descriptor = _called("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        loop.add_reader(self._descriptor, self._read)

    @classmethod
    def of_this_loop(cls) -> _Kernel:
        """Raises OSError where there is none."""
        loop = asyncio.get_running_loop()
        if (known := cls._of_loops.get(loop)) is None:
            known = cls._of_loops[loop] = cls(loop)
        return known

    def add(self, descriptor: int) -> Watch:
        """Watch a file. Raises OSError when the kernel does not."""
        # By way of its descriptor: the name may mean another file by now.
        path = f"/proc/self/fd/{descriptor}".encode()
        number = _called("inotify_add_watch", self._descriptor, path, _MODIFY)
        watch = Watch(self, number)
        self._watches.setdefault(number, []).append(watch)
        return watch

    def drop(self, watch: Watch, number: int) -> None:
        """Forget a watch, and with the last one the instance."""
        left = self._watches.get(number, [])
        left.remove(watch)
        if not left:
            del self._watches[number]
            with contextlib.suppress(OSError):  # of a file that is gone the kernel has forgotten it already
                _called("inotify_rm_watch", self._descriptor, number)
        self.close_unless_used()

    def close_unless_used(self) -> None:
        """Without watches there is no instance."""
        if not self._watches and self._descriptor >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._of_loops.pop(self._loop, None)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        place = 0
        told: set[int] = set()
        while place < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, place)
            place += _EVENT.size + length
            told.update(self._watches if mask & _OVERFLOW else (number,))
        for number in told:
            for watch in self._watches.get(number, ()):
                watch.tell()
