"""The checks of `specmon doctor`: each asks one thing of a host, and is fine or has a mend."""

from __future__ import annotations

import asyncio
import shlex
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import asyncssh

from specmon.commands.connect import rivals_sentence
from specmon.commands.discover import metrics_of, unread
from specmon.commands.opening import file_on, matches_on
from specmon.commands.programs import open_program
from specmon.commands.survey import Candidate, LogOfServer, Target, ago, choose, look_around, source_of
from specmon.errors import SourceLost, SourceRefused, SpecmonError
from specmon.feeds.conditions import speaks_tls
from specmon.monitor.session import Session
from specmon.sources.address import ProgramPlace
from specmon.sources.discovery import DiscoveredServer, Discovery
from specmon.sources.events import Chunk, Refused, Waiting
from specmon.sources.examine import NEEDED, examine, read_clock, read_end, read_growth
from specmon.sources.matches import newest
from specmon.sources.old_logs import read_head
from specmon.sources.page import Door, Pages
from specmon.sources.page_access import PageAccess
from specmon.sources.sftp_file import SftpReach
from specmon.sources.ssh import SshHost
from specmon.sources.ssh_config import ignored_settings

State = Literal["ok", "note", "fault"]

MOST_SKEW_S = 2.0  # ages on the screen would be wrong by as much
_GROWTH_S = 2.0
_END_BYTES = 262144
_STARTING_S = 60.0
_KEPT_LIMIT_S = 30.0
_METRICS_BYTES = 8 << 20
_METRICS_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the result."""

    name: str
    state: State  # "note": nothing is wrong, and something could be better
    text: str
    mend: str = ""
    pid: int | None = None  # of the server that it is about


async def check_host(machine: Target, access: PageAccess) -> AsyncIterator[Check]:
    """All checks, each as soon as it is done; what cannot be asked any more is left out."""
    if isinstance(machine, SshHost):
        is_reached = True
        async for check in _reach(machine):
            yield check
            is_reached = check.state != "fault"
        if not is_reached:
            return
    try:
        yield await _shell(machine)
        yield await _clock(machine)
        found = await look_around(machine)
    except SpecmonError as error:
        mend = "Log in as a user who has a POSIX shell there."
        if isinstance(machine, SshHost) and await _has_sftp(machine):
            mend += " Logs can be named all the same: they are read over SFTP."
        yield Check("shell", "fault", str(error).partition(". ")[0], mend)
        return
    yield _discovery(machine, found)
    pages = Pages(machine, access)
    for server in found.servers:
        async for check in _server(machine, server, pages):
            yield check


async def _reach(host: SshHost) -> AsyncIterator[Check]:
    try:
        connection = await host.connect()
    except SpecmonError as error:
        yield refused_check(error)
        return
    peer = connection.get_extra_info("peername")
    # Behind a jump host or a ProxyCommand nobody here knows the address.
    is_known = isinstance(peer, tuple) and len(peer) >= 2 and peer[0]
    jumps = host.hop_names[:-1]
    if is_known:
        yield Check("name", "ok", f"{host.address.name} is {peer[0]}")
    else:
        who = f"the jump host {jumps[-1]}" if jumps else "the ProxyCommand"
        yield Check("name", "ok", f"{host.address.name} is known to {who}")
    parts = [f"{peer[0]} port {peer[1]}"] if is_known else []
    if jumps:
        parts.append(f"through {' and '.join(jumps)}")
    yield Check("reach", "ok", ", ".join(parts) or "through a command")
    key = connection.get_server_host_key()
    if key is not None:
        yield Check("key", "ok", f"{key.get_algorithm()} {key.get_fingerprint()} is on record")
    yield Check("login", "ok", f"as {connection.get_extra_info('username')}")
    for setting in await ignored_settings(host.address.name, host.settings.config_file):
        if setting.option == "UserKnownHostsFile" and host.settings.known_hosts:
            continue
        yield Check("config", "note", setting.text, setting.mend)


def refused_check(error: SpecmonError) -> Check:
    """Which step on the way to a host failed."""
    cause = error.__cause__
    name = "reach"
    if isinstance(cause, socket.gaierror):
        name = "name"
    elif isinstance(cause, asyncssh.HostKeyNotVerifiable):
        name = "key"
    elif isinstance(cause, asyncssh.PermissionDenied | asyncssh.KeyImportError | asyncssh.KeyEncryptionError):
        name = "login"
    elif isinstance(cause, asyncssh.ConfigParseError):
        name = "config"
    fault, _, mend = str(error).partition(". ")
    return Check(name, "fault", fault, mend)


async def _has_sftp(host: SshHost) -> bool:
    try:
        async with SftpReach(host).asking():
            return True
    except SpecmonError:
        return False


async def _shell(machine: Target) -> Check:
    tools = await examine(machine)
    missing = [name for name in tools.lacks if name in NEEDED]
    told = f"{tools.shell or 'a shell'} on {tools.system or 'an unknown system'}, {tools.tail} tail"
    if missing:
        return Check(
            "shell", "fault", f"{told}; without {', '.join(missing)}", "Install coreutils or BusyBox on the host."
        )
    if tools.greeting_bytes:
        return Check(
            "shell",
            "note",
            f"{told}; the login shell prints {tools.greeting_bytes} bytes before a command begins",
            "specmon passes over them; let the start-up files print only when `$-` holds an i.",
        )
    return Check("shell", "ok", told)


async def _clock(machine: Target) -> Check:
    reading = await read_clock(machine)
    side = "ahead of" if reading.skew_s > 0 else "behind"
    told = (
        f"{abs(reading.skew_s):.3f} s {side} this machine, give or take {reading.uncertain_by_s:.3f} s "
        f"(round trip {reading.round_trip_s * 1000:.0f} ms)"
    )
    if abs(reading.skew_s) - reading.uncertain_by_s > MOST_SKEW_S:
        return Check(
            "clock", "fault", told, "Let chrony or systemd-timesyncd set both clocks; ages are off by as much."
        )
    return Check("clock", "ok", told)


def _discovery(machine: Target, found: Discovery) -> Check:
    if found.reason:
        return Check("servers", "fault", found.reason, "Name the logs with --baseline and --spec.")
    if not found.servers:
        return Check(
            "servers", "fault", "no server process is running", "Start one, or name a log with --baseline or --spec."
        )
    choice = choose([(machine, found)])
    told = f"{len(found.servers)} found, {len(choice.followed)} with a log that can be followed"
    if not choice.followed:
        return Check("servers", "fault", told, "See below what each of them lacks.")
    if choice.rivals:
        return Check("servers", "note", told, rivals_sentence(choice))
    return Check("servers", "ok", told)


async def _server(machine: Target, server: DiscoveredServer, pages: Pages) -> AsyncIterator[Check]:
    pid = server.pid
    title = f"process {pid}: {server.role} {server.engine}, port {server.port}"
    for reason in unread(server):
        yield Check("permissions", "note", f"{title}: {reason}", "Log in as its user or as root to see all.", pid)
    if not unread(server):
        yield Check("permissions", "ok", f"{title}: its command line, environment and output can be seen", pid=pid)
    path, place = server.log_path, Candidate(machine, server).place
    if path is None and place is not None:
        async for check in _kept_log(machine, server, place, title):
            yield check
    elif path is None:
        mend = "Restart it with `2>&1 | tee FILE` or `> FILE 2>&1`, or name its log with --baseline or --spec."
        if server.log.by_hand:
            mend = f"Read it with `{server.log.by_hand}`."
        elif server.log.kind == "hidden":
            mend = "Log in as its user or as root, or name its log with --baseline or --spec."
        yield Check("log", "fault", f"{title}: {server.log_reason}", mend, pid)
    else:
        if server.log_reason:
            yield Check("log", "fault", f"{title}: {server.log_reason}", "Start it with `> FILE 2>&1`.", pid)
        async for check in _log(machine, server, path, title):
            yield check
    yield await _metrics(pages, server, title)


async def _kept_log(machine: Target, server: DiscoveredServer, place: LogOfServer, title: str) -> AsyncIterator[Check]:
    """Whether this user may read what a program keeps, and whether a server's lines are in it."""
    if isinstance(place, ProgramPlace):
        source = open_program(place, machine, follow=False, backfill_bytes=_END_BYTES)
    else:
        found = newest(await matches_on(machine, place.path))
        path = place.path if found is None else found.path
        source = file_on(machine, path, follow=False, backfill_bytes=_END_BYTES)
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(_KEPT_LIMIT_S):
            async for event in source.events():
                if isinstance(event, Refused):
                    raise SourceRefused(event.reason)
                if isinstance(event, Waiting):
                    raise SourceLost(event.reason)
                if isinstance(event, Chunk):
                    parts.append(event.data)
    except TimeoutError:
        yield Check("log", "fault", f"{title}: {place} gives no answer in time", "Try the same by hand.", server.pid)
        return
    except SpecmonError as error:
        fault, _, mend = str(error).partition(". ")
        yield Check("log", "fault", f"{title}: {fault}", mend or "Log in as a user who may read it.", server.pid)
        return
    data = b"".join(parts)
    yield Check("log", "ok", f"{title}: {server.keeper or 'tmux'} keeps it, read as {place}", pid=server.pid)
    yield _format(machine, server, str(place), data, b"")


