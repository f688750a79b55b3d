"""CPU time of one frame of the live screen on a terminal: taking the picture, handing it down, drawing and writing it.

    python benchmarks/frame_cost.py [FRAMES]

Two servers write a decode line, an access line and one more between two frames, half a second of their clock. The
screen draws on a pseudo terminal whose output is thrown away; frames follow each other as fast as they can, so that
the figures are CPU time and hardly depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import logs
from screen_share import drain
from specmon import ui
from specmon.feeds.live import LiveFeed
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Snapshot
from specmon.sources.events import CaughtUp, Chunk, Connected
from specmon.ui.app import SpecmonApp

SIZES = ((80, 24), (120, 40), (200, 60))
PAST_LINES = 1800  # of each server: ten minutes
_FRAME_S = 0.5
_MOST_S = 120.0


class Driven(LiveFeed):
    """A live feed whose session and clock are moved by us; it counts the CPU time of its pictures."""

    def __init__(self) -> None:
        self.now = 0.0
        self.picture_s = 0.0
        self.read_s = 0.0
        self._ends: dict[str, int] = {}
        self._logs: dict[str, Iterator[str]] = {}
        session = Session()
        super().__init__(session, [], clock=lambda: self.now)
        for key, role, accept_len in (("1", Role.BASELINE, None), ("2", Role.SPECULATIVE, 2.1)):
            session.add(key, f"gpu01:/var/log/{role.value}.log", role=role)
            session.feed(key, Connected(0.0, 0, 0))
            session.feed(key, CaughtUp(0.0))
            self._logs[key], self._ends[key] = logs.lines(int(key), accept_len=accept_len), 0

    async def run(self) -> None:
        await asyncio.Event().wait()

    def go_on(self, lines: int, seconds: float = _FRAME_S) -> None:
        """Both servers write so many lines."""
        for key, endless in self._logs.items():
            data = "".join(f"{line}\n" for line in islice(endless, lines)).encode()
            began = time.process_time()
            self.session.feed(key, Chunk(self.now, self._ends[key], data))
            self.read_s += time.process_time() - began
            self._ends[key] += len(data)
        self.now += seconds

    def snapshot(self) -> Snapshot:
        began = time.process_time()
        picture = super().snapshot()
        self.picture_s += time.process_time() - began
        return picture


class Measured(SpecmonApp):
    """Draws frame after frame, and tells what they cost."""

    CSS_PATH = str(Path(ui.__file__).with_name("specmon.tcss"))

    def __init__(self, feed: Driven, frames: int, told: Path) -> None:
        super().__init__(feed, interval_s=1e6)
        self._driven, self._frames, self._told = feed, frames, told

    def on_mount(self) -> None:
        # Textual calls that of the app as well.
        self.run_worker(self._draw(), name="draw", group="draw")

    async def _draw(self) -> None:
        for _ in range(20):  # sizes and styles settle, caches fill
            await self._one()
        self._driven.picture_s = self._driven.read_s = 0.0
        tick_s = drawing_s = 0.0
        for _ in range(self._frames):
            handed_s, drawn_s = await self._one()
            tick_s, drawing_s = tick_s + handed_s, drawing_s + drawn_s
        picture = self._driven.picture_s
        parts = self._driven.read_s, picture, tick_s - picture, drawing_s
        self._told.write_text(json.dumps([each / self._frames for each in parts]))
        self.exit()

    async def _one(self) -> tuple[float, float]:
        self._driven.go_on(3)
        began = time.process_time()
        self._tick()
        handed = time.process_time()
        is_drawn = asyncio.Event()
        self.call_after_refresh(is_drawn.set)
        await is_drawn.wait()
        return handed - began, time.process_time() - handed


def measure(columns: int, rows: int, frames: int, told: Path) -> tuple[list[float], float]:
    """CPU ms a frame of reading, of taking the picture, of handing it down, of drawing it; bytes a frame."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        feed = Driven()
        feed.go_on(PAST_LINES)
        Measured(feed, frames, told).run()
        os._exit(0)
    size = drain(terminal, _MOST_S)
    os.waitpid(pid, 0)
    os.close(terminal)
    return [1000 * each for each in json.loads(told.read_text())], size / (frames + 20)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{'':9}{'CPU ms a frame':>16}{'reading':>9}{'picture':>9}{'handing':>9}{'drawing':>9}{'bytes':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for columns, rows in SIZES:
            parts, size = measure(columns, rows, frames, Path(folder) / "told")
            shown = "".join(f"{each:9.1f}" for each in parts)
            print(f"{columns:4}x{rows:<4}{sum(parts):16.1f}{shown}{size:8.0f}", flush=True)


if __name__ == "__main__":
    main()
