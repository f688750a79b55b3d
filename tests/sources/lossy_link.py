"""A network link between two network namespaces that delays and loses packets.

Not every kernel has netem, so the packets go through here: two TUN devices, one of them in a namespace of its own, and
a thread that carries each packet over, later, or not at all. TCP above it is the kernel's.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

NEAR, FAR = "10.213.77.1", "10.213.77.2"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000

_FORWARDER = """
import socket, sys, threading
def carry(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(near):
    try:
        far = socket.create_connection((sys.argv[2], int(sys.argv[3])), timeout=10)
        far.settimeout(None)
    except OSError:
        near.close()
        return
    threading.Thread(target=carry, args=(near, far), daemon=True).start()
    carry(far, near)
listener = socket.create_server((sys.argv[1], 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class LossyLink:
    """The link, and what it has done."""

    def __init__(self, namespace: str, ends: tuple[int, int], *, delay_s: float, loss: float, seed: int = 7) -> None:
        self._namespace = namespace
        self._ends = ends
        self._delay_s = delay_s
        self._loss = loss
        self._chance = random.Random(seed)
        self._stop = os.pipe()
        self.is_cut = False
        self.carried = 0
        self.lost = 0
        self._thread = threading.Thread(target=self._carry, name="lossy link")

    @contextmanager
    def running(self) -> Iterator[LossyLink]:
        self._thread.start()
        try:
            yield self
        finally:
            os.write(self._stop[1], b"x")
            self._thread.join()
            for number in (*self._stop, *self._ends):
                os.close(number)

    def _carry(self) -> None:
        near, far = self._ends
        waiting: list[tuple[float, int, int, bytes]] = []
        count = 0
        while True:
            pause_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            ready, _, _ = select.select([near, far, self._stop[0]], [], [], pause_s)
            if self._stop[0] in ready:
                return
            for end in ready:
                packet = os.read(end, 65536)
                if self.is_cut or self._chance.random() < self._loss:
                    self.lost += 1
                    continue
                count += 1
                due = time.monotonic() + self._delay_s * (0.75 + 0.5 * self._chance.random())
                heapq.heappush(waiting, (due, count, far if end == near else near, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                with suppress(OSError):  # a packet for nobody
                    os.write(waiting[0][2], waiting[0][3])
                self.carried += 1
                heapq.heappop(waiting)

    @contextmanager
    def forwarding(self, port: int) -> Iterator[int]:
        """A port on the far end that leads back over the link to one of the near end."""
        command = ["ip", "netns", "exec", self._namespace, sys.executable, "-c", _FORWARDER, FAR, NEAR, str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                yield int(process.stdout.readline())
            finally:
                process.kill()


@contextmanager
def lossy_link(*, delay_s: float, loss: float) -> Iterator[LossyLink]:
    """A link to a namespace of its own; skipped where none can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None or not Path("/dev/net/tun").exists():
        pytest.skip("a link of its own needs root, `ip` (iproute2) and /dev/net/tun")
    with suppress(OSError), socket.create_server((NEAR, 0)):
        pytest.skip(f"{NEAR} is in use here")
    word = f"smt{os.getpid() % 100000}"
    try:
        _ip("netns", "add", word)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr}")
    ends = [_device(f"{word}a"), _device(f"{word}b")]
    try:
        _ip("link", "set", f"{word}b", "netns", word)
        _ip("addr", "add", f"{NEAR}/30", "dev", f"{word}a")
        _ip("link", "set", f"{word}a", "up")
        _ip("-n", word, "addr", "add", f"{FAR}/30", "dev", f"{word}b")
        _ip("-n", word, "link", "set", f"{word}b", "up")
        with LossyLink(word, (ends[0], ends[1]), delay_s=delay_s, loss=loss).running() as link:
            yield link
    finally:
        _ip("netns", "del", word)


def _device(name: str) -> int:
    number = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(number, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return number


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)
