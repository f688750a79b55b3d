"""What runs on the machines of a command line, and what `connect` would follow of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeAlias

from specmon.commands.opening import file_on, newest_on
from specmon.commands.places import Hosts
from specmon.commands.programs import open_program
from specmon.errors import SpecmonError
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import LocalPlace, ProgramPlace, RemotePlace, parse_host
from specmon.sources.discovery import DiscoveredServer, Discovery, discover
from specmon.sources.events import Chunk, Source
from specmon.sources.follow import BACKFILL_BYTES, Pace
from specmon.sources.log_place import keeper_of_log
from specmon.sources.machine import ThisMachine
from specmon.sources.old_logs import OldLog, list_logs, read_head
from specmon.sources.ssh import SshHost
from specmon.sources.tmux import panes_by_terminal

THIS_MACHINE = "local:"  # as in a SOURCE; `localhost` is reached over SSH, for it may be the near end of a tunnel
_MOST_HEADS = 8  # of the logs beside a server's log, so many are looked into
_SIDES = (Role.BASELINE, Role.SPECULATIVE)

Target: TypeAlias = SshHost | ThisMachine
LogOfServer: TypeAlias = LocalPlace | RemotePlace | ProgramPlace


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that was found, and where."""

    machine: Target
    server: DiscoveredServer

    @property
    def place(self) -> LogOfServer | None:
        """Where its log can be followed: a file, or what keeps it; None when it has none."""
        path = self.server.log_path
        return place_on(self.machine, self.server.log.kept if path is None else LocalPlace(path))

    @property
    def source(self) -> str:
        """What names its log on a command line; its process when it has none."""
        match self.place:
            case None:
                return f"{self.machine.name}: process {self.server.pid}"
            case LocalPlace(path):
                return f"{THIS_MACHINE}{path}"
            case place:
                return str(place)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended, in a log beside that of a running server."""

    machine: Target
    log: OldLog
    role: Role
    age_s: float | None  # since the log was last written


@dataclass(frozen=True, slots=True)
class Choice:
    """What of it would be followed, and why not the rest."""

    followed: tuple[Candidate, ...]
    left_out: tuple[tuple[Candidate, str], ...]  # with the reason
    rivals: Mapping[Role, tuple[Candidate, ...]] = field(default_factory=dict)  # more than one on a side

    @property
    def missing(self) -> tuple[Role, ...]:
        """The sides on which nothing runs, when exactly one of the two has a server."""
        roles = {Role(each.server.role) for each in self.followed}
        absent = tuple(side for side in _SIDES if side not in roles)
        return absent if len(absent) == 1 else ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found on the machines of a command line, and what is chosen of it."""

    machines: tuple[tuple[Target, Discovery], ...]
    choice: Choice


def machine_of(word: str, hosts: Hosts) -> Target:
    """The machine that a HOST word means. ConfigError when it is no host."""
    return ThisMachine() if word == THIS_MACHINE else hosts.at(parse_host(word))


def place_on(machine: Target, place: ProgramPlace | LocalPlace | None) -> LogOfServer | None:
    """What is at a place of that machine, as seen from here."""
    if place is None or isinstance(machine, ThisMachine):
        return place
    if isinstance(place, ProgramPlace):
        return replace(place, host=machine.address)
    return RemotePlace(machine.address, place.path)


def source_of(machine: Target, path: str) -> str:
    """A log of a machine as a SOURCE names it."""
    return f"{THIS_MACHINE}{path}" if isinstance(machine, ThisMachine) else f"{machine.name}:{path}"


def follower(machine: Target, place: LogOfServer, *, backfill_bytes: int | None, pace: Pace | None = None) -> Source:
    """The log as a source that is followed for ever, from so many bytes before its end (None: from its first byte)."""
    backfill = backfill_bytes
    if isinstance(place, ProgramPlace):
        # What a program prints has no past that could be read later.
        backfill = None if backfill_bytes is None else BACKFILL_BYTES
        return open_program(place, machine, follow=True, backfill_bytes=backfill)
    if keeper_of_log(place.path) is not None and place.is_glob:
        return newest_on(machine, str(place), place.path, backfill)
    return file_on(machine, place.path, follow=True, backfill_bytes=backfill, pace=pace)


