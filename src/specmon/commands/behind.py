"""What is asked about the server behind a source: its conditions, its counters."""

from __future__ import annotations

from specmon.commands.opening import Target, matches_on
from specmon.commands.places import Hosts
from specmon.commands.programs import log_program
from specmon.feeds.conditions import ProcessConditions
from specmon.feeds.counters import MetricsPage
from specmon.feeds.trails import FileTrail, NoTrail, PatternTrail, ProgramTrail, Trail
from specmon.sources.address import LocalPlace, Place, ProgramPlace, RemotePlace, host_of
from specmon.sources.docker import DockerLog
from specmon.sources.journal import JournalLog
from specmon.sources.kubernetes import KubernetesLog
from specmon.sources.log_place import keeper_of_log
from specmon.sources.matches import newest
from specmon.sources.page_access import PageAccess
from specmon.sources.whereabouts import Whereabouts, of_container, of_job, of_pane, of_pod, of_unit


def conditions_of(place: Place, hosts: Hosts) -> ProcessConditions | None:
    """Who is asked about the process behind a log; None where it comes from nowhere that can be asked."""
    match place:
        case RemotePlace() | LocalPlace() | ProgramPlace():
            return conditions_on(hosts.machine(host_of(place)), place, hosts.access)
        case _:
            return None


def conditions_on(
    machine: Target, place: RemotePlace | LocalPlace | ProgramPlace, access: PageAccess | None = None
) -> ProcessConditions:
    """The same for a place of a machine that is at hand."""
    return ProcessConditions(machine, _trail(machine, place), access)


def counters_of(place: Place, hosts: Hosts) -> MetricsPage | None:
    """Whose ports are asked for a metrics page; None where no machine can be told."""
    match place:
        case RemotePlace(host):
            return MetricsPage(hosts.at(host), hosts.access)
        case LocalPlace() if not place.is_glob:
            return MetricsPage(hosts.machine(None), hosts.access)
        case _:
            return None


def _trail(machine: Target, place: RemotePlace | LocalPlace | ProgramPlace) -> Trail:
    if isinstance(place, ProgramPlace):
        return trail_of(place, machine)
    path = place.path
    if not place.is_glob or keeper_of_log(path) is not None:
        return FileTrail(path)

    async def newest_path() -> str | None:
        found = newest(await matches_on(machine, path))
        return None if found is None else found.path

    return PatternTrail(path, newest_path)


def trail_of(place: ProgramPlace, machine: Target) -> Trail:
    """The way from what a program tells to the server behind it."""
    name = str(place)
    log = None if place.scheme in ("cmd", "tmux", "slurm") else log_program(place, machine, is_plain=True)
    match log:
        case DockerLog():
            return ProgramTrail(lambda: of_container(log))
        case KubernetesLog(is_previous=True):
            return NoTrail("the container of that log has ended")
        case KubernetesLog():
            return ProgramTrail(lambda: of_pod(log))
        case JournalLog(unit=unit):

            async def unit_itself() -> Whereabouts:
                return of_unit(unit)

            return ProgramTrail(unit_itself)
    match place.scheme:
        case "slurm":
            return ProgramTrail(lambda: of_job(machine, name, place.what))
        case "tmux":
            return ProgramTrail(lambda: of_pane(machine, name, place.what))
    return NoTrail("nobody can tell which process is behind a command. Name the log itself, or what keeps it")
