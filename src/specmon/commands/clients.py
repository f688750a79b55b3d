"""--client: which server a load generator measured, and what its log delivered meanwhile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specmon.clients.reader import read_client
from specmon.clients.result import ClientResult
from specmon.commands.dialects import reader_of
from specmon.errors import ConfigError, UnreadableInput
from specmon.formats.window import TimeWindow
from specmon.monitor.life import Life
from specmon.monitor.method import ClientEvidence
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.files import read_whole

_ROLES = {
    "baseline": Role.BASELINE,
    "base": Role.BASELINE,  # as the lines of the screen have it
    "speculative": Role.SPECULATIVE,
    "spec": Role.SPECULATIVE,
}


@dataclass(frozen=True, slots=True)
class GivenClient:
    """A result and the server that the command line puts it to."""

    result: ClientResult
    label: str | None = None


def read_clients(texts: Sequence[str]) -> list[GivenClient]:
    """The files of a command line, FILE or SERVER=FILE each; ConfigError for one that says nothing of use."""
    given = []
    for text in texts:
        label, sign, path = text.partition("=")
        if not sign or Path(text).exists():
            given.append(GivenClient(read_client(text)))
        else:
            given.append(GivenClient(read_client(path), label.strip()))
    return given


def attach_clients(
    session: Session, given: Sequence[GivenClient], *, format_files: Sequence[Path], window: TimeWindow | None
) -> None:
    """Hold each result against the log of the server that it measured; ConfigError where that is not clear."""
    for client in given:
        result = client.result
        server, meanwhile = _server_of(session, client, format_files, window)
        if server.life is None:
            continue
        figures = (meanwhile or server.life).figures()
        session.attach_client(
            ClientEvidence(server.key, result, figures.delivered_tok_s, figures.accept_len, meanwhile is not None)
        )


def _server_of(
    session: Session, client: GivenClient, format_files: Sequence[Path], window: TimeWindow | None
) -> tuple[ServerMonitor, Life | None]:
    """The server by its label, else by the port, else by the times, else the only one; and its life meanwhile."""
    result = client.result
    servers = [server for server in session.servers if server.life is not None]
    if client.label is not None:
        servers = labelled(session, client.label)
        if len(servers) != 1:
            names = ", ".join(session.names().values())
            raise ConfigError(
                f"client result {result.path}: {client.label!r} is {'no' if not servers else 'more than one'} server. "
                f"Write baseline=FILE, spec=FILE or NAME=FILE with one of {names}."
            )
    elif result.port is not None and len(servers) > 1:
        listening = [server for server in servers if _port_of(server) == result.port]
        servers = listening or servers
    if result.tells_time and servers:
        then = {server.key: _life_then(server, result, format_files, window) for server in servers}
        busy = [server for server in servers if then[server.key] is not None]
        if len(busy) == 1:
            return busy[0], then[busy[0].key]
        if len(servers) == 1:
            return servers[0], None
    if len(servers) != 1:
        raise ConfigError(
            f"client result {result.path}: it does not say which of the servers it measured. "
            "Write --client baseline=FILE or --client spec=FILE."
        )
    return servers[0], None


def labelled(session: Session, label: str) -> list[ServerMonitor]:
    """The servers that a command line means by a side, a name or a source."""
    names = session.names()
    found = [server for server in session.servers if label in (names[server.key], server.source)]
    role = _ROLES.get(label.lower())
    return found or ([] if role is None else list(session.side(role)))


def _port_of(server: ServerMonitor) -> int | None:
    launch = server.life.launch if server.life is not None else None
    return launch.address[1] if launch is not None else None


def _life_then(
    server: ServerMonitor, result: ClientResult, format_files: Sequence[Path], window: TimeWindow | None
) -> Life | None:
    """The judged life again, read over the time of the result alone; None when the log holds none of it."""
    assert server.life is not None
    if result.started_at is None or result.ended_at is None or not Path(server.source).is_file():
        return None  # what came over a pipe or from afar is not read twice
    # Stamps are cut to whole seconds. No margin: what ran before and after may be another load.
    narrow = _common(TimeWindow(math.floor(result.started_at), result.ended_at), window)
    again = Session(reader=reader_of(format_files, narrow), is_watched=False)
    again.add(server.key, server.source, role=server.declared)
    try:
        for event in read_whole(server.source):
            again.feed(server.key, event)
    except UnreadableInput:
        return None
    again.finish()
    twins = [each for each in again.servers if each.stream == server.stream]
    if len(twins) != 1 or len(twins[0].lives) < server.life.index:
        return None
    life = twins[0].lives[server.life.index - 1]
    return life if life.figures().delivered_tok_s is not None else None


def _common(left: TimeWindow, right: TimeWindow | None) -> TimeWindow:
    if right is None:
        return left
    since = max((each for each in (left.since, right.since) if each is not None), default=None)
    until = min((each for each in (left.until, right.until) if each is not None), default=None)
    return TimeWindow(since, until)
