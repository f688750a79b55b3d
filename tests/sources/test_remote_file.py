"""Logs on a real OpenSSH server: read, followed, and left as they were."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, Refused, Rotated, Waiting
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost
from tests.conftest import Sshd

from .faults import PACE
from .reading import Heard, Listening

pytestmark = pytest.mark.sshd


def numbered(first: int, count: int) -> bytes:
    return b"".join(b"line %06d of the log\n" % number for number in range(first, first + count))


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def kill_readers(log: Path) -> int:
    """Kill every process that has the log as its stdin: on the far side that is the tail alone."""
    killed = 0
    for link in Path("/proc").glob("[0-9]*/fd/0"):
        with contextlib.suppress(OSError):
            if link.readlink() == log:
                os.kill(int(link.parts[2]), signal.SIGKILL)
                killed += 1
    return killed


async def test_reads_to_the_end_and_stops(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / 'it\'s a log; $(x) "y" — ü.log'
    log.write_bytes(numbered(0, 50_000))
    heard = Heard()
    async with SshHost("127.0.0.1", sshd.settings) as host:
        await heard.listen(RemoteFile(host, str(log), follow=False, backfill_bytes=None).events())
    assert heard.data == log.read_bytes()
    assert isinstance(heard.events[0], Connected)
    assert isinstance(heard.events[-1], CaughtUp)


async def test_backfill_begins_at_a_line_border(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 1000))
    heard = Heard()
    async with SshHost("127.0.0.1", sshd.settings) as host:
        await heard.listen(RemoteFile(host, str(log), follow=False, backfill_bytes=100).events())
    assert heard.data == numbered(997, 3) or heard.data == numbered(996, 4)
    assert heard.of(Chunk)[0].offset == log.stat().st_size - len(heard.data)


async def test_log_renamed_while_the_link_is_down_loses_nothing(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 100))
    async with (
        SshHost("127.0.0.1", sshd.settings) as host,
        Listening(RemoteFile(host, str(log), pace=PACE, interval_s=0.1).events()) as heard,
    ):
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        assert sshd.kill_sessions() > 0
        add(log, numbered(100, 100))
        log.rename(tmp_path / "a.log.1")
        add(log, numbered(200, 100))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 300)))
    assert heard.data == numbered(0, 300)
    assert [rotated.reason for rotated in heard.of(Rotated)] == ["renamed"]


async def test_tail_that_dies_on_the_far_side_is_started_again(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 10))
    async with (
        SshHost("127.0.0.1", sshd.settings) as host,
        Listening(RemoteFile(host, str(log), pace=PACE, interval_s=0.1).events()) as heard,
    ):
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        assert kill_readers(log) == 1
        add(log, numbered(10, 10))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 20)))
    assert heard.data == numbered(0, 20)
    assert heard.of(Waiting)[0].reason == "127.0.0.1: the remote tail ended"


async def test_directory_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    heard = Heard()
    async with SshHost("127.0.0.1", sshd.settings) as host:
        await heard.listen(RemoteFile(host, str(tmp_path)).events())
    assert heard.events == [Refused(heard.of(Refused)[0].at, heard.of(Refused)[0].reason)]
    assert "is a directory, not a log" in heard.of(Refused)[0].reason


@pytest.mark.parametrize(("kind", "words"), [("missing", "no such file"), ("directory", "is a directory")])
async def test_what_is_not_waited_for_is_unreadable(sshd: Sshd, tmp_path: Path, kind: str, words: str) -> None:
    path = tmp_path if kind == "directory" else tmp_path / "none.log"
    async with SshHost("127.0.0.1", sshd.settings) as host:
        with pytest.raises(UnreadableInput, match=words):
            await Heard().listen(RemoteFile(host, str(path), follow=False).events())


async def test_nothing_is_left_on_the_far_side(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "left.log"
    log.write_bytes(b"x\n")

    def is_open() -> bool:
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            try:
                if link.is_symlink() and link.readlink() == log:
                    return True
            except OSError:
                continue
        return False

    async with SshHost("127.0.0.1", sshd.settings) as host:
        async with Listening(RemoteFile(host, str(log), pace=PACE, interval_s=0.1).events()) as heard:
            await heard.until(lambda heard: bool(heard.of(CaughtUp)))
            assert is_open()
        async with asyncio.timeout(5):
            while is_open():  # noqa: ASYNC110 (nobody tells when a far process ends)
                await asyncio.sleep(0.05)
