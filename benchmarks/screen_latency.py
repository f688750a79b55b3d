"""How long a line takes from the far side to the sample in the monitor and to the screen, against `ssh HOST tail -F`.

    python benchmarks/screen_latency.py [SECONDS]

Both run at the same time against an sshd of our own on the loopback, on the same log: `connect`'s feed with the real
screen (160x48, without a terminal) in this process, and the program `ssh`. A writer of its own writes decode lines:
1,000 a second, and single ones after 0.7 s of quiet. Delays are from the writing of a line; of the screen, to the end
of the drawing of the first picture that holds it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import RenderableType
from textual.screen import Screen

from specmon import ui
from specmon.commands.places import Hosts, SshOptions
from specmon.feeds.live import Channel, LiveFeed
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Snapshot
from specmon.sources.address import parse_host
from specmon.sources.events import CaughtUp, SourceEvent
from specmon.sources.remote_file import RemoteFile
from specmon.ui.app import SpecmonApp
from tail_latency import Loopback, loopback

_START = datetime(2026, 2, 26, 16, 40, tzinfo=UTC)


class Timed(LiveFeed):
    """Notes when the number of samples grew, and which number each picture holds."""

    arrivals: list[tuple[int, float]]
    has_begun: asyncio.Event

    def take(self, key: str, event: SourceEvent) -> None:
        super().take(key, event)
        self.arrivals.append((self.session.server(key).samples, time.time()))
        if isinstance(event, CaughtUp):
            self.has_begun.set()


class TimedApp(SpecmonApp):
    """Notes when a picture has been drawn, and when it was taken."""

    CSS_PATH = str(Path(ui.__file__).with_name("specmon.tcss"))
    drawn: list[tuple[int, float]]
    taken: list[float]
    waiting: list[int]  # samples in pictures that are not drawn yet

    def watch_snapshot(self, snapshot: Snapshot) -> None:
        super().watch_snapshot(snapshot)
        views = [view for view in (snapshot.baseline, snapshot.speculative, *snapshot.others) if view is not None]
        samples = sum(view.samples for view in views)
        self.taken.append(time.time())
        self.waiting.append(samples)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        # Of a picture that is handed down bit by bit no frame is drawn before all of it is there.
        self.drawn += [(samples, time.time()) for samples in self.waiting]
        self.waiting.clear()


def line(number: int) -> bytes:
    """A decode line; the clock of the log goes on by a second."""
    stamp = (_START + timedelta(seconds=number)).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"[{stamp} TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, cuda graph: True, "
        f"gen throughput (token/s): {88 + number % 50 / 25:.2f}, #queue-req: 0\n"
    ).encode()


def write(log: str, told: str, seconds: float, every_s: float, first: int) -> None:
    """Write lines and then, into another file, when each was written."""
    times: list[float] = []
    with Path(log).open("ab", buffering=0) as file:
        begun = time.time()
        while (now := time.time()) < begun + seconds:
            times.append(now)
            file.write(line(first + len(times)))
            if (wait_s := begun + len(times) * every_s - time.time()) > 0:
                time.sleep(wait_s)
    Path(told).write_text(json.dumps(times))


def delays_ms(times: list[float], seen: list[tuple[int, float]], first: int) -> list[float]:
    """Milliseconds for each line: from its writing to the first moment at which so many lines had been seen."""
    found, done = [], 0
    for count, at in seen:
        while done < min(count - first, len(times)):
            found.append(1000 * (at - times[done]))
            done += 1
    return found


def row(name: str, delays: list[float]) -> None:
    ordered = sorted(delays)
    picks = "".join(f"{ordered[min(len(ordered) - 1, int(len(ordered) * at))]:10.1f}" for at in (0.5, 0.99, 1.0))
    print(f"  {name:30}{len(ordered):7}{picks}", flush=True)


def read(told: str, command: list[str]) -> None:
    """Count the lines that the other program prints; note when, in a file, at its end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    signal.signal(signal.SIGTERM, lambda *_: process.kill())
    seen: list[tuple[int, float]] = []
    count = 0
    while data := os.read(process.stdout.fileno(), 1 << 16):
        count += data.count(b"\n")
        seen.append((count, time.time()))
    Path(told).write_text(json.dumps(seen))


async def run(server: Loopback, folder: Path, seconds: float) -> None:
    log, known = folder / "server.log", folder / "known_hosts"
    log.touch()
    options = SshOptions(
        port=server.port, identities=[folder / "key"], jump=None, ssh_config=Path("/dev/null"), known_hosts=known
    )
    async with Hosts(options) as hosts:
        session = Session()
        source = RemoteFile(hosts.at(parse_host("127.0.0.1")), str(log), backfill_bytes=0)
        session.add("1", source.name)
        feed = Timed(session, [Channel("1", source)], clock=time.time)
        feed.arrivals, feed.has_begun = [], asyncio.Event()
        app = TimedApp(feed)
        app.drawn, app.taken, app.waiting = [], [], []
        ssh = ["ssh", "-F", "none", *server.options, "-o", f"UserKnownHostsFile={known}", "127.0.0.1"]
        seen_file = folder / "seen"
        theirs = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--read", str(seen_file), *ssh, f"exec tail -n 0 -F {log}"
        )
        written: list[tuple[float, int, list[float], list[float]]] = []
        async with app.run_test(size=(160, 48)):
            await feed.has_begun.wait()
            await asyncio.sleep(3.0)
            first = 0
            for every_s in (0.7, 0.001):
                app.taken.clear()
                told = folder / f"times-{every_s}"
                arguments = ["--write", str(log), str(told), str(seconds), str(every_s), str(first)]
                writer = await asyncio.create_subprocess_exec(sys.executable, __file__, *arguments)
                await writer.wait()
                beats = [1000 * (later - one) for one, later in zip(app.taken, app.taken[1:], strict=False)]
                await asyncio.sleep(3.0)
                times = json.loads(told.read_text())
                written.append((every_s, first, times, beats))
                first += len(times)
        theirs.terminate()
        await theirs.wait()
    seen = json.loads(seen_file.read_text())
    for every_s, first, times, beats in written:
        print(f"a line every {1000 * every_s:g} ms{'':26}lines       p50       p99       max  ms")
        rows = (("ssh tail -F", seen), ("sample in the monitor", feed.arrivals), ("drawn on the screen", app.drawn))
        for name, moments in rows:
            row(name, delays_ms(times, moments, first))
        if beats:
            row("between two pictures", beats)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2], sys.argv[3:])
        return
    if sys.argv[1:2] == ["--write"]:
        log, told, seconds, every_s, first = sys.argv[2:]
        write(log, told, float(seconds), float(every_s), int(first))
        return
    with tempfile.TemporaryDirectory() as name, loopback(Path(name)) as server:
        asyncio.run(run(server, Path(name), float(sys.argv[1]) if len(sys.argv) > 1 else 20.0))


if __name__ == "__main__":
    main()
