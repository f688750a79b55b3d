"""What servers are called: host and port where the log tells them, else as much of the path as differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from specmon.monitor.server import ServerMonitor

_SCHEMES = frozenset({"docker", "compose", "journal", "kube", "slurm", "tmux", "cmd", "local", "ssh"})
_HOST = re.compile(r"^(?:[^/@\s]+@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+):")
_NO_HOST = frozenset({"0.0.0.0", "::", "127.0.0.1", "::1", "localhost", ""})  # says where it listens, not who it is


def name_servers(servers: Sequence[ServerMonitor], labels: Sequence[str | None], *, by_log: bool = False) -> list[str]:
    """A name for each server; no two are the same. `by_log` leaves out the addresses."""
    wanted = [
        "" if by_log and not label else _wanted(server, label) for server, label in zip(servers, labels, strict=True)
    ]
    seen = Counter(name for name in wanted if name)
    tails = _tails([server.source for server in servers])
    tails = [f"{tail} {server.stream}" if server.stream else tail for server, tail in zip(servers, tails, strict=True)]
    names = [name if name and seen[name] == 1 else tail for name, tail in zip(wanted, tails, strict=True)]
    twice = Counter(names)
    count: Counter[str] = Counter()
    for position, name in enumerate(names):
        if twice[name] > 1:
            count[name] += 1
            names[position] = f"{name} #{count[name]}"
    return names


def _wanted(server: ServerMonitor, label: str | None) -> str:
    """Servers of one source are told apart by their streams: the addresses they listen on are often the same."""
    if server.stream is None:
        return label or _address(server)
    return f"{label} {server.stream}" if label else server.stream


def _address(server: ServerMonitor) -> str:
    launch = next((life.launch for life in reversed(server.lives) if life.launch is not None), None)
    if launch is None:
        return ""
    host, port = launch.address
    if port is None:
        return ""
    if host is None or host in _NO_HOST:
        host = source_host(server.source) or host or ""
    if not host:
        return ""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def source_host(source: str) -> str | None:
    """The host of "user@gpu01:/var/log/x"; None for a local path or a scheme word."""
    found = _HOST.match(source)
    if found is None or found[1] in _SCHEMES or "/" in source[: found.end()]:
        return None
    return found[1]


def is_command(source: str) -> bool:
    """Whether a source is a command (cmd:…), so that a slash in it parts nothing."""
    return source.startswith("cmd:") or source[_host_end(source) :].startswith("cmd:")


def _host_end(source: str) -> int:
    """Where what is on the host begins: behind "user@gpu01:"."""
    found = _HOST.match(source)
    return 0 if found is None or found[1] in _SCHEMES else found.end()


def _tails(sources: Sequence[str]) -> list[str]:
    """The fewest path parts from the end that tell the sources apart."""
    parts = [(source,) if is_command(source) else PurePosixPath(source).parts or (source,) for source in sources]
    depth = 1
    longest = max((len(path) for path in parts), default=1)
    while depth < longest and len({path[-depth:] for path in parts}) < len(set(sources)):
        depth += 1
    return [path[0] if len(path) == 1 else str(PurePosixPath(*path[-depth:])) for path in parts]
