"""`specmon connect`: live servers over SSH."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click

from specmon.commands.dialects import reader_of
from specmon.commands.places import Hosts, SshOptions, open_source, parse_sides, resolved
from specmon.commands.reference import chosen_reference, other_references
from specmon.commands.show import show
from specmon.errors import SourceRefused
from specmon.feeds.conditions import ProcessConditions
from specmon.feeds.live import Channel, LiveFeed
from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import HostAddress, LocalPlace, Place, RemotePlace, SourceAddress, host_of, parse_host
from specmon.sources.discovery import Discovery, discover
from specmon.sources.follow import BACKFILL_BYTES, Pace
from specmon.sources.machine import ThisMachine
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost
from specmon.visible import visible


def connect(
    *,
    hosts: Sequence[str],
    baseline: Sequence[str],
    speculative: Sequence[str],
    reference: str | None,
    reference_tok_s: str | None,
    running: str | None,
    format_files: Sequence[Path],
    ssh: SshOptions,
    from_start: bool,
    is_plain: bool,
    interval_s: float,
    theme: str | None,
    is_ascii: bool,
) -> int:
    """Follow servers until the user quits; 2 when none of them can ever be followed."""
    session = Session(
        reference=chosen_reference(reference, reference_tok_s),
        others=other_references(reference),
        reader=reader_of(format_files),
        running=asked_load(running),
    )
    addresses = [parse_host(host) for host in hosts]
    given = parse_sides((), baseline, speculative, first_host=addresses[0])

    async def run() -> int:
        async with Hosts(ssh) as open_hosts:
            channels = (
                await _named(session, given, open_hosts, from_start=from_start)
                if given
                else await _found(session, addresses, open_hosts, from_start=from_start)
            )
            feed = LiveFeed(session, channels, clock=time.time)
            status = await show(feed, is_plain=is_plain, interval_s=interval_s, theme=theme, is_ascii=is_ascii)
            for reason in feed.refusals:
                click.echo(f"specmon: {visible(reason)}", err=True)
            return 2 if len(feed.refusals) == len(channels) else status

    return asyncio.run(run())


async def _named(
    session: Session, given: Sequence[tuple[Role | None, SourceAddress]], hosts: Hosts, *, from_start: bool
) -> list[Channel]:
    """The logs that the user named. Their hosts are reached before there is a screen, so that a question about a
    password or a refusal finds a plain terminal."""
    remote = {host for _, address in given if (host := host_of(address.place)) is not None}
    await reach([hosts.at(host) for host in sorted(remote, key=str)])
    channels = []
    singles = [(role, single) for role, one in given for single in await resolved(one, hosts, follow=True)]
    for number, (role, address) in enumerate(singles, start=1):
        place, key = address.place, f"{number}"
        source = open_source(address, hosts, follow=True, from_start=from_start)
        session.add(key, source.name, role=role, label=address.label)
        channels.append(Channel(key, source, conditions_of(place, hosts)))
    return channels


def conditions_of(place: Place, hosts: Hosts) -> ProcessConditions | None:
    """Who is asked about the process that writes a log; None where no process of a machine can be told."""
    match place:
        case RemotePlace(host, path) if not place.is_glob:
            return ProcessConditions(hosts.at(host), path)
        case LocalPlace(path) if not place.is_glob:
            return ProcessConditions(ThisMachine(), path)
        case _:
            return None


async def _found(
    session: Session, addresses: Sequence[HostAddress], hosts: Hosts, *, from_start: bool
) -> list[Channel]:
    """The servers that run on the hosts."""
    opened = [hosts.at(address) for address in addresses]
    await reach(opened)
    channels: list[Channel] = []
    for host in opened:
        found = await discover(host)
        channels += discovered_channels(session, host, found, first=len(channels) + 1, from_start=from_start)
    if not channels:
        raise SourceRefused("there is no log to follow. Name the logs with --baseline PATH and --spec PATH.")
    return channels


async def reach(hosts: Sequence[SshHost]) -> None:
    """Connect to all hosts at once; the first refusal ends the command."""
    for host in hosts:
        click.echo(f"connecting to {host.name} …", err=True)
    await asyncio.gather(*(host.connect() for host in hosts))


def discovered_channels(
    session: Session,
    host: SshHost,
    found: Discovery,
    *,
    first: int = 1,
    from_start: bool = False,
    pace: Pace | None = None,
    host_name: str | None = None,
) -> list[Channel]:
    """A channel for each found server whose log can be followed; the others are told with the reason.

    With `host_name` the servers are called by that name instead of the one they listen on.
    """
    if found.reason or not found.servers:
        reason = found.reason or "no server process is running there"
        click.echo(f"specmon: {host.name}: {reason.rstrip('.')}. Name its log with --baseline or --spec.", err=True)
    channels: list[Channel] = []
    for server in found.servers:
        if server.log_path is None:
            reason = server.log_reason.rstrip(".")
            click.echo(
                f"specmon: {host.name}: server process {server.pid} is left out: {reason}. "
                "Name its log with --baseline or --spec.",
                err=True,
            )
            continue
        key = f"{first + len(channels)}"
        backfill = None if from_start else BACKFILL_BYTES
        source = RemoteFile(host, server.log_path, backfill_bytes=backfill, pace=pace)
        session.add(key, source.name, label=None if host_name is None else f"{host_name}:{server.port}")
        channels.append(Channel(key, source, ProcessConditions(host, server.log_path)))
    return channels
