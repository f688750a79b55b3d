"""Under which conditions the process runs that writes a log, asked of its machine."""

from __future__ import annotations

from collections.abc import Sequence

from specmon.feeds.live import Seen
from specmon.references.fingerprint import Fingerprint
from specmon.sources.discovery import DiscoveredServer, discover
from specmon.sources.ssh import SshHost


class ProcessConditions:
    """Finds the newest server process that writes to a path, and reads its command line and environment."""

    def __init__(self, host: SshHost, path: str) -> None:
        self._host = host
        self._path = path

    async def read(self) -> Seen:
        """The conditions now; no fingerprint when no process writes there."""
        writer = writer_of(self._path, (await discover(self._host)).servers)
        return Seen(fingerprint_of(writer), "" if writer is None else writer.env_reason)


def writer_of(path: str, servers: Sequence[DiscoveredServer]) -> DiscoveredServer | None:
    """The process that writes a log; the newest, while an old one is still going down."""
    writers = [server for server in servers if server.log_path == path]
    return max(writers, key=lambda server: (server.started_at or 0.0, server.pid), default=None)


def fingerprint_of(server: DiscoveredServer | None) -> Fingerprint | None:
    """What a found process proves. An environment that could be read in part only proves no absence."""
    if server is None:
        return None
    return Fingerprint.of_process(flags=None, env=None if server.env_reason else server.env)
