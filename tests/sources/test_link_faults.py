"""Faults of the link: a writer numbers its lines, the link is hurt, the numbers are compared."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from specmon.sources.events import CaughtUp, Connected, Refused, Waiting
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost
from tests.conftest import Sshd, running_sshd

from .faults import (
    PACE,
    Daemon,
    Proxy,
    Writer,
    a_moment,
    assert_each_line_once,
    begin,
    following,
    hurried,
    wait_for_reconnect,
)
from .lossy_link import FAR, NEAR, lossy_link
from .reading import Heard, Listening

pytestmark = pytest.mark.sshd


async def killed(daemon: Daemon, heard: Heard) -> None:
    assert daemon.sshd.kill_sessions() > 0
    await wait_for_reconnect(heard)


async def frozen_and_thawed(daemon: Daemon, heard: Heard) -> None:
    assert daemon.sshd.signal_sessions(signal.SIGSTOP) > 0
    await wait_for_reconnect(heard)  # the keepalives have noticed
    daemon.sshd.signal_sessions(signal.SIGCONT)
    await a_moment()  # what the old session still had to say counts no more


async def frozen_for_a_moment(daemon: Daemon, heard: Heard) -> None:
    assert daemon.sshd.signal_sessions(signal.SIGSTOP) > 0
    await a_moment()
    daemon.sshd.signal_sessions(signal.SIGCONT)


async def daemon_restarted(daemon: Daemon, heard: Heard) -> None:
    daemon.stop()
    daemon.start()
    await wait_for_reconnect(heard)


async def refusing_for_a_while(daemon: Daemon, heard: Heard) -> None:
    daemon.stop()
    await heard.until(lambda heard: any(waiting.attempt >= 3 for waiting in heard.of(Waiting)))
    daemon.start()
    await wait_for_reconnect(heard)
    assert any("connection refused" in waiting.reason for waiting in heard.of(Waiting))


LinkFault = Callable[[Daemon, Heard], Awaitable[None]]
LINK_FAULTS: list[LinkFault] = [killed, frozen_and_thawed, frozen_for_a_moment, daemon_restarted, refusing_for_a_while]


@pytest.mark.parametrize("fault", LINK_FAULTS)
async def test_link_fault_loses_and_repeats_nothing(daemon: Daemon, tmp_path: Path, fault: LinkFault) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(daemon.sshd.settings, writer.path) as heard:
        await begin(heard)
        async with writer.writing():
            await a_moment()
            await fault(daemon, heard)
            await a_moment()
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_link_that_delays_stalls_and_breaks_loses_nothing(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with Proxy(sshd.port, delay_s=0.005).running() as proxy:
        known = tmp_path / "known_hosts"
        known.write_text(f"[127.0.0.1]:{proxy.port} {sshd.host_key_line}\n")
        settings = replace(sshd.settings, port=proxy.port, known_hosts=(known,))
        async with following(settings, writer.path) as heard:
            await begin(heard)
            async with writer.writing(lines_per_s=2000, portion=40):
                for _ in range(3):
                    await asyncio.sleep(0.4)
                    proxy.drop()
                    await wait_for_reconnect(heard)
            await writer.is_read_by(heard)
    assert proxy.connections >= 4
    assert_each_line_once(heard, writer.written)


async def test_network_that_loses_packets_and_goes_away_loses_no_line(tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    with (
        lossy_link(delay_s=0.02, loss=0.03) as link,
        running_sshd(folder, f"ListenAddress {NEAR}") as sshd,
        link.forwarding(sshd.port) as port,
    ):
        known = tmp_path / "known_hosts"
        known.write_text(f"[{FAR}]:{port} {sshd.host_key_line}\n")
        # Each way crosses the link twice, so that a lost packet costs more than a tenth of a second.
        settings = replace(
            hurried(sshd.settings), port=port, known_hosts=(known,), keepalive_s=1.0, connect_timeout_s=5.0,
            login_timeout_s=15.0,
        )  # fmt: skip
        async with (
            SshHost(FAR, settings) as host,
            Listening(
                RemoteFile(host, str(writer.path), backfill_bytes=None, pace=PACE, interval_s=0.1).events()
            ) as heard,
        ):
            await heard.until(lambda heard: bool(heard.of(CaughtUp)), limit_s=60)
            async with writer.writing(lines_per_s=1000, portion=20):
                await asyncio.sleep(1.5)
                connected = len(heard.of(Connected))
                link.is_cut = True
                await heard.until(lambda heard: bool(heard.of(Waiting)), limit_s=60)
                link.is_cut = False
                await heard.until(lambda heard: len(heard.of(Connected)) > connected, limit_s=60)
                await asyncio.sleep(0.5)
            await writer.is_read_by(heard, limit_s=60)
        sshd.kill_sessions()  # the cut may have taken the word that a connection is over, and then sshd waits for long
    assert link.lost > 20
    assert link.carried > 100
    assert_each_line_once(heard, writer.written)


async def test_dead_host_behind_a_living_jump_host_is_noticed(daemon: Daemon, sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    known = tmp_path / "known_hosts"
    known.write_text(sshd.known_hosts.read_text() + daemon.sshd.known_hosts.read_text())
    settings = replace(
        daemon.sshd.settings,
        client_keys=(daemon.sshd.client_key, sshd.client_key),
        known_hosts=(known,),
        jump_host=f"127.0.0.1:{sshd.port}",
    )
    # A jump host of the target's own name is passed over, so the target is called by another.
    known.write_text(known.read_text() + daemon.sshd.known_hosts.read_text().replace("[127.0.0.1]", "[localhost]"))
    async with (
        SshHost("localhost", hurried(settings)) as host,
        Listening(RemoteFile(host, str(writer.path), backfill_bytes=None, pace=PACE, interval_s=0.1).events()) as heard,
    ):
        await begin(heard)
        async with writer.writing():
            await a_moment()
            await frozen_and_thawed(daemon, heard)
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_login_shell_that_greets_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    command = 'ForceCommand echo "file 1 2 3"; echo Welcome >&2; eval "$SSH_ORIGINAL_COMMAND"'
    with running_sshd(folder, command) as server:
        writer = Writer(tmp_path / "a.log")
        writer.write(100)
        async with following(server.settings, writer.path) as heard:
            await begin(heard)
            writer.write(100)
            await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_changed_host_key_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(daemon.sshd.settings, writer.path) as heard:
        await begin(heard)
        known = daemon.sshd.known_hosts.read_text()
        daemon.stop()
        for name in ("host_key", "host_key.pub"):
            (daemon.sshd.folder / name).unlink()
        daemon.start()
        daemon.sshd.known_hosts.write_text(known)  # what the user has on record
        await heard.until(lambda heard: bool(heard.of(Refused)))
    assert "the host key has CHANGED" in heard.of(Refused)[0].reason


async def test_more_files_than_sessions_on_one_connection(tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    writers = [Writer(tmp_path / f"{number}.log") for number in range(7)]
    for writer in writers:
        writer.write(50)
    with running_sshd(folder, "MaxSessions 3") as server:
        async with SshHost("127.0.0.1", hurried(server.settings)) as host, AsyncExitStack() as stack:
            heards = [
                await stack.enter_async_context(
                    Listening(RemoteFile(host, str(writer.path), pace=PACE, interval_s=0.1).events())
                )
                for writer in writers
            ]
            for heard in heards:
                await begin(heard)
            for writer in writers:
                writer.write(50)
            for writer, heard in zip(writers, heards, strict=True):
                await writer.is_read_by(heard)
                assert_each_line_once(heard, 100)
