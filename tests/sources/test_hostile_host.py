"""A host that means ill: what it answers can neither fill the memory nor steer the terminal."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from specmon.errors import SourceLost
from specmon.sources.command import CommandSource
from specmon.sources.discovery import discover
from specmon.sources.events import Refused
from specmon.sources.examine import examine, read_clock
from specmon.sources.kubernetes import KubernetesLog
from specmon.sources.machine import ThisMachine
from specmon.sources.matches import remote_matches
from specmon.sources.newest_file import NewestFile
from specmon.sources.old_logs import list_logs
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess, processes_answer
from specmon.sources.remote_commands import ReadSurroundings
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost, SshSettings
from specmon.sources.surroundings import read_surroundings

EVIL = "\x1b[2J\x1b]0;owned\x07\u202e\r"

Answer = Callable[[asyncssh.SSHServerProcess[bytes]], Awaitable[None]]


class _Open(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False


@asynccontextmanager
async def answering(folder: Path, answer: Answer) -> AsyncIterator[SshSettings]:
    """An SSH server that lets everybody in and answers every command like this."""
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            await answer(process)
        except (BrokenPipeError, ConnectionError, asyncssh.Error):
            pass
        finally:
            process.close()

    acceptor = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[key], server_factory=_Open, process_factory=handle, encoding=None
    )
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{acceptor.get_port()} {key.export_public_key().decode()}")
    try:
        yield SshSettings(read_config=False, port=acceptor.get_port(), use_agent=False, known_hosts=(known,))
    finally:
        acceptor.close()
        await acceptor.wait_closed()


async def _without_end(process: asyncssh.SSHServerProcess[bytes]) -> None:
    while True:
        process.stdout.write(bytes(1 << 20))
        await process.stdout.drain()


async def test_answer_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specmon.sources.ssh._MOST_BYTES", 4 << 20)
    async with answering(tmp_path, _without_end) as settings, SshHost("127.0.0.1", settings) as host:
        tracemalloc.start()
        try:
            with pytest.raises(SourceLost, match="the answer of the host does not end"):
                await host.run("anything")
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "noise", [b"", b"\x00" * 500, EVIL.encode(), b"clock \nprocess \nstat zz\n" * 50, b"\n" * 1000]
)
async def test_nonsense_is_one_sentence_or_nothing(tmp_path: Path, noise: bytes) -> None:
    async def answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(noise)
        process.stderr.write(noise)
        process.exit(1)

    async with answering(tmp_path, answer) as settings, SshHost("127.0.0.1", settings) as host:
        questions: list[Awaitable[object]] = [
            discover(host), examine(host), read_clock(host), read_surroundings(host, ReadSurroundings(1)),
        ]  # fmt: skip
        for result in await asyncio.gather(*questions, return_exceptions=True):
            assert not isinstance(result, Exception) or isinstance(result, SourceLost), result
        assert await list_logs(host, "/var/log") == []


async def test_account_without_a_shell_is_refused_with_what_the_host_says(tmp_path: Path) -> None:
    async def answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(b"This account is currently not available.\n")
        process.exit(1)

    async with answering(tmp_path, answer) as settings, SshHost("127.0.0.1", settings) as host:
        sources = (
            RemoteFile(host, "/var/log/a.log"),
            RemoteFile(host, "/var/log/a.log", follow=False),
            NewestFile("*.log", lambda: remote_matches(host, "*.log"), lambda path, _: RemoteFile(host, path)),
            CommandSource("cmd:ls", host, "ls", follow=True),
        )
        for source in sources:
            *_, last = [event async for event in source.events()]
            assert isinstance(last, Refused)
            assert "(This account is currently not available)" in last.reason
            assert "Log in as a user who has a" in last.reason


async def test_words_of_a_host_cannot_steer_the_terminal(tmp_path: Path) -> None:
    server = RunningProcess(
        7,
        1,
        ("python3", "-m", "sglang.launch_server", "--model-path", f"/m{EVIL}", "--host", EVIL),
        1000.0,
        (("NCCL_X", EVIL),),
        {1: OutputTarget(f"/log{EVIL}", True), 2: OutputTarget(f"pipe:{EVIL}")},
        user=EVIL,
        cgroup=f"0::/system.slice/{EVIL}.service\n",
    )
    listing = ProcessListing((server, replace(server, pid=8, outputs={})), host_time=2000.0)

    async def answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(processes_answer(listing))
        process.stderr.write(EVIL.encode())
        process.exit(0)

    async with answering(tmp_path, answer) as settings:
        (known,) = settings.known_hosts
        for command in (("discover",), ("discover", "--format", "json"), ("doctor",), ("connect", "--plain")):
            program = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "specmon", *command, "127.0.0.1", "-p", str(settings.port)),
                *("--known-hosts", str(known)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
            )
            try:
                async with asyncio.timeout(30):
                    out = await program.stdout.read() if command[0] != "connect" else await _lines(program, 6)  # type: ignore[union-attr]
            finally:
                if program.returncode is None:
                    program.kill()
                await program.wait()
            assert b"owned" in out, (command, out)
            assert b"Traceback" not in out
            for sign in ("\x1b", "\x07", "\u202e", "\r"):
                assert sign.encode() not in out, (command, out)


async def _lines(program: asyncio.subprocess.Process, count: int) -> bytes:
    assert program.stdout is not None
    return b"".join([await program.stdout.readline() for _ in range(count)])


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        "[" * 50_000,
        '{"spec": [], "status": 7}',
        '{"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": ["c"]}}',
        '{"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": [{"name": "c", "state": [1]}]}}',
    ],
)
async def test_pod_that_is_none_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    (tmp_path / "answer").write_text(answer)
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SourceLost, match="kubectl gave no usable answer"):
        await KubernetesLog("kube:n/p", ThisMachine(), "n", "p").look(was_reached=False)
