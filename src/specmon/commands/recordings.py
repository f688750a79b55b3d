"""From the SOURCEs of `reference record` and `reference diff` to the baselines that are in them."""

from __future__ import annotations

import platform
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from specmon.captures.reader import CapturedLog, is_capture, life_at, open_capture
from specmon.commands.dialects import reader_of
from specmon.commands.loop import run_whole
from specmon.commands.metrics import attach_metrics
from specmon.commands.places import Hosts, SshOptions, local_folder, open_source, resolved
from specmon.commands.span import chosen_window, newest_of_files
from specmon.errors import ConfigError, SpecmonError, UnreadableInput
from specmon.monitor.recording import Recording, recording_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.references.model import Reference
from specmon.sources.address import LocalPlace, Place, SourceAddress, host_of, parse_source
from specmon.sources.events import Chunk, Refused
from specmon.sources.files import read_whole
from specmon.visible import visible


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of which logs is asked for."""

    sources: Sequence[str]
    since: str | None = None
    until: str | None = None
    run: int | None = None
    warm_up_s: float = 0.0
    running: int | None = None
    format_files: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """One baseline that was read."""

    source: str
    host: str | None
    recording: Recording

    def as_reference(self, name: str) -> Reference:
        """The recording as a reference of its own; it must have a level."""
        recording = self.recording
        return Reference(
            name=name,
            recorded_at=recording.session.recorded_at,
            host=self.host,
            engine=recording.engine,
            engine_version=recording.engine_version,
            model=recording.model,
            levels=recording.session.level,
            sessions=(recording.session,),
            fingerprint=recording.fingerprint,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    source: str
    server: ServerMonitor
    host: str | None = None
    is_utc: bool = False  # stamps without a zone are UTC


def measure(wanted: Wanted, ssh: SshOptions, *, is_forced: bool, now: datetime) -> list[Measured]:
    """Read every SOURCE to its end: one baseline each. ConfigError or UnreadableInput when one cannot be read."""
    given = [parse_source(text) for text in wanted.sources]
    window = chosen_window(wanted.since, wanted.until, lambda: newest_of_files(given))
    session = Session(
        reader=reader_of(wanted.format_files, window),
        run=wanted.run,
        warm_up_s=wanted.warm_up_s,
        is_watched=False,
    )
    found = run_whole(_read_all(session, given, ssh))
    attach_metrics(session, (), window=window)
    return [
        Measured(
            one.source,
            one.host,
            recording_of(one.server, running=wanted.running, is_forced=is_forced, is_utc=one.is_utc, now=now),
        )
        for one in found
    ]


async def _read_all(session: Session, given: Sequence[SourceAddress], ssh: SshOptions) -> list[_Found]:
    found: list[_Found] = []
    async with Hosts(ssh) as hosts:
        for address in given:
            if (folder := local_folder(address)) is not None and is_capture(folder):
                found.append(_read_capture(session, folder))
                continue
            for single in await resolved(address, hosts, follow=False):
                found.append(await _read(session, single, hosts))
    return found


async def _read(session: Session, address: SourceAddress, hosts: Hosts) -> _Found:
    key = _next_key(session)
    server = session.add(key, address.name, label=address.label)
    place = address.place
    if isinstance(place, LocalPlace):
        for event in read_whole(place.path):
            session.feed(key, event)
    else:
        async for event in open_source(address, hosts, follow=False).events():
            session.feed(key, event)
            if isinstance(event, Refused):
                raise UnreadableInput(event.reason)
    session.finish(key)
    chosen = _one_of(session, key, address.name)
    is_running_here = chosen is server and await _look_at_process(session, key, place, hosts)
    host = platform.node() if is_running_here else None
    there = host_of(place)
    return _Found(address.name, chosen, there.name if there is not None else host or None)


async def _look_at_process(session: Session, key: str, place: Place, hosts: Hosts) -> bool:
    """A server that still runs is asked for its conditions; one that has ended took them along. Whether it runs."""
    server = session.server(key)
    if server.run is not None or server.life is None or server.life.has_ended:
        return False
    from specmon.commands.behind import conditions_of

    if (conditions := conditions_of(place, hosts)) is None:
        return False
    try:
        seen = await conditions.read()
    except SpecmonError as error:
        click.echo(f"specmon: {visible(str(error))}", err=True)
        return False
    if seen.fingerprint is None:
        return False
    session.attach_fingerprint(key, seen.fingerprint)
    if seen.reason:
        click.echo(f"specmon: {visible(f'{place}: {seen.reason}')}", err=True)
    return True


def _read_capture(session: Session, folder: Path) -> _Found:
    """The baseline of a capture: the server that the manifest calls so, else the one whose log says so."""
    capture = open_capture(folder)
    found = []
    for log in capture.logs:
        key = _next_key(session)
        declared = None if log.server.role == "unknown" else Role(log.server.role)
        server = session.add(key, str(folder / log.path.name), role=declared)
        _feed_captured(session, key, log)
        session.finish(key)
        host = log.server.host or None
        found.append(_Found(server.source, server, host, is_utc=capture.manifest.clock == "utc"))
    baselines = [one for one in found if one.server.role is Role.BASELINE]
    if len(baselines) != 1:
        raise ConfigError(
            f"capture {folder}: {len(baselines)} of its {len(found)} servers are baselines. Name the log of one."
        )
    return baselines[0]


def _feed_captured(session: Session, key: str, log: CapturedLog) -> None:
    """Feed a log as it once arrived, so that each life gets the conditions that were seen then."""
    whole = b"".join(log.chunks())
    told, lives, start = None, 0, 0
    ends = [*log.arrivals.offsets]
    ends = [*ends[: bisect_right(ends, len(whole))], len(whole)]
    for end in ends:
        moment = log.arrivals.moment_of(start) if log.arrivals.at else 0.0
        if (life := life_at(log.lives, moment)) is not None and life is not told:
            session.attach_fingerprint(key, life.fingerprint)
            told = life
        if end > start:
            session.feed(key, Chunk(moment, start, whole[start:end]))
            start = end
        if session.server(key).runs != lives:
            # Conditions that a restart did not change are told again, now that the life they belong to is there.
            lives = session.server(key).runs
            if told is not None:
                session.attach_fingerprint(key, told.fingerprint)


def _one_of(session: Session, key: str, source: str) -> ServerMonitor:
    """The baseline of a source, whose carrier may bring the lines of several servers."""
    servers = [server for server in session.servers if server.key == key or server.key.startswith(f"{key}/")]
    if len(servers) == 1:
        return servers[0]
    baselines = [server for server in servers if server.role is Role.BASELINE]
    if len(baselines) == 1:
        return baselines[0]
    raise ConfigError(
        f"{source}: it holds the lines of {len(servers)} servers, {len(baselines)} of them baselines. "
        "Give the log of one."
    )


def _next_key(session: Session) -> str:
    return str(len(session.servers) + 1)