async def look_around(machine: Target) -> Discovery:
    """The servers of a machine; those that print to a terminal with the tmux pane that shows it, if there is one."""
    found = await discover(machine)
    if not any(server.log.kind == "terminal" for server in found.servers):
        return found
    panes = await panes_by_terminal(machine)
    return replace(found, servers=tuple(_at_pane(server, panes) for server in found.servers))


def _at_pane(server: DiscoveredServer, panes: Mapping[str, str]) -> DiscoveredServer:
    pane = panes.get(server.log.terminal)
    if server.log.kind != "terminal" or pane is None or server.keeper is not None:
        return server
    return replace(server, log=replace(server.log, kept=ProgramPlace("tmux", pane)))


async def survey(machines: Sequence[Target]) -> list[tuple[Target, Discovery]]:
    """Look for servers on all machines at once."""
    found = await asyncio.gather(*(look_around(machine) for machine in machines))
    return list(zip(machines, found, strict=True))


def choose(found: Sequence[tuple[Target, Discovery]]) -> Choice:
    """Every server whose log can be followed; of several that write to one log, the newest."""
    followed: dict[tuple[str, str], Candidate] = {}
    left_out: list[tuple[Candidate, str]] = []
    for machine, discovery in found:
        for server in discovery.servers:  # the oldest first
            candidate = Candidate(machine, server)
            if candidate.place is None:
                left_out.append((candidate, server.log_reason))
                continue
            key = machine.name, candidate.source
            if (older := followed.pop(key, None)) is not None:
                left_out.append((older, f"process {server.pid}, which is newer, writes to the same log"))
            followed[key] = candidate
    rivals = {
        side: those
        for side in _SIDES
        if len(those := tuple(each for each in followed.values() if each.server.role == side.value)) > 1
    }
    return Choice(tuple(followed.values()), tuple(left_out), rivals)


async def finished_run(choice: Choice, found: Sequence[tuple[Target, Discovery]]) -> FinishedRun | None:
    """The newest run of the side on which nothing runs, in the folders of the logs that are followed."""
    if not choice.missing:
        return None
    (role,) = choice.missing
    live = {(each.machine.name, each.server.log_path) for each in choice.followed}
    times = {machine.name: discovery.host_time for machine, discovery in found}
    best: FinishedRun | None = None
    for candidate in choice.followed:
        if candidate.server.log_path is None:
            continue  # what keeps its log has no folder to look into
        folder = str(PurePosixPath(candidate.server.log_path).parent)
        try:
            listed = await list_logs(candidate.machine, folder)
            ended = [log for log in listed if (candidate.machine.name, log.path) not in live]
            for log in ended[:_MOST_HEADS]:
                if best is not None and log.modified_at <= best.log.modified_at:
                    break
                if _fits(await read_head(candidate.machine, log.path), role, candidate.server):
                    now = times[candidate.machine.name]
                    age_s = None if now is None else max(0.0, now - log.modified_at)
                    best = FinishedRun(candidate.machine, log, role, age_s)
                    break
        except SpecmonError:
            continue  # the live log is worth following all the same
    return best


def _fits(head: bytes, role: Role, live: DiscoveredServer) -> bool:
    """Whether a log begins with a server of a role, serving the same model as far as both tell."""
    session = Session(is_watched=False)
    server = session.add("1", "head")
    session.feed("1", Chunk(0.0, 0, head))
    session.finish("1")
    if len(session.servers) != 1 or server.logged_role is not role:
        return False
    launch = server.lives[-1].launch if server.lives else None
    model = None if launch is None else launch.model
    return model is None or live.model is None or model == live.model


def ago(seconds: float | None) -> str:
    """ "2 h ago"."""
    if seconds is None:
        return "at an unknown time"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