async def _log(machine: Target, server: DiscoveredServer, path: str, title: str) -> AsyncIterator[Check]:
    pid = server.pid
    head = await read_head(machine, path)
    growth = await read_growth(machine, path, _GROWTH_S)
    if growth is None or (not head and growth.size):
        yield Check(
            "log",
            "fault",
            f"{title}: no permission to read {path}",
            f"Let this user read it: `chmod o+r {shlex.quote(path)}`.",
            pid,
        )
        return
    if growth.grown_bytes > 0:
        told = f"{path} grows: {growth.grown_bytes / growth.over_s:,.0f} bytes/s, {growth.size:,} bytes"
    else:
        told = f"{path} is silent, last written {ago(growth.silent_s)}, {growth.size:,} bytes"
    yield Check("log", "ok", told, pid=pid)
    end = await read_end(machine, path, _END_BYTES) if growth.size > len(head) else b""
    yield _format(machine, server, source_of(machine, path), head, end)


def ssh_words(machine: Target) -> list[str]:
    """The options with which another command of ours reaches the same host."""
    if not isinstance(machine, SshHost):
        return []
    settings = machine.settings
    named = (("-F", settings.config_file), ("-p", settings.port), ("-J", settings.jump_host))
    words = [word for option, value in named if value is not None for word in (option, str(value))]
    words += [word for key in settings.client_keys for word in ("-i", str(key))]
    return words + [word for file in settings.known_hosts for word in ("--known-hosts", str(file))]


