"""`specmon connect`: live servers over SSH."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import click

from specmon.captures.writer import make_folder
from specmon.commands.asking import UserPrompt
from specmon.commands.behind import conditions_of, conditions_on, counters_of
from specmon.commands.choosing import choose_sides
from specmon.commands.dialects import reader_of
from specmon.commands.handover import Notify, chosen_webhook
from specmon.commands.loop import run_whole
from specmon.commands.page_access import PageOptions, page_access
from specmon.commands.places import Hosts, SshOptions, open_source, parse_sides, resolved
from specmon.commands.progress import waiting
from specmon.commands.reaching import join_later, soon
from specmon.commands.recording import recorder_of
from specmon.commands.reference import chosen_reference, other_references, reference_places
from specmon.commands.show import has_screen, show
from specmon.commands.survey import (
    THIS_MACHINE,
    Choice,
    FinishedRun,
    Survey,
    Target,
    ago,
    choose,
    finished_run,
    follower,
    look_around,
    machine_of,
    source_of,
    survey,
)
from specmon.errors import ConfigError, SourceLost, SourceRefused, SpecmonError
from specmon.feeds.backfill import Depth
from specmon.feeds.counters import MetricsPage
from specmon.feeds.live import Channel, LiveFeed
from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import HostAddress, LocalPlace, PortPlace, RemotePlace, SourceAddress, host_of, parse_host
from specmon.sources.deferred import Deferred
from specmon.sources.discovery import Discovery
from specmon.sources.events import Source
from specmon.sources.follow import BACKFILL_BYTES, TAIL_BYTES, Pace
from specmon.sources.page_access import PageAccess
from specmon.sources.ssh import SshHost
from specmon.visible import visible

_NAME_IT = "Name its log with --baseline or --spec."
_OPTIONS = {Role.BASELINE: "--baseline", Role.SPECULATIVE: "--spec"}


def connect(
    *,
    reference: str | None,
    on_desktop: bool,
    webhook: str | None,
    is_plain: bool,
    interval_s: float,
    theme: str | None,
    is_ascii: bool,
    **followed: Any,
) -> int:
    """Follow servers on a screen, or as plain lines, until the user quits. `followed` is for `follow`."""
    prompt = UserPrompt()
    return follow(
        **followed,
        reference=reference,
        rivals="refuse" if is_plain or not has_screen() else "ask",
        prompt=prompt,
        present=partial(
            show,
            is_plain=is_plain,
            interval_s=interval_s,
            theme=theme,
            is_ascii=is_ascii,
            prompt=prompt,
            notify=Notify(on_desktop=on_desktop, webhook=chosen_webhook(webhook)),
            folders=reference_places(reference),
        ),
    )


def follow(
    *,
    hosts: Sequence[str],
    baseline: Sequence[str],
    speculative: Sequence[str],
    reference: str | None,
    reference_tok_s: str | None,
    running: str | None,
    format_files: Sequence[Path],
    ssh: SshOptions,
    pages: PageOptions,
    from_start: bool = False,
    is_all: bool = False,
    record: Path | None = None,
    rivals: Literal["ask", "refuse", "tell"],
    prompt: UserPrompt,
    present: Callable[[LiveFeed], Awaitable[int]],
) -> int:
    """Follow servers as long as `present` runs the feed; 2 when none of them can ever be followed.

    `rivals`: what is done where several servers of one role were found. Unless the user can be asked, there is no list
    of events either, and what could not be had of a server goes to stderr.
    """
    if from_start and is_all:
        raise ConfigError("--from-start and --all exclude each other: leave one out.")
    access = page_access(pages, first_host=hosts[0], environ=os.environ)
    if record is not None:
        make_folder(record)
    # A capture is written in the order of the log, so what goes into one is read in that order.
    depth = None if from_start or record is not None else Depth(None if is_all else BACKFILL_BYTES)
    backfill_bytes = None if from_start else TAIL_BYTES if depth is not None else None if is_all else BACKFILL_BYTES
    session = Session(
        reference=chosen_reference(reference, reference_tok_s),
        others=other_references(reference),
        reader=reader_of(format_files),
        running=asked_load(running),
    )
    first = None if hosts[0] == THIS_MACHINE else parse_host(hosts[0])
    given = parse_sides((), baseline, speculative, first_host=first)

    async def run() -> int:
        places = {host_of(address.place) for _, address in given} if given else set(hosts)
        async with Hosts(ssh, prompt, access, are_many=len(places) > 1) as open_hosts:
            arrivals: list[Callable[[LiveFeed], Awaitable[None]]] = []
            asking: asyncio.Task[None] | None = None
            if given:
                channels = await named_channels(
                    session, given, open_hosts, backfill_bytes=backfill_bytes, is_asking=lambda: prompt.is_asking
                )
            else:
                machines = [machine_of(host, open_hosts) for host in hosts]
                found, absent = await survey_soon(machines, is_asking=lambda: prompt.is_asking)
                channels = await chosen_of(
                    session,
                    found,
                    backfill_bytes=backfill_bytes,
                    can_choose_later=rivals != "refuse",
                    access=access,
                )
                arrivals = [
                    arrival_of(session, machine, f"{len(channels) + number}", backfill_bytes, access)
                    for number, machine in enumerate(absent, start=1)
                ]
                if found.choice.rivals and rivals == "tell":
                    click.echo(f"specmon: {visible(rivals_sentence(found.choice))}", err=True)
                elif found.choice.rivals:
                    asking = asyncio.create_task(choose_sides(prompt, session, found, channels))
            recorder = None if record is None else recorder_of(record, session, channels)
            feed = LiveFeed(session, channels, clock=time.time, recorder=recorder, past=depth, arrivals=arrivals)
            if rivals != "ask":
                feed.telling = partial(_warn, session)
            try:
                status = await present(feed)
            finally:
                if asking is not None:
                    asking.cancel()
                if recorder is not None:
                    recorder.close()
                    was_told = feed.has_told_fault and feed.telling is not None
                    if recorder.fault is not None and not was_told:
                        click.echo(f"specmon: {visible(recorder.fault)}", err=True)
            for reason in feed.refusals:
                click.echo(f"specmon: {visible(reason)}", err=True)
            return 2 if len(feed.refusals) == len(channels) + len(arrivals) else status

    return run_whole(run())


def _warn(session: Session, key: str, reason: str) -> None:
    """Plain lines have no list of events: what could not be had of a server goes to stderr."""
    click.echo(f"specmon: {visible(f'{session.names().get(key, key)}: {reason}').rstrip('.')}.", err=True)


async def named_channels(
    session: Session,
    given: Sequence[tuple[Role | None, SourceAddress]],
    hosts: Hosts,
    *,
    backfill_bytes: int | None,
    is_asking: Callable[[], bool] = lambda: False,
) -> list[Channel]:
    """The logs that the user named. Their hosts are reached before there is a screen, so that a question about a
    password or a refusal finds a plain terminal; of several hosts, those that take long are not waited for."""
    absent: set[HostAddress] = set()
    remote = {host for _, address in given if (host := host_of(address.place)) is not None}
    machines = [hosts.at(host) for host in sorted(remote, key=str)]
    if hosts.are_many and machines:
        # One that does not answer is followed all the same: its source says so, and tries again.
        told_connecting(machines)
        answers = await soon([machine.connect() for machine in machines], is_asking=is_asking)
        absent = {
            machine.address
            for machine, answer in zip(machines, answers, strict=True)
            if answer is None or isinstance(answer, SpecmonError)
        }
    else:
        await reach(machines)
    channels = []
    singles = []
    for role, one in given:
        is_absent = isinstance(one.place, PortPlace) and one.place.host in absent
        singles += [(role, single) for single in ([one] if is_absent else await resolved(one, hosts, follow=True))]
    for number, (role, address) in enumerate(singles, start=1):
        place, key = address.place, f"{number}"
        # What a program prints has no past that could be read later.
        most = backfill_bytes if isinstance(place, LocalPlace | RemotePlace) else BACKFILL_BYTES
        is_whole = backfill_bytes is None
        if isinstance(place, PortPlace):
            # Its host has not answered yet: which log the server writes is found out when it does.
            source: Source = _of_port(address, hosts, backfill_bytes)
        else:
            source = open_source(address, hosts, follow=True, from_start=is_whole, backfill_bytes=most)
        session.add(key, source.name, role=role, label=address.label)
        channels.append(Channel(key, source, conditions_of(place, hosts), counters_of(place, hosts)))
    return channels


def _of_port(address: SourceAddress, hosts: Hosts, backfill_bytes: int | None) -> Source:
    async def find() -> Source:
        (single,) = await resolved(address, hosts, follow=True)
        is_whole = backfill_bytes is None
        return open_source(single, hosts, follow=True, from_start=is_whole, backfill_bytes=backfill_bytes)

    return Deferred(str(address.place), find)


async def survey_of(machines: Sequence[Target]) -> Survey:
    """What runs on the machines, and what would be followed of it."""
    found = await looked_at(machines)
    return Survey(tuple(found), choose(found))


async def survey_soon(machines: Sequence[Target], *, is_asking: Callable[[], bool]) -> tuple[Survey, list[Target]]:
    """The same of those that answer soon, and the machines that do not.

    With one machine its fault ends the command; of several, the command goes on with the others.
    """
    if len(machines) == 1:
        return await survey_of(machines), []
    told_connecting(machines)
    answers = await soon([_look_at(machine) for machine in machines], is_asking=is_asking)
    found: list[tuple[Target, Discovery]] = []
    absent: list[Target] = []
    for machine, answer in zip(machines, answers, strict=True):
        if isinstance(answer, Discovery) and choose([(machine, answer)]).followed:
            found.append((machine, answer))
            continue
        absent.append(machine)
        if isinstance(answer, SpecmonError):
            click.echo(f"specmon: {visible(str(answer))}", err=True)
        elif answer is not None:
            tell_empty(machine, answer)
    return Survey(tuple(found), choose(found)), absent


async def _look_at(machine: Target) -> Discovery:
    if isinstance(machine, SshHost):
        await machine.connect()
    return await look_around(machine)


def arrival_of(
    session: Session, machine: Target, key: str, backfill_bytes: int | None, access: PageAccess | None
) -> Callable[[LiveFeed], Awaitable[None]]:
    """A row for a host that has not answered yet, and what lets its servers join when it does."""
    session.add(key, machine.name)

    async def find() -> list[Channel]:
        found = await _look_at(machine)
        choice = choose([(machine, found)])
        if not choice.followed:
            reason = found.reason or "no server whose log can be followed is running there"
            raise SourceLost(f"{machine.name}: {reason.rstrip('.')}")
        return chosen_channels(session, choice, keys_from=key, backfill_bytes=backfill_bytes, access=access)

    return lambda feed: join_later(feed, key, find)


async def chosen_of(
    session: Session,
    found: Survey,
    *,
    backfill_bytes: int | None,
    can_choose_later: bool,
    access: PageAccess | None = None,
) -> list[Channel]:
    """The servers that were found; and when only one side is alive, the last run of the other in its log."""
    choice = found.choice
    if choice.rivals and not can_choose_later:
        raise SourceRefused(rivals_sentence(choice))
    channels = chosen_channels(session, choice, backfill_bytes=backfill_bytes, access=access)
    if not channels:
        raise SourceRefused("there is no log to follow. Name the logs with --baseline PATH and --spec PATH.")
    if choice.rivals:
        session.tell(channels[0].key, time.time(), rivals_sentence(choice))
    ended = await finished_run(choice, found.machines)
    if ended is not None:
        channels.append(_stand_in(session, ended, f"{len(channels) + 1}", backfill_bytes=backfill_bytes))
    return channels


async def found_channels(
    session: Session, machines: Sequence[Target], *, first: int, backfill_bytes: int | None, access: PageAccess
) -> list[Channel]:
    """Every server that runs on the machines, however many of one role."""
    choice = choose(await looked_at(machines))
    return chosen_channels(session, choice, first=first, backfill_bytes=backfill_bytes, access=access)


async def looked_at(machines: Sequence[Target]) -> list[tuple[Target, Discovery]]:
    """What runs on the machines; one on which nothing was found is told."""
    await reach(machines)
    with waiting(f"looking for servers on {', '.join(machine.name for machine in machines)}"):
        found = await survey(machines)
    for machine, discovery in found:
        tell_empty(machine, discovery)
    return found


def tell_empty(machine: Target, discovery: Discovery) -> None:
    """Say that nothing was found on a machine, and why."""
    if discovery.reason or not discovery.servers:
        reason = discovery.reason or "no server process is running there"
        click.echo(f"specmon: {machine.name}: {reason.rstrip('.')}. {_NAME_IT}", err=True)


def rivals_sentence(choice: Choice) -> str:
    """That a side has several servers, with the candidates, and how to choose."""
    parts = []
    for role, rivals in choice.rivals.items():
        choices = (f"{_OPTIONS[role]} {shlex.quote(each.source)}" for each in rivals)
        parts.append(f"{len(rivals)} {role} servers run: {', '.join(choices)}")
    return f"{'; '.join(parts)}. Choose one for each side with --baseline SOURCE and --spec SOURCE."


def _stand_in(session: Session, ended: FinishedRun, key: str, *, backfill_bytes: int | None) -> Channel:
    """The log of a run that has ended, plainly labelled; nobody can be asked for its conditions any more."""
    path = ended.log.path
    sentence = (
        f"no {ended.role} server runs; its last run found stands in: {source_of(ended.machine, path)}, "
        f"written {ago(ended.age_s)}. Name another log with {_OPTIONS[ended.role]}."
    )
    click.echo(f"specmon: {visible(sentence)}", err=True)
    source = follower(ended.machine, LocalPlace(path), backfill_bytes=backfill_bytes)
    server = session.add(key, source.name, label=f"{visible(PurePosixPath(path).name)} (ended run)")
    server.ended_run_at = ended.log.modified_at if ended.age_s is None else time.time() - ended.age_s
    session.tell(key, time.time(), sentence)
    return Channel(key, source)


async def reach(machines: Sequence[Target]) -> None:
    """Connect to all hosts at once; the first refusal ends the command."""
    hosts = told_connecting(machines)
    await asyncio.gather(*(host.connect() for host in hosts))


def told_connecting(machines: Sequence[Target]) -> list[SshHost]:
    """Say which hosts are dialled; those among the machines are handed back."""
    hosts = [machine for machine in machines if isinstance(machine, SshHost)]
    for host in hosts:
        click.echo(f"connecting to {host.name} …", err=True)
    return hosts


def chosen_channels(
    session: Session,
    choice: Choice,
    *,
    first: int = 1,
    backfill_bytes: int | None,
    pace: Pace | None = None,
    host_name: str | None = None,
    access: PageAccess | None = None,
    keys_from: str | None = None,
) -> list[Channel]:
    """A channel for each chosen server; those that are left out are told with the reason.

    With `host_name` the servers are called by that name instead of the one they listen on.
    """
    for left_out, reason in choice.left_out:
        where, pid = left_out.machine.name, left_out.server.pid
        told = f"{where}: server process {pid} is left out: {reason.rstrip('.')}. {_NAME_IT}"
        click.echo(f"specmon: {visible(told)}", err=True)
    channels: list[Channel] = []
    for number, candidate in enumerate(choice.followed, start=first):
        machine, server, place = candidate.machine, candidate.server, candidate.place
        assert place is not None
        key = f"{number}" if keys_from is None else keys_from if number == first else f"{keys_from}.{number}"
        source = follower(machine, place, backfill_bytes=backfill_bytes, pace=pace)
        session.add(key, source.name, label=None if host_name is None else f"{host_name}:{server.port}")
        channels.append(Channel(key, source, conditions_on(machine, place, access), MetricsPage(machine, access)))
    return channels
