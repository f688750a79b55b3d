"""Many logins at one SSH server that takes few at a time, with a real sshd."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from specmon.errors import SourceRefused
from specmon.sources.logins import Logins
from specmon.sources.ssh import SshHost, SshSettings
from tests.conftest import Sshd, running_sshd

HOST = "Host {name}\n  HostName 127.0.0.1\n  Port PORT\n  IdentityFile KEY\n  UserKnownHostsFile KNOWN\n{more}"


async def no_time(seconds: float) -> None:
    await asyncio.sleep(0)


@asynccontextmanager
async def crowded_door(sshd: Sshd, dropped: int) -> AsyncIterator[tuple[int, list[int]]]:
    """A port that hangs up on its first callers as OpenSSH does at MaxStartups, and leads the others to an sshd.

    The list counts the callers.
    """
    callers: list[int] = []
    serving: set[asyncio.Task[None]] = set()

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
        await hang_up(sink)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_dropped: bool) -> None:
        if is_dropped:
            writer.write(b"Exceeded MaxStartups\r\n")
        else:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", sshd.port)
            await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer), return_exceptions=True)
            await hang_up(far_writer)
        await hang_up(writer)

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(len(callers))
        serving.add(asyncio.create_task(serve(reader, writer, len(callers) <= dropped)))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], callers
    await asyncio.gather(*serving)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def through(sshd: Sshd, port: int, folder: Path) -> SshSettings:
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {sshd.host_key_line}\n")
    return replace(sshd.settings, port=port, known_hosts=(known,))


@pytest.mark.sshd
async def test_many_hosts_behind_a_jump_host_that_takes_few_logins_at_a_time(tmp_path: Path, sshd: Sshd) -> None:
    with running_sshd(tmp_path, "MaxStartups 5:100:5") as jump:
        text = jump.config("jump", HOST.format(name="jump", more="")).read_text()
        config = sshd.config("behind", HOST.format(name="gpu*", more="  ProxyJump jump\n") + text)
        settings, logins = SshSettings(config_file=config, use_agent=False), Logins()
        hosts = [SshHost(f"gpu{number}", settings, logins=logins) for number in range(16)]
        try:
            await asyncio.gather(*(host.connect() for host in hosts))
        finally:
            await asyncio.gather(*(host.close() for host in hosts))


@pytest.mark.sshd
async def test_login_that_the_server_drops_unheard_is_tried_again(tmp_path: Path, sshd: Sshd) -> None:
    async with crowded_door(sshd, dropped=3) as (port, callers):
        async with SshHost("127.0.0.1", through(sshd, port, tmp_path), logins=Logins(sleep=no_time)) as host:
            await host.connect()
        assert len(callers) == 4


@pytest.mark.sshd
async def test_server_that_drops_every_login_is_told_with_its_likely_cause(tmp_path: Path, sshd: Sshd) -> None:
    async with (
        crowded_door(sshd, dropped=1000) as (port, _),
        SshHost("127.0.0.1", through(sshd, port, tmp_path), logins=Logins(sleep=no_time)) as host,
    ):
        with pytest.raises(SourceRefused, match=r"hangs up without a word, several times.*MaxStartups"):
            await host.connect()


async def test_silent_server_keeps_those_who_wait_for_their_turn_only_once() -> None:
    logins, asked = Logins(at_once=1), []

    async def log_in(name: str) -> None:
        async with logins.turn("jump", 22):
            asked.append(name)
            await asyncio.sleep(0)
            raise TimeoutError

    faults = await asyncio.gather(*(log_in(name) for name in "abc"), return_exceptions=True)
    assert [type(fault) for fault in faults] == [TimeoutError] * 3
    assert asked == ["a"]
    with pytest.raises(TimeoutError):
        await log_in("d")
    assert asked == ["a", "d"]  # who comes later tries for himself