def _format(machine: Target, server: DiscoveredServer, source: str, head: bytes, end: bytes) -> Check:
    session = Session(is_watched=False)
    monitor = session.add("1", source)
    session.feed("1", Chunk(0.0, 0, head))
    if end:
        session.feed("1", Chunk(0.0, len(head), b"\n" + end))
    session.finish("1")
    explain = f"See `{shlex.join(['specmon', 'formats', 'explain', *ssh_words(machine), source])}`."
    if not monitor.recognised:
        if not head:
            return Check("format", "note", "the log is empty", "Wait until the server has started.", server.pid)
        return Check("format", "fault", "no line is recognised as a server's", explain, server.pid)
    if monitor.engine != server.engine:
        told = f"its lines are {monitor.engine}'s, its process is {server.engine}"
        return Check("format", "fault", told, explain, server.pid)
    if not monitor.samples:
        told = f"{monitor.engine} lines, and no decode statistics among the first and last ones"
        return Check("format", "note", told, "Send requests; see that nothing switches statistics off.", server.pid)
    return Check("format", "ok", f"{monitor.engine} lines with decode statistics", pid=server.pid)


async def _metrics(pages: Pages, server: DiscoveredServer, title: str) -> Check:
    pid, door = server.pid, Door(server.host, server.port, speaks_tls(server))
    answer = await pages.ask(
        door, "/metrics", limit_bytes=_METRICS_BYTES, accept="text/plain", limit_s=_METRICS_LIMIT_S
    )
    if answer.body is not None:
        series = sum(1 for line in answer.body.split(b"\n") if line and not line.startswith(b"#"))
        return Check("metrics", "ok", f"{title}: /metrics answers with {series} series", pid=pid)
    fault = f"{title}: {answer.reason}"
    if answer.is_unreachable:
        return Check("metrics", "fault", fault, "Set AllowTcpForwarding to `local` in sshd_config.", pid)
    if answer.is_closed:
        return Check("metrics", "note", fault, "Wait until it has loaded, or check --port.", pid)
    if answer.is_silent:
        scheme = "https" if door.is_tls else "http"
        return Check("metrics", "fault", fault, f"Try `curl {scheme}://{door.address}:{door.port}/metrics` there.", pid)
    return Check("metrics", "note", fault, f"{metrics_of(server)}." if answer.is_missing else answer.mend, pid)
