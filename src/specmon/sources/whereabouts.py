"""Where the process behind a program's log is to be looked for: in which container, unit or job, at which terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from specmon.errors import SourceRefused
from specmon.sources.discovery import DiscoveredServer
from specmon.sources.docker import DockerLog
from specmon.sources.kubernetes import KubernetesLog
from specmon.sources.log_place import Keeper, kept_by
from specmon.sources.machine import StreamingMachine
from specmon.sources.slurm import find_job
from specmon.sources.tmux import terminal_of

_INSIDE = ("container", "pod")


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What is known of the process that writes a program's log; one of the three finds it."""

    what: str  # "container 3f2a9c0b11de", as it is told
    keeper: Keeper | None = None
    paths: tuple[str, ...] = ()  # files that it writes
    terminal: str | None = None  # /dev/pts/3
    node: str = ""  # the machine that it runs on, as its cluster calls it
    named_there: str = ""  # the SOURCE that means it there

    def servers_among(self, servers: Iterable[DiscoveredServer]) -> list[DiscoveredServer]:
        """The servers of a machine that are found there, the newest last."""
        found = [server for server in servers if self._holds(server)]
        return sorted(found, key=lambda server: (server.started_at or 0.0, server.pid))

    def _holds(self, server: DiscoveredServer) -> bool:
        if server.log_path is not None and server.log_path in self.paths:
            return True
        wanted, has = self.keeper, server.keeper
        if wanted is not None and has is not None:
            # Docker's containers may be a pod's.
            is_kind = wanted.kind == has.kind or (wanted.kind in _INSIDE and has.kind in _INSIDE)
            return is_kind and fnmatchcase(has.name, wanted.name)
        # A container has terminals of its own, with the same names.
        is_inside = has is not None and has.kind in _INSIDE
        return self.terminal is not None and server.terminal == self.terminal and not is_inside


async def of_container(log: DockerLog) -> Whereabouts:
    """The container that a name means now. NotThere, SourceLost or SourceRefused when docker cannot tell."""
    name = (await log.look(was_reached=False)).key[:12]
    return Whereabouts(f"container {name}", Keeper("container", name))


async def of_pod(log: KubernetesLog) -> Whereabouts:
    """The pod's container as it is now; errors as in `of_container`."""
    instance = await log.look(was_reached=False)
    pod, container, key = instance.key.split(" ", 2)
    keeper = Keeper("pod", key.rpartition("/")[2][:12])  # containerd://3f2a…
    there = f"'{kept_by(keeper)}'"
    return Whereabouts(f"container {container} of pod {pod}", keeper, node=instance.node, named_there=there)


def of_unit(unit: str) -> Whereabouts:
    """A systemd unit, as `journalctl -u` takes its name."""
    name = unit if "." in unit else f"{unit}.service"
    return Whereabouts(f"unit {name}", Keeper("unit", name))


async def of_job(machine: StreamingMachine, name: str, job: str) -> Whereabouts:
    """A slurm job; errors as in `of_container`."""
    found = await find_job(machine, name, job)
    keeper = Keeper("job", found.number) if found.number else None
    return Whereabouts(f"slurm job {job}", keeper, found.paths, node=found.node, named_there=f"slurm:{job}")


async def of_pane(machine: StreamingMachine, name: str, pane: str) -> Whereabouts:
    """A tmux pane; errors as in `of_container`."""
    terminal = await terminal_of(machine, name, pane)
    if terminal is None:
        raise SourceRefused(f"{name}: tmux does not tell the pane's terminal")
    return Whereabouts(f"pane {pane}", terminal=terminal)
