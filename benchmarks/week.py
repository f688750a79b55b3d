"""Memory and frame times while ten million lines go through the live path and onto the screen.

    python benchmarks/week.py [LINES] [LINES_A_FRAME]

Two servers, a baseline and a speculative one, write ten million lines in a week; their clock is simulated, so that it
takes minutes. The lines go through the session of `connect` in portions of 100, and the real screen, without a
terminal, draws what has come every LINES_A_FRAME lines. Of ten stretches it prints the time on the servers' clock, the
resident memory, the objects that the garbage collector knows, and the time of a picture with its drawing.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

import logs
from specmon.feeds.live import LiveFeed
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.events import CaughtUp, Chunk, Connected
from specmon.ui.app import SpecmonApp

PORTION = 100  # lines of one chunk
STRETCHES = 10
_SECONDS_A_ROUND = 0.363  # of three lines on each server: ten million lines in a week


class Clock:
    """The time of the servers."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Told(LiveFeed):
    """A live feed whose session is fed by us."""

    async def run(self) -> None:
        await asyncio.Event().wait()


def chunks(seed: int, accept_len: float | None) -> Iterator[bytes]:
    """Endless portions of one server's lines."""
    endless = logs.lines(seed, accept_len=accept_len, seconds_a_line=_SECONDS_A_ROUND)
    while True:
        yield "".join(f"{line}\n" for line in islice(endless, PORTION)).encode()


def resident_mb() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def run(lines: int, lines_a_frame: int) -> None:
    session, clock = Session(), Clock()
    servers = [("1", Role.BASELINE, chunks(1, None)), ("2", Role.SPECULATIVE, chunks(2, 2.4))]
    ends = {key: 0 for key, _, _ in servers}
    for key, role, _ in servers:
        session.add(key, f"gpu01:/var/log/{role.value}.log", role=role)
        session.feed(key, Connected(0.0, 0, 0))
        session.feed(key, CaughtUp(0.0))
    feed = Told(session, [], clock=clock)
    app = SpecmonApp(feed, interval_s=1e6)  # a frame is drawn when we say so
    done, next_frame, next_row = 0, lines_a_frame, 0
    frames: list[float] = []
    print(f"{'lines':>12}{'day':>6}{'RSS MB':>9}{'objects':>10}{'frame ms: median':>18}{'p99':>8}")
    async with app.run_test(size=(160, 48)) as pilot:
        while done <= lines:
            if done >= next_row:
                await pilot.pause()
                objects = len(gc.get_objects())
                ordered = sorted(frames) or [0.0]
                print(
                    f"{done:12,}{clock.now / 86400:6.1f}{resident_mb():9.1f}{objects:10,}{median(ordered):18.1f}"
                    f"{ordered[int(len(ordered) * 0.99)]:8.1f}",
                    flush=True,
                )
                frames.clear()
                next_row += lines // STRETCHES
            for key, _, portions in servers:
                data = next(portions)
                session.feed(key, Chunk(clock.now, ends[key], data))
                ends[key] += len(data)
            done += PORTION * len(servers)
            clock.now += PORTION / 3 * _SECONDS_A_ROUND
            if done >= next_frame:
                next_frame += lines_a_frame
                begun = time.perf_counter()
                app.snapshot = feed.snapshot()
                await pilot.pause()
                frames.append(1000 * (time.perf_counter() - begun))


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    asyncio.run(run(lines, int(sys.argv[2]) if len(sys.argv) > 2 else max(2_000, lines // 2_000)))


if __name__ == "__main__":
    main()
