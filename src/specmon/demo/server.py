"""An SSH server on the loopback that plays a host: growing logs and running servers, and nothing else.

It answers exactly the commands that specmon itself sends; it is no shell and touches no real file. Its host key and
the one key that may log in are made for each run and live in a temporary folder.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import asyncssh

from specmon.sources.gpus import Gpus, gpus_answer
from specmon.sources.processes import ProcessListing, RunningProcess, processes_answer
from specmon.sources.remote_commands import (
    HEAD_BYTES,
    LookAt,
    ReadGpus,
    ReadProcesses,
    ReadSurroundings,
    ResolvePath,
    Tail,
    parse_command,
)
from specmon.sources.ssh import SshHost, SshSettings
from specmon.sources.surroundings import Surroundings, surroundings_answer

HOST = "127.0.0.1"
_NOT_A_SHELL = b"This is specmon's demo, not a shell: it answers specmon's own questions only.\n"
_POLL_S = 0.05
_DEVICE = 1
_BLOCK_BYTES = 65536


@dataclass(frozen=True, slots=True)
class VirtualFile:
    """A file of the played host at one moment."""

    data: bytes  # all that has been written so far
    inode: int = 1  # another number means another file: a rotation
    readable: bool = True


class DemoWorld(Protocol):
    """What the played host looks like now; it keeps its own clock."""

    def file(self, path: str) -> VirtualFile | None:
        """The file at a path, None when there is none (yet)."""
        ...

    def processes(self) -> Sequence[RunningProcess]:
        """The processes that run at this moment."""
        ...

    def surroundings(self, pid: int) -> Surroundings:
        """What surrounds one of them: packages, driver, configuration files."""
        ...

    def gpus(self) -> Gpus:
        """The GPUs of the host."""
        ...

    def time(self) -> float:
        """The host's clock, s since 1970."""
        ...


@dataclass(slots=True)
class StillWorld:
    """A world that changes only when it is told to: for tests and small demos."""

    files: dict[str, VirtualFile] = field(default_factory=dict)
    running: list[RunningProcess] = field(default_factory=list)
    around: dict[int, Surroundings] = field(default_factory=dict)  # by process
    devices: Gpus = field(default_factory=Gpus)
    now: float = 0.0

    def file(self, path: str) -> VirtualFile | None:
        return self.files.get(path)

    def processes(self) -> Sequence[RunningProcess]:
        return self.running

    def surroundings(self, pid: int) -> Surroundings:
        return self.around.get(pid, Surroundings(is_gone=True))

    def gpus(self) -> Gpus:
        return self.devices

    def time(self) -> float:
        return self.now

    def append(self, path: str, data: bytes) -> None:
        """Let the file grow; it is made when it is not there."""
        old = self.files.get(path) or VirtualFile(b"", inode=len(self.files) + 1)
        self.files[path] = VirtualFile(old.data + data, old.inode, old.readable)


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A running demo host and how to reach it."""

    port: int
    known_hosts: Path
    client_key: Path

    @property
    def settings(self) -> SshSettings:
        """Settings that reach it and use nothing of the user's own: no configuration, agent or keys."""
        return SshSettings(
            read_config=False,
            port=self.port,
            user="demo",
            client_keys=(self.client_key,),
            use_agent=False,
            known_hosts=(self.known_hosts,),
        )

    def host(self) -> SshHost:
        """A connection to it, to be closed by the caller."""
        return SshHost(HOST, self.settings)

    def drop_connections(self) -> None:
        """Cut every connection without a word, as a broken network does."""
        for connection in list(self._connections):
            connection.abort()

    _connections: set[asyncssh.SSHServerConnection] = field(default_factory=set, repr=False)


