"""Memory and frame cost of a session of a day, at its start, in its middle and at its end.

    python benchmarks/day.py [HOURS] [LINES_A_SECOND]

Two servers write two decode lines a second each (and twice as many others); their clock is simulated. The lines go
through the session of `connect`, and the real screen, without a terminal, draws a frame after each two simulated
minutes. Of eight stretches it prints the resident memory and the CPU time of a frame (its picture and its drawing, in
which one sample a server is new): as the charts stand by themselves, and with all of the session in them. CPU time, so
that other work on the machine matters little.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from itertools import islice
from statistics import median

import logs
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.events import CaughtUp, Chunk, Connected
from specmon.ui.app import SpecmonApp
from specmon.ui.timeview import FOLLOWS, WHOLE, TimeView
from week import Clock, Told, resident_mb

_STRETCHES = 8
_A_FRAME_S = 120.0
_LINES_A_ROUND = 3  # one of them a decode line


class Writer:
    """One server's log."""

    def __init__(self, session: Session, key: str, role: Role, lines: Iterator[str]) -> None:
        self._session, self._key, self._lines, self._end = session, key, lines, 0
        session.add(key, f"gpu01:/var/log/{role.value}.log", role=role)
        session.feed(key, Connected(0.0, 0, 0))
        session.feed(key, CaughtUp(0.0))

    def write(self, rounds: int, now: float) -> None:
        """Hand on the lines of so many decode lines."""
        data = "".join(f"{line}\n" for line in islice(self._lines, rounds * _LINES_A_ROUND)).encode()
        self._session.feed(self._key, Chunk(now, self._end, data))
        self._end += len(data)


async def run(hours: float, lines_a_second: float) -> None:
    session, clock = Session(), Clock()
    step_s = 1 / lines_a_second
    writers = [
        Writer(session, key, role, logs.lines(seed, accept_len=accept, seconds_a_line=step_s))
        for key, role, seed, accept in (("1", Role.BASELINE, 1, None), ("2", Role.SPECULATIVE, 2, 2.4))
    ]
    feed = Told(session, [], clock=clock)
    app = SpecmonApp(feed, interval_s=1e6)  # a frame is drawn when we say so
    views: dict[str, TimeView] = {"by themselves": FOLLOWS, "all": TimeView(span_s=WHOLE)}
    costs: dict[str, list[float]] = {name: [] for name in views}
    frames = int(hours * 3600 / _A_FRAME_S)
    heads = "".join(f"{f'frame, {name}: ms':>26}{'p95':>8}" for name in views)
    print(f"{'hour':>6}{'RSS MB':>9}{heads}")
    async with app.run_test(size=(160, 48)) as pilot:
        for number in range(1, frames + 1):
            for writer in writers:
                writer.write(int(_A_FRAME_S / step_s) - len(views), clock.now)
            clock.now = number * _A_FRAME_S
            for name, view in views.items():
                app.time_view = view
                app.snapshot = feed.snapshot()
                await pilot.pause()
                for writer in writers:
                    writer.write(1, clock.now)
                begun = time.process_time()
                app.snapshot = feed.snapshot()
                await pilot.pause()
                costs[name].append(1000 * (time.process_time() - begun))
            if number % max(1, frames // _STRETCHES) == 0:
                told = ""
                for taken in costs.values():
                    told += f"{median(taken):26.1f}{sorted(taken)[int(len(taken) * 0.95)]:8.1f}"
                    taken.clear()
                print(f"{clock.now / 3600:6.1f}{resident_mb():9.1f}{told}", flush=True)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    given = [float(word) for word in sys.argv[1:]]
    asyncio.run(run(*(given + [24.0, 2.0][len(given) :])))


if __name__ == "__main__":
    main()
