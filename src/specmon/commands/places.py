"""From the words of a command line to open sources, with one connection a host."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

from specmon.commands.opening import file_on, newest_on
from specmon.errors import UnreadableInput
from specmon.monitor.snapshot import Role
from specmon.sources.address import (
    HostAddress,
    LocalPlace,
    PortPlace,
    ProgramPlace,
    RemotePlace,
    SourceAddress,
    host_of,
    parse_source,
)
from specmon.sources.events import Source
from specmon.sources.files import expand_glob, is_pipe, look_at
from specmon.sources.looks import NoFile

if TYPE_CHECKING:  # asyncssh takes longer to import than many a log to read
    from specmon.sources.jump_hosts import JumpHosts
    from specmon.sources.logins import Logins
    from specmon.sources.machine import ThisMachine
    from specmon.sources.page_access import PageAccess
    from specmon.sources.ssh import SshHost, SshSettings
    from specmon.sources.ssh_login import Prompt, Question


_CLOSE_LIMIT_S = 2.0


class SshOptions(TypedDict):
    """The SSH options of a command line, as they were given."""

    port: int | None
    identities: Sequence[Path]
    jump: str | None
    ssh_config: Path | None
    known_hosts: Path | None


def ssh_settings(options: SshOptions) -> SshSettings:
    """How hosts are reached: what `ssh` would do, with what the command line says instead."""
    from specmon.sources.ssh import SshSettings

    known_hosts = options["known_hosts"]
    return SshSettings(
        config_file=options["ssh_config"],
        port=options["port"],
        client_keys=tuple(options["identities"]),
        jump_host=options["jump"],
        known_hosts=() if known_hosts is None else (known_hosts,),
    )


@dataclass(slots=True)
class Hosts:
    """The hosts of one command, each with the one connection that all its sources share."""

    options: SshOptions | None = None
    prompt: Prompt | None = None  # None: the terminal is asked
    access: PageAccess | None = None  # how servers' pages are asked for; None: without keys
    are_many: bool = False  # then one that cannot be reached is tried again, and the others go on
    _open: dict[HostAddress, SshHost] = field(default_factory=dict)
    _logins: Logins | None = None
    _jumps: JumpHosts[SshHost] | None = None

    def at(self, address: HostAddress) -> SshHost:
        """The host with an address."""
        if address not in self._open:
            from specmon.sources.jump_hosts import JumpHosts
            from specmon.sources.logins import Logins
            from specmon.sources.ssh import SshHost, SshSettings

            self._logins = self._logins or Logins()
            self._jumps = self._jumps or JumpHosts()
            settings = SshSettings() if self.options is None else ssh_settings(self.options)
            if self.are_many:
                settings = replace(settings, waits_for_host=True)
            self._open[address] = SshHost(
                address, settings, prompt=self.prompt or ask_on_terminal, logins=self._logins, jumps=self._jumps
            )
        return self._open[address]

    def machine(self, address: HostAddress | None) -> SshHost | ThisMachine:
        """The host with an address, or this machine."""
        from specmon.sources.machine import ThisMachine

        return ThisMachine() if address is None else self.at(address)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> None:
        import asyncio

        # All at once: one that hangs must not keep the others, nor the user, for long.
        if closing := [asyncio.ensure_future(host.close()) for host in self._open.values()]:
            await asyncio.wait(closing, timeout=_CLOSE_LIMIT_S)


async def ask_on_terminal(question: Question) -> str | None:
    """Ask for a password or passphrase, before there is a screen; nobody is asked without a terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    import asyncio
    import getpass

    from specmon.visible import visible

    # The words are the host's. They go to stderr: stdout may be a file.
    text = "\n".join(visible(line) for line in question.text.splitlines())

    def ask() -> str:
        if not question.is_echoed:
            return getpass.getpass(f"{text} ", stream=sys.stderr)
        sys.stderr.write(f"{text} ")
        sys.stderr.flush()
        return input()

    try:
        return await asyncio.to_thread(ask)
    except EOFError:
        return None