@asynccontextmanager
async def demo_server(
    world: DemoWorld, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncIterator[DemoServer]:
    """Serve a world on a free port of 127.0.0.1 until the block is left."""
    host_key, client_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    connections: set[asyncssh.SSHServerConnection] = set()
    public = client_key.export_public_key().decode()

    async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
        await _handle(process, world, sleep)

    with tempfile.TemporaryDirectory(prefix="specmon-demo-") as name:
        folder = Path(name)  # made with mode 0700
        acceptor = await asyncssh.listen(
            HOST,
            0,
            server_host_keys=[host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(public),
            server_factory=lambda: _Server(connections),
            process_factory=handle,
            password_auth=False,
            kbdint_auth=False,
            allow_scp=False,
            agent_forwarding=False,
            encoding=None,
        )
        try:
            port = acceptor.get_port()
            known_hosts, key_file = folder / "known_hosts", folder / "client_key"
            known_hosts.write_text(f"[{HOST}]:{port} {host_key.export_public_key().decode()}")
            client_key.write_private_key(key_file)
            key_file.chmod(0o600)
            yield DemoServer(port, known_hosts, key_file, connections)
        finally:
            acceptor.close()
            for connection in list(connections):
                connection.abort()
            await acceptor.wait_closed()
            for connection in list(connections):
                await connection.wait_closed()


class _Server(asyncssh.SSHServer):
    """Remembers the connections, and lets nothing be forwarded (asyncssh refuses that by default)."""

    def __init__(self, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._connections.discard(self._connection)


async def _handle(
    process: asyncssh.SSHServerProcess[bytes], world: DemoWorld, sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Answer one command."""
    command = parse_command(process.command or "")
    try:
        match command:
            case LookAt(path):
                process.stdout.write(_look(world.file(path)) + b"\n")
                process.exit(0)
            case Tail():
                await _tail(process, command, world, sleep)
            case ReadProcesses(pattern):
                process.stdout.write(_processes(world, pattern))
                process.exit(0)
            case ResolvePath(path):
                process.stdout.write(path.encode("utf-8", "surrogateescape"))  # this world has no links
                process.exit(0)
            case ReadSurroundings(pid):
                process.stdout.write(surroundings_answer(world.surroundings(pid)))
                process.exit(0)
            case ReadGpus():
                process.stdout.write(gpus_answer(world.gpus()))
                process.exit(0)
            case _:
                process.stderr.write(_NOT_A_SHELL)
                process.exit(127)
    except (BrokenPipeError, ConnectionError, asyncssh.Error):
        process.close()  # nobody listens any more


async def _tail(
    process: asyncssh.SSHServerProcess[bytes],
    tail: Tail,
    world: DemoWorld,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Hand out a file as it grows, with looks at the watched path beside it, until the client closes the channel."""
    opened = world.file(tail.path)
    if opened is None or not opened.readable:
        process.stderr.write(b"cannot open the file\n")
        process.exit(66)
        return
    offset, last, ticks_in = tail.offset, b"", 0.0
    while not process.stdin.at_eof() and not process.is_closing():
        now = world.file(tail.path)
        # A descriptor stays with its file: one that left its path does not grow any more in this world.
        opened = now if now is not None and now.inode == opened.inode else opened
        if ticks_in <= 0:
            ticks_in = float(tail.interval_s)
            look = b"look|" + _numbers(opened) + b"|" + _watched(world.file(tail.watch))
            process.stderr.write((b"same" if look == last else look) + b"\n")
            last = look
        for start in range(offset, len(opened.data), _BLOCK_BYTES):
            process.stdout.write(opened.data[start : start + _BLOCK_BYTES])
            await process.stdout.drain()
        offset = max(offset, len(opened.data))
        await sleep(_POLL_S)
        ticks_in -= _POLL_S
    process.exit(0)


def _look(file: VirtualFile | None) -> bytes:
    if file is None:
        return b"missing"
    if not file.readable:
        return b"unreadable"
    return b"file " + _numbers(file) + b" " + _head(file)


def _watched(file: VirtualFile | None) -> bytes:
    return b"|" if file is None else _numbers(file) + b"|" + _head(file)


def _numbers(file: VirtualFile) -> bytes:
    return b"%d %d %d" % (_DEVICE, file.inode, len(file.data))


def _head(file: VirtualFile) -> bytes:
    return file.data[:HEAD_BYTES].hex().encode()


def _processes(world: DemoWorld, pattern: str) -> bytes:
    matches = re.compile(pattern).search
    processes = tuple(process for process in world.processes() if matches("\0".join(process.args)))
    return processes_answer(ProcessListing(processes, host_time=world.time()))
