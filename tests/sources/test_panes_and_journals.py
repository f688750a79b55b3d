"""A real tmux and a real journald, near by and over a real sshd."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from io import FileIO
from pathlib import Path

import pytest

from specmon.sources.events import CaughtUp, Gap, Refused, Rotated, Waiting
from specmon.sources.journal import JournalLog
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_follow import ProgramSource
from specmon.sources.tmux import TmuxSource

from .faults import PACE
from .programs import Site, numbers, site_at
from .reading import Heard, Listening

# -- tmux --------------------------------------------------------------------------------------------------------------


class Pane:
    """A tmux server of the test's own, with one pane that prints what is written into a pipe."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.env = {**os.environ, "TMUX_TMPDIR": str(folder)}
        self.env.pop("TMUX", None)
        self._folder = folder
        self._starts = 0
        self._writer: FileIO | None = None
        self.written = 0

    def tmux(self, *words: str) -> None:
        subprocess.run(["tmux", *words], env=self.env, check=True, capture_output=True, timeout=90)

    def start(self, *, history: int = 2000) -> None:
        # A pipe of its own for each start: the reader of the pane before may still be about to end, and a writer
        # that it let in would find the pipe broken a moment later.
        self._starts += 1
        pipe = self._folder / f"pipe-{self._starts}"
        os.mkfifo(pipe)
        for is_last in (False,) * 99 + (True,):  # a server that is about to end, with its last session, takes nothing
            try:
                self.tmux("-f", "/dev/null", "start-server", ";", "set-option", "-g", "history-limit", str(history),
                          ";", "new-session", "-d", "-s", "spec", "-x", "80", "-y", "10", f"cat '{pipe}'")  # fmt: skip
                break
            except subprocess.CalledProcessError:
                if is_last:
                    raise
                time.sleep(0.05)
        self._close()
        self._writer = pipe.open("wb", buffering=0)

    def write(self, count: int, *, width: int = 0) -> None:
        lines = [
            f"line {number:06d} of the log {'x' * width}".rstrip()
            for number in range(self.written, self.written + count)
        ]
        self.say("".join(f"{line}\n" for line in lines).encode())
        self.written += count

    def say(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def stop(self) -> None:
        self._close()
        subprocess.run(["tmux", "kill-server"], env=self.env, capture_output=True, timeout=90, check=False)


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    pane = Pane(tmp_path / "tmux")
    yield pane
    pane.stop()


@pytest.fixture(params=["near", pytest.param("far", marks=pytest.mark.sshd)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=request.param == "far", env=f"TMUX_TMPDIR={tmp_path / 'tmux'}") as site:
        yield site


@pytest.fixture
def near(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=False, env=f"TMUX_TMPDIR={tmp_path / 'tmux'}") as site:
        yield site


@asynccontextmanager
async def watching(
    machine: StreamingMachine, backfill_bytes: int | None = None, pane: str = "spec"
) -> AsyncIterator[Heard]:
    source = TmuxSource(
        f"tmux:{pane}", machine, pane, follow=True, backfill_bytes=backfill_bytes, pace=PACE, look_s=0.05
    )
    async with Listening(source.events()) as heard:
        yield heard


async def has_read(heard: Heard, count: int) -> None:
    await heard.until(lambda heard: heard.data.count(b"\n") >= count, limit_s=20)


async def test_pane_s_lines_come_once_and_whole(site: Site, pane: Pane) -> None:
    pane.start()
    pane.write(40, width=100)  # wrapped twice
    async with site.machine() as machine, watching(machine) as heard:
        await has_read(heard, 40)
        for _ in range(10):
            pane.write(3, width=130)
            await asyncio.sleep(0.03)
        pane.say(b"not ended yet")
        await has_read(heard, 70)
        await asyncio.sleep(0.2)
        assert numbers(heard.data) == list(range(70))
        assert all(line.endswith(b"x" * 100) for line in heard.data.splitlines())
        assert not heard.of(Gap)
        assert len(heard.of(CaughtUp)) == 1


async def test_only_new_lines_of_a_pane(near: Site, pane: Pane) -> None:
    pane.start()
    pane.write(40)
    async with near.machine() as machine, watching(machine, 0) as heard:
        await asyncio.sleep(0.3)
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        pane.write(5)
        await has_read(heard, 5)
        assert numbers(heard.data)[-5:] == list(range(40, 45))


async def test_full_history_loses_nothing_between_two_looks(near: Site, pane: Pane) -> None:
    pane.start(history=200)
    async with near.machine() as machine, watching(machine) as heard:
        for number in range(1, 16):
            pane.write(40)
            await has_read(heard, number * 40)
        assert numbers(heard.data) == list(range(600))
        assert not heard.of(Gap)


async def test_more_lines_than_the_history_holds_are_a_gap(near: Site, pane: Pane) -> None:
    pane.start(history=50)
    async with near.machine() as machine, watching(machine) as heard:
        pane.write(10)
        await has_read(heard, 10)
        pane.write(5000)
        await heard.until(lambda heard: heard.data.endswith(b"line 005009 of the log\n"))
        assert heard.of(Gap)
        assert "history-limit" in heard.of(Gap)[0].reason


async def test_full_screen_program_is_said_and_waited_for(near: Site, pane: Pane) -> None:
    pane.start()
    async with near.machine() as machine, watching(machine) as heard:
        pane.write(3)
        await has_read(heard, 3)
        pane.say(b"\x1b[?1049h")
        await heard.until(lambda heard: any("full-screen" in waiting.reason for waiting in heard.of(Waiting)))
        pane.say(b"\x1b[?1049l")
        pane.write(2)
        await has_read(heard, 5)
        assert numbers(heard.data) == list(range(5))


async def test_pane_that_is_not_there_yet_is_waited_for_and_said(near: Site, pane: Pane) -> None:
    async with near.machine() as machine, watching(machine, 0) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        assert "no tmux server runs" in heard.of(Waiting)[0].reason
        pane.start()
        pane.write(3)
        await has_read(heard, 3)


async def test_another_pane_of_the_name_is_told(near: Site, pane: Pane) -> None:
    pane.start()
    async with near.machine() as machine, watching(machine) as heard:
        pane.write(3)
        await has_read(heard, 3)
        pane.tmux("kill-session", "-t", "spec")
        pane.start()
        pane.write(2)
        await has_read(heard, 5)
        assert numbers(heard.data) == list(range(5))


# -- journald ----------------------------------------------------------------------------------------------------------

_JOURNALD = Path("/lib/systemd/systemd-journald")


class Journal:
    """A real journald in a namespace of its own, and a `journalctl` that reads that namespace."""

    def __init__(self, folder: Path) -> None:
        self.name = f"specmon{os.getpid()}x{time.monotonic_ns() % 10**6}"
        self._run = Path(f"/run/systemd/journal.{self.name}")
        self._process: subprocess.Popen[bytes] | None = None
        self.written = 0

    def start(self) -> None:
        self._process = subprocess.Popen(
            [str(_JOURNALD), self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            if (self._run / "socket").exists():
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        self.stop()
        pytest.skip("journald does not start here")

    def write(self, count: int, unit: str = "spec.service") -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            for _ in range(count):
                # A process of root may speak of a unit that is not its own.
                text = f"line {self.written:06d} of the log".encode()
                fields = b"MESSAGE\n%s%s\nOBJECT_SYSTEMD_UNIT=%s\nSYSLOG_IDENTIFIER=python3\n"
                sender.sendto(fields % (struct.pack("<Q", len(text)), text, unit.encode()), str(self._run / "socket"))
                self.written += 1

    def ctl(self, *words: str) -> None:
        subprocess.run(
            ["/usr/bin/journalctl", f"--namespace={self.name}", *words], check=True, capture_output=True, timeout=90
        )

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=90)
        for place in (
            self._run,
            *Path("/var/log/journal").glob(f"*.{self.name}"),
            *Path("/run/log/journal").glob(f"*.{self.name}"),
        ):
            shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    if os.geteuid() != 0 or not _JOURNALD.exists() or not Path("/usr/bin/journalctl").exists():
        pytest.skip("a journald of one's own needs root and systemd's programs")
    journal = Journal(tmp_path)
    journal.start()
    yield journal
    journal.stop()


def reads(site: Site, journal: Journal) -> None:
    site.script("journalctl", f'exec /usr/bin/journalctl --namespace={journal.name} "$@"')


def unit(machine: StreamingMachine, *, as_json: bool = False) -> JournalLog:
    return JournalLog("journal:spec", machine, "spec", as_json)


async def test_unit_s_entries_come_once(site: Site, journal: Journal) -> None:
    reads(site, journal)
    journal.write(100)
    journal.write(3, unit="other.service")
    journal.written -= 3
    async with site.machine() as machine:
        source = ProgramSource(unit(machine), follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await has_read(heard, 100)
            for _ in range(5):
                journal.write(10)
                await asyncio.sleep(0.02)
            await has_read(heard, 150)
            assert numbers(heard.data) == list(range(150))
            if site.is_far:
                site.drop_link()
                journal.write(50)
                await has_read(heard, 200)
                assert numbers(heard.data) == list(range(200))
        assert not heard.of(Gap)


async def test_only_new_entries_and_as_json(near: Site, journal: Journal) -> None:
    reads(near, journal)
    journal.write(20)
    async with near.machine() as machine:
        source = ProgramSource(unit(machine, as_json=True), follow=True, backfill_bytes=0, pace=PACE)
        async with Listening(source.events()) as heard:
            await heard.until(lambda heard: bool(heard.of(CaughtUp)))
            journal.write(2)
            await has_read(heard, 2)
    assert heard.data.count(b'"MESSAGE":"line 00002') == 2
    assert heard.data.startswith(b"{")


async def test_entries_that_were_vacuumed_are_a_gap(near: Site, journal: Journal) -> None:
    reads(near, journal)
    journal.write(20)
    async with near.machine() as machine:
        source = ProgramSource(unit(machine), follow=True, pace=PACE, silence_s=0.3)
        async with Listening(source.events()) as heard:
            await has_read(heard, 20)
            await asyncio.sleep(0.2)
            near.script("journalctl", "sleep 1; exit 1")
            await heard.until(lambda heard: bool(heard.of(Waiting)))
            journal.ctl("--rotate")
            journal.ctl("--vacuum-size=1")
            journal.write(5)
            reads(near, journal)
            await has_read(heard, 25)
    assert numbers(heard.data) == list(range(25))
    assert len(heard.of(Gap)) == 1


async def test_unit_without_an_entry_is_waited_for_and_said(near: Site, journal: Journal) -> None:
    reads(near, journal)
    async with near.machine() as machine:
        source = ProgramSource(unit(machine), follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await heard.until(lambda heard: bool(heard.of(Waiting)))
            assert "no entry of that unit" in heard.of(Waiting)[0].reason or "no journal" in heard.of(Waiting)[0].reason
            journal.write(2)
            await has_read(heard, 2)


@pytest.mark.parametrize(
    "said",
    [
        "Hint: You are currently not seeing messages from other users and the system.\n"
        "      Users in groups 'adm', 'systemd-journal' can see all messages.",
        "No journal files were opened due to insufficient permissions.",
    ],
)
async def test_journal_that_may_not_be_read_is_a_refusal(near: Site, said: str) -> None:
    near.script("journalctl", f'cat >&2 <<"END"\n{said}\nEND')
    async with near.machine() as machine:
        heard = Heard()
        await heard.listen(ProgramSource(unit(machine), follow=True, pace=PACE).events())
    assert "group systemd-journal" in heard.of(Refused)[0].reason
    assert not heard.of(Rotated)