def parse_sides(
    sources: Sequence[str],
    baseline: Sequence[str],
    speculative: Sequence[str],
    *,
    first_host: HostAddress | None = None,
) -> list[tuple[Role | None, SourceAddress]]:
    """The sources of a command line, each with the side that the user puts it on."""
    sides = ((None, sources), (Role.BASELINE, baseline), (Role.SPECULATIVE, speculative))
    return [(role, parse_source(text, first_host=first_host)) for role, texts in sides for text in texts]


def open_source(
    address: SourceAddress,
    hosts: Hosts,
    *,
    follow: bool,
    from_start: bool = True,
    backfill_bytes: int | None = None,
    is_plain: bool = False,
) -> Source:
    """The source at an address: followed for ever, or read to its end.

    Without `from_start` it begins `backfill_bytes` before the end (None: as many as a screen wants). `is_plain`: what a
    program's log carries (stamps, the journal's fields) is left off.
    """
    from specmon.sources.follow import BACKFILL_BYTES  # and with it asyncio, which whole files do without
    from specmon.sources.local import LocalFile
    from specmon.sources.stdin import PipeSource, StdinSource
    from specmon.sources.unpack import Unpacked

    backfill = None if from_start else BACKFILL_BYTES if backfill_bytes is None else backfill_bytes
    match address.place:
        case LocalPlace(path) if not follow and is_pipe(path):
            return Unpacked(PipeSource(path))
        case (LocalPlace(path) | RemotePlace(_, path)) as place if follow and place.is_glob:
            return newest_on(hosts.machine(host_of(place)), str(place), path, backfill)
        case LocalPlace(path):
            return LocalFile(path, follow=follow, backfill_bytes=backfill)
        case RemotePlace(host, path):
            remote = file_on(hosts.at(host), path, follow=follow, backfill_bytes=backfill)
            return remote if follow else Unpacked(remote)
        case ProgramPlace() as place:
            from specmon.commands.programs import open_program

            machine = hosts.machine(place.host)
            return open_program(place, machine, follow=follow, backfill_bytes=backfill, is_plain=is_plain)
        case _:
            return Unpacked(StdinSource())


async def resolved(address: SourceAddress, hosts: Hosts, *, follow: bool) -> list[SourceAddress]:
    """What an address comes to: a server's log for its port; without following, each file that a pattern matches."""
    place = address.place
    if isinstance(place, PortPlace):
        from specmon.commands.ports import log_of_port

        return [SourceAddress(await log_of_port(place, hosts), address.label)]
    if follow:
        return [address]
    if isinstance(place, RemotePlace) and place.is_glob:
        from specmon.sources.matches import remote_matches

        paths = [match.path for match in await remote_matches(hosts.at(place.host), place.path)]
        if not paths:
            raise UnreadableInput(f"{place}: no file matches. Check the pattern and the folder.")
        return [SourceAddress(RemotePlace(place.host, path), address.label) for path in paths]
    return list(expanded(address))


def expanded(address: SourceAddress) -> Iterator[SourceAddress]:
    """One address for each file that a pattern matches."""
    place = address.place
    if isinstance(place, LocalPlace) and place.is_glob:
        for path in expand_glob(place.path):
            yield SourceAddress(LocalPlace(path), address.label)
    else:
        yield address


def local_folder(address: SourceAddress) -> Path | None:
    """The local directory that an address names, None for everything else."""
    place = address.place
    return path if isinstance(place, LocalPlace) and (path := Path(place.path)).is_dir() else None


def readable_file(path: str) -> Path:
    """A local file that is there and may be read; UnreadableInput otherwise."""
    if isinstance(found := look_at(path), NoFile):
        raise UnreadableInput(f"{path}: {found.reason}. Name a log file that can be read.")
    return Path(path)
