"""From a scheme word of the command line to the source behind it."""

from __future__ import annotations

from specmon.commands.places import Hosts, file_at
from specmon.errors import SourceRefused
from specmon.sources.address import HostAddress, PortPlace, ProgramPlace, RemotePlace
from specmon.sources.command import CommandSource
from specmon.sources.deferred import Deferred
from specmon.sources.discovery import DiscoveredServer, discover
from specmon.sources.docker import DockerLog
from specmon.sources.events import Source
from specmon.sources.joined import Joined
from specmon.sources.journal import JournalLog
from specmon.sources.kubernetes import PATTERN, KubernetesLog
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_follow import ProgramSource
from specmon.sources.program_log import LogProgram
from specmon.sources.slurm import find_job
from specmon.sources.tmux import TmuxSource
from specmon.sources.unpack import Unpacked


def open_program(
    place: ProgramPlace, hosts: Hosts, *, follow: bool, backfill_bytes: int | None, is_plain: bool
) -> Source:
    """The source that a scheme word names."""
    machine, name = hosts.machine(place.host), str(place)
    match place.scheme:
        case "cmd":
            command = CommandSource(name, machine, place.what, follow=follow)
            return command if follow else Unpacked(command)
        case "tmux":
            return TmuxSource(name, machine, place.what, follow=follow, backfill_bytes=backfill_bytes)
        case "slurm":

            async def find() -> Source:
                job = await find_job(machine, name, place.what)
                files = [
                    file_at(place.host, path, hosts, follow=follow, backfill_bytes=backfill_bytes) for path in job.paths
                ]
                return files[0] if len(files) == 1 else Joined(name, files)

            return Deferred(name, find)
        case _:
            return ProgramSource(
                _log_program(place, machine, is_plain=is_plain), follow=follow, backfill_bytes=backfill_bytes
            )


def _log_program(place: ProgramPlace, machine: StreamingMachine, *, is_plain: bool) -> LogProgram:
    name = str(place)
    match place.scheme:
        case "docker":
            return DockerLog(name, machine, container=place.what, keeps_stamps=not is_plain)
        case "compose":
            return DockerLog(name, machine, service=place.what, keeps_stamps=not is_plain)
        case "journal":
            return JournalLog(name, machine, place.what, as_json=not is_plain)
        case _:
            found = PATTERN.fullmatch(place.what)
            assert found is not None, "the address has been checked"
            return KubernetesLog(
                name,
                machine,
                found["namespace"],
                found["pod"],
                found["container"],
                is_previous=found["previous"] is not None,
                keeps_stamps=not is_plain,
            )


async def log_of_port(place: PortPlace, hosts: Hosts) -> RemotePlace:
    """The log of the server that listens on a port. SourceRefused, with what there is, when it cannot be followed."""
    found = await discover(hosts.at(place.host))
    listening = [server for server in found.servers if server.port == place.port]
    if not listening:
        running = ", ".join(f"{place.host}:{server.port} ({server.engine})" for server in found.servers)
        reason = f"Running there: {running}" if running else (found.reason or "No server is running there").rstrip(".")
        file = f"ssh:{place.host}:{place.port}"
        raise SourceRefused(f"{place}: no server was found on that port. {reason}. A file of that name is {file}.")
    if (log := next((server.log_path for server in listening if server.log_path is not None), None)) is not None:
        return RemotePlace(place.host, log)
    raise SourceRefused(f"{place}: {listening[0].log_reason.rstrip('.')}. {_other_ways(place.host, listening[0])}")


def _other_ways(host: HostAddress, server: DiscoveredServer) -> str:
    if "pipe" in server.log_reason or "socket" in server.log_reason:
        return f"Name what reads it: {host}:docker:NAME, {host}:journal:UNIT, or the file that it writes ({host}:PATH)."
    return f"Start the server with `> LOG 2>&1` and name {host}:LOG."
