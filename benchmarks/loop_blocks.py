"""How long the event loop of the live screen is busy in one go: until it is free again, no new line is taken in.

    python benchmarks/loop_blocks.py [SECONDS] [LINES_PER_S]

Two servers write so many lines a second together, in portions of 25 ms, while the screen draws on a pseudo terminal
at its own pace. Each step of the loop is measured in CPU time of the thread, which hardly depends on what else the
machine does. Of all steps it prints how many are longer than 20 ms, the longest by name, and the share of a core.
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
from pathlib import Path

from frame_cost import PAST_LINES, SIZES, Driven
from screen_share import drain
from specmon import ui
from specmon.monitor.snapshot import Snapshot
from specmon.ui.app import SpecmonApp

_PORTION_S = 0.025
_SETTLES_S = 3.0
_BUSY_S = 0.020


class Steps:
    """CPU time of the steps of asyncio's loop, by what they run."""

    def __init__(self) -> None:
        self.found: list[tuple[float, str]] = []

    def watch(self) -> None:
        """Measure every step from now on."""
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            if (took := time.thread_time() - began) > 0.001:
                self.found.append((took, _name(handle)))

        vars(asyncio)["Handle"]._run = timed  # there is no other place at which every step passes


def _name(handle: asyncio.Handle) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return owner.get_name() if isinstance(owner, asyncio.Task) else repr(callback)[:60]


class Busy(SpecmonApp):
    """Draws by itself while two servers write."""

    CSS_PATH = str(Path(ui.__file__).with_name("specmon.tcss"))

    def __init__(self, feed: Driven, seconds: float, lines_per_s: float, told: Path) -> None:
        super().__init__(feed)
        self._driven, self._seconds, self._told = feed, seconds, told
        self._portion = max(1, round(lines_per_s * _PORTION_S / 2))
        self._steps = Steps()
        self._pictures = 0

    def on_mount(self) -> None:
        # Textual calls that of the app as well.
        self.run_worker(self._write(), name="write", group="write")

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        super().watch_snapshot(snapshot)
        self._pictures += 1

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        begun, is_measured, written_until = loop.time(), False, loop.time()
        cpu_s = 0.0
        while (now := loop.time()) < begun + _SETTLES_S + self._seconds:
            if not is_measured and now > begun + _SETTLES_S:
                is_measured, self._pictures, cpu_s = True, 0, time.process_time()
                self._steps.watch()
            while written_until < now:
                self._driven.go_on(self._portion, seconds=_PORTION_S)
                written_until += _PORTION_S
            await asyncio.sleep(max(0.0, written_until - loop.time()))
        share = (time.process_time() - cpu_s) / self._seconds
        self._told.write_text(json.dumps([share, self._pictures / self._seconds, self._steps.found]))
        self.exit()


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    lines_per_s = float(sys.argv[2]) if len(sys.argv) > 2 else 1000.0
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        for columns, rows in SIZES:
            pid, terminal = pty.fork()
            if pid == 0:
                os.environ["TERM"] = "xterm-256color"
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                feed = Driven()
                feed.go_on(PAST_LINES)
                Busy(feed, seconds, lines_per_s, told).run()
                os._exit(0)
            size = drain(terminal, seconds + 30)
            os.waitpid(pid, 0)
            os.close(terminal)
            share, pictures, found = json.loads(told.read_text())
            found.sort(reverse=True)
            ordered = [1000 * took for took, _ in found]
            busy = sum(1 for took in ordered if took > 1000 * _BUSY_S)
            longest = ", ".join(f"{1000 * took:.0f} {name}" for took, name in found[:3])
            rate = size / (seconds + _SETTLES_S) / 1000
            print(
                f"{columns}x{rows}  {share:.0%} of a core  {pictures:.1f} pictures/s  {rate:.1f} kB/s"
                f"  {busy} of {len(ordered)} steps over 20 ms; longest, ms: {longest}",
                flush=True,
            )


if __name__ == "__main__":
    main()
