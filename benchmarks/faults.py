"""Faults at random for as long as you like: a real sshd, numbered lines, and every number compared at the end.

    python benchmarks/faults.py [SECONDS] [SEED] [LINES_PER_S]

Needs the repository beside it: the sshd, the writer and the follower are those of the tests.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.conftest import Sshd, free_port, running_sshd
from tests.sources.faults import Writer, following
from tests.sources.reading import Heard

from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, SourceEvent

Fault = Callable[["Soak"], Awaitable[None]]


class Numbers(Heard):
    """Counts the numbers of lines instead of keeping what was heard."""

    def __init__(self) -> None:
        super().__init__()
        self.times = bytearray()
        self.disorder = 0
        self.highest = -1
        self._half = b""

    def hear(self, event: SourceEvent) -> None:
        if not isinstance(event, Chunk):
            self.events.append(event)
            return
        *lines, self._half = (self._half + event.data).split(b"\n")
        for line in lines:
            number = int(line[5:13])
            if number >= len(self.times):
                self.times.extend(bytes(number + 1 - len(self.times)))
            self.times[number] += 1
            self.disorder += number < self.highest
            self.highest = max(self.highest, number)


class Soak:
    def __init__(self, sshd: Sshd, writer: Writer, chance: random.Random) -> None:
        self.sshd = sshd
        self.writer = writer
        self.chance = chance
        self.heard = Numbers()
        self.rotation = 0

    async def kill(self) -> None:
        self.sshd.kill_sessions()

    async def freeze(self) -> None:
        self.sshd.signal_sessions(signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(0.1, 3.0))
        self.sshd.signal_sessions(signal.SIGCONT)

    async def rename(self) -> None:
        self.rotation += 1
        self.writer.path.rename(self.writer.path.with_name(f"a.log.{self.rotation}"))

    async def rename_while_away(self) -> None:
        self.sshd.kill_sessions()
        for _ in range(self.chance.randint(1, 3)):
            await self.rename()
            await asyncio.sleep(0.05)
            self.writer.write(self.chance.randint(1, 200))

    async def truncate_when_read(self) -> None:
        # What was written after the last look and is truncated away is gone with every tail: not this test's matter.
        self.writer.is_paused = True
        while self.heard.highest < self.writer.written - 1:  # noqa: ASYNC110 (nothing to wait for by name)
            await asyncio.sleep(0.02)
        shutil.copy(self.writer.path, self.writer.path.with_name("copy"))
        os.truncate(self.writer.path, 0)
        self.writer.is_paused = False

    async def burst(self) -> None:
        self.writer.write(self.chance.randint(1_000, 50_000))


FAULTS: list[Fault] = [Soak.kill, Soak.freeze, Soak.rename, Soak.rename_while_away, Soak.truncate_when_read, Soak.burst]


async def soak(sshd: Sshd, folder: Path, seconds: float, seed: int, lines_per_s: float) -> None:
    writer = Writer(folder / "a.log")
    writer.write(1)
    run = Soak(sshd, writer, random.Random(seed))
    done: Counter[str] = Counter()
    async with following(sshd.settings, writer.path, heard=run.heard) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        async with writer.writing(lines_per_s=lines_per_s, portion=max(1, round(lines_per_s / 200))):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                fault = run.chance.choice(FAULTS)
                done[fault.__name__] += 1
                await fault(run)
                await asyncio.sleep(run.chance.uniform(0.0, 3.0))
        await heard.until(lambda _: run.heard.highest == writer.written - 1, limit_s=60)
    times = Counter(run.heard.times)
    print(f"{writer.written:,} lines in {seconds:g} s, seed {seed}: {dict(done)}")
    print(f"connections {len(run.heard.of(Connected))}, gaps {[gap.size_bytes for gap in run.heard.of(Gap)]}")
    twice = sum(count for number, count in times.items() if number > 1)
    print(f"lost {times[0]}, twice {twice}, out of order {run.heard.disorder}")


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    seconds, seed, lines_per_s = (float(word) for word in [*sys.argv[1:], *["60", "1", "1000"][len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as name, running_sshd(Path(name), port=free_port()) as sshd:
        asyncio.run(soak(sshd, Path(name), seconds, int(seed), lines_per_s))


if __name__ == "__main__":
    main()
