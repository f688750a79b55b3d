"""The demo's host: a real SSH server that knows specmon's questions and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest

from specmon.demo.server import HOST, StillWorld, VirtualFile, demo_server
from specmon.errors import SourceRefused
from specmon.sources.discovery import discover
from specmon.sources.events import CaughtUp, Chunk, Connected, Rotated, SourceEvent, Waiting
from specmon.sources.processes import OutputTarget, RunningProcess
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost, SshSettings

LOG = "/var/log/base.log"
LINES = b"".join(b"line %05d of the log\n" % number for number in range(20_000))


async def read_until(
    events: AsyncGenerator[SourceEvent, None],
    is_enough: Callable[[list[SourceEvent]], bool],
    after: Callable[[list[SourceEvent]], None] | None = None,
) -> list[SourceEvent]:
    heard: list[SourceEvent] = []
    async with asyncio.timeout(10), aclosing(events):
        async for event in events:
            heard.append(event)
            if after is not None:
                after(heard)
            if is_enough(heard):
                break
    return heard


def data_of(events: list[SourceEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Chunk))


async def test_growing_log_is_followed() -> None:
    world = StillWorld({LOG: VirtualFile(LINES)})

    def grow(heard: list[SourceEvent]) -> None:
        if isinstance(heard[-1], CaughtUp):
            world.append(LOG, b"and more\n")

    async with demo_server(world) as demo, demo.host() as host:
        wanted = LINES + b"and more\n"
        heard = await read_until(RemoteFile(host, LOG).events(), lambda heard: len(data_of(heard)) >= len(wanted), grow)
    assert data_of(heard) == wanted


async def test_log_that_is_not_there_yet_is_waited_for() -> None:
    world = StillWorld()

    def write(heard: list[SourceEvent]) -> None:
        if isinstance(heard[-1], Waiting):
            world.append(LOG, b"first\n")

    async with demo_server(world) as demo, demo.host() as host:
        heard = await read_until(RemoteFile(host, LOG).events(), lambda heard: data_of(heard) == b"first\n", write)
    assert isinstance(heard[0], Waiting)


async def test_new_file_at_the_path_is_a_rotation() -> None:
    world = StillWorld({LOG: VirtualFile(b"old server\n", inode=1)})

    def restart(heard: list[SourceEvent]) -> None:
        if isinstance(heard[-1], CaughtUp) and data_of(heard) == b"old server\n":
            world.files[LOG] = VirtualFile(b"new server\n", inode=2)

    async with demo_server(world) as demo, demo.host() as host:
        heard = await read_until(
            RemoteFile(host, LOG).events(), lambda heard: data_of(heard).endswith(b"new server\n"), restart
        )
    assert data_of(heard) == b"old server\nnew server\n"
    assert [event.reason for event in heard if isinstance(event, Rotated)] == ["replaced"]


async def test_cut_connection_resumes_at_the_byte() -> None:
    world = StillWorld({LOG: VirtualFile(b"one\n")})
    async with demo_server(world) as demo, demo.host() as host:

        def cut(heard: list[SourceEvent]) -> None:
            if isinstance(heard[-1], CaughtUp) and data_of(heard) == b"one\n":
                demo.drop_connections()
                world.append(LOG, b"two\n")

        heard = await read_until(RemoteFile(host, LOG).events(), lambda heard: data_of(heard).endswith(b"two\n"), cut)
    assert data_of(heard) == b"one\ntwo\n"
    assert [event.offset for event in heard if isinstance(event, Connected)] == [0, 4]


async def test_servers_are_discovered_with_their_environment() -> None:
    world = StillWorld(now=5000.0)
    outputs = {1: OutputTarget(LOG, True), 2: OutputTarget(LOG, True)}
    args = ("python3", "-m", "sglang.launch_server", "--tp-size", "8", "--speculative-algorithm", "EAGLE3")
    async with demo_server(world) as demo, demo.host() as host:
        assert (await discover(host)).servers == ()
        world.running = [
            RunningProcess(100, 1, args, 4000.0, (("NCCL_PROTO", "LL"), ("HOME", "/root")), outputs),
            RunningProcess(101, 100, ("sglang::scheduler_TP0",), 4010.0, None, outputs),
            RunningProcess(102, 1, ("bash",), 4010.0, None, outputs),
        ]
        (server,) = (await discover(host)).servers
    assert (server.pid, server.role, server.flags["tp_size"], server.log_path) == (100, "speculative", 8, LOG)
    assert server.env == {"NCCL_PROTO": "LL"}
    assert "process 101" in server.env_reason
    assert server.started_at == 4000.0


@pytest.mark.parametrize("command", ["ls", "cat /etc/passwd", "sh -c 'echo x'", ""])
async def test_it_is_no_shell(command: str) -> None:
    async with demo_server(StillWorld()) as demo, demo.host() as host:
        result = await host.run(command)
    assert (result.stdout, result.status) == (b"", 127)
    assert b"not a shell" in result.stderr


async def test_nobody_else_may_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async with demo_server(StillWorld()) as demo:
        settings = SshSettings(read_config=False, port=demo.port, use_agent=False, known_hosts=(demo.known_hosts,))
        monkeypatch.setenv("HOME", str(demo.known_hosts.parent))
        async with SshHost(HOST, settings) as host:
            with pytest.raises(SourceRefused, match="permission denied"):
                await host.run("")


async def test_nothing_is_left_behind() -> None:
    async with demo_server(StillWorld()) as demo:
        folder = demo.client_key.parent
        assert demo.client_key.stat().st_mode & 0o077 == 0
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
