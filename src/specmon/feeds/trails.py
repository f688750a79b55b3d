"""From a log to the server process behind it: by the file that it writes, or by what keeps its output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from specmon.sources.discovery import DiscoveredServer, Discovery
from specmon.sources.log_place import keeper_of_log
from specmon.sources.machine import Machine
from specmon.sources.remote_commands import ResolvePath
from specmon.sources.shell_words import behind_greeting
from specmon.sources.whereabouts import Whereabouts

NOT_READ = "not read: launch flags, environment, versions and GPUs"
_LOOK_LIMIT_S = 10.0


class Trail(Protocol):
    """A way from a log to its server among those that run on a machine."""

    async def find(self, host: Machine, found: Discovery) -> DiscoveredServer | str:
        """The server, else why there is none and what to do. Raises SpecmonError when nobody can tell."""
        ...


@dataclass(frozen=True, slots=True)
class FileTrail:
    """A log file: the newest server that writes to it."""

    path: str

    async def find(self, host: Machine, found: Discovery) -> DiscoveredServer | str:
        if (server := writer_of(self.path, found.servers)) is not None:
            return server
        real = self.path
        if found.servers:  # another way to the same file: through a link, or from the login folder
            real = await real_path(host, self.path)
            if (server := writer_of(real, found.servers)) is not None:
                return server
        keeper = keeper_of_log(self.path) or keeper_of_log(real)
        if keeper is not None:  # a container's, which its runtime writes
            return only_server(Whereabouts(f"container {keeper.name}", keeper), host, found)
        told = f"{NOT_READ}: no running server writes to {self.path} itself"
        if found.reason:
            return found.reason
        if hidden := _hidden(found):
            return f"{told} as far as this user may see; process {hidden} is another user's"
        return f"{told} (it has ended, or a pipe stands between)"


@dataclass(frozen=True, slots=True)
class PatternTrail:
    """A pattern of file names: the server that writes to the file that it means now."""

    pattern: str
    newest: Callable[[], Awaitable[str | None]]

    async def find(self, host: Machine, found: Discovery) -> DiscoveredServer | str:
        path = await self.newest()
        if path is None:
            return f"{NOT_READ}: no file matches {self.pattern}"
        return await FileTrail(path).find(host, found)


@dataclass(frozen=True, slots=True)
class ProgramTrail:
    """A program's log: the server in the container, unit or job, or at the terminal, that it tells of."""

    ask: Callable[[], Awaitable[Whereabouts]]

    async def find(self, host: Machine, found: Discovery) -> DiscoveredServer | str:
        return only_server(await self.ask(), host, found)


@dataclass(frozen=True, slots=True)
class NoTrail:
    """A log behind which no process can be told."""

    reason: str

    async def find(self, host: Machine, found: Discovery) -> DiscoveredServer | str:
        return f"{NOT_READ}: {self.reason}"


def only_server(where: Whereabouts, host: Machine, found: Discovery) -> DiscoveredServer | str:
    """The newest server at a place, unless several share it: then nobody can say whose lines are whose."""
    servers = where.servers_among(found.servers)
    if len({server.port for server in servers}) > 1:
        ports = ", ".join(str(server.port) for server in servers)
        return f"{NOT_READ}: {len(servers)} servers write to {where.what} (ports {ports}). Give each a log of its own."
    if servers:
        return servers[-1]
    if found.reason:
        return f"{NOT_READ}: {where.what}: {found.reason}"
    if where.node:
        return (
            f"{NOT_READ}: {where.what} has no server process on {host.name}. It runs on {where.node}: name "
            f"{where.node}:{where.named_there} to read them there."
        )
    return (
        f"{NOT_READ}: {where.what} has no server process that can be seen on {host.name}. It has ended, is too young, "
        f"or runs on another machine: then name that one (HOST:…)."
    )


async def real_path(host: Machine, path: str) -> str:
    """The path without links, as /proc shows it; the same when the machine cannot tell."""
    answer = (await host.run(ResolvePath(path).text(), timeout_s=_LOOK_LIMIT_S)).stdout
    return behind_greeting(answer, b"/").decode("utf-8", "surrogateescape") or path


def writer_of(path: str, servers: Sequence[DiscoveredServer]) -> DiscoveredServer | None:
    """The process that writes a log; the newest, while an old one is still going down."""
    writers = [server for server in servers if server.log_path == path]
    return max(writers, key=lambda server: (server.started_at or 0.0, server.pid), default=None)


def _hidden(found: Discovery) -> str:
    return " or ".join(f"{server.pid}" for server in found.servers if server.is_hidden)
