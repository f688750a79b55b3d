"""Where the output of a server process goes, and how it can be read from there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from specmon.sources.address import LocalPlace, ProgramPlace
from specmon.sources.processes import OutputTarget

Kind = Literal[
    "file",
    "tee",
    "container",
    "pod",
    "unit",
    "job",
    "pipe",
    "socket",
    "terminal",
    "null",
    "deleted",
    "inside",
    "hidden",
]

_CONTAINER = re.compile(
    r"(?:/(?P<folder>docker|libpod)/|/(?P<prefix>docker|libpod|crio|cri-containerd|nerdctl)-)(?P<id>[0-9a-f]{64})"
)
_CLIENTS = {"docker": "docker", "libpod": "podman", "nerdctl": "nerdctl"}
_KEPT_FILE = re.compile(r"/containers/(?:[^/]*/)?[^/]*?(?P<id>[0-9a-f]{12}|[0-9a-f]{64})(?:-json|\*)?\.log$")
_LAST_ID = re.compile(r"[/-](?P<id>[0-9a-f]{64})(?:\.scope)?(?:$|/|\n)")
_JOB = re.compile(r"/job_(?P<id>\d{1,12})(?:/|$|\n)")
_UNIT = re.compile(r"/(?P<name>[A-Za-z0-9:_.@-]{1,250}\.service)(?=/|$|\n)")
_NO_SERVERS_UNIT = re.compile(r"(?:user@\d+|sshd?(?:@.*)?|cron|crond|slurmd|docker|containerd|k3s|kubelet)\.service")


@dataclass(frozen=True, slots=True)
class Keeper:
    """What started a process and keeps its output, as its control group tells."""

    kind: Literal["container", "pod", "unit", "job"]
    name: str  # short id of the container, name of the unit, number of the job
    is_users: bool = False  # a unit of the user's own service manager
    client: str = "docker"  # the program that is asked about the container

    def __str__(self) -> str:
        word = {"container": "container", "pod": "pod container", "unit": "unit", "job": "slurm job"}[self.kind]
        return f"{word} {self.name}"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where a log can be read, or what becomes of it."""

    kind: Kind
    path: str | None  # of the file that can be followed; None when there is none
    reason: str = ""  # why there is no path, or what to know about it
    by_hand: str = ""  # the command that shows it on the host, where a program keeps it
    terminal: str = ""  # that it is printed to: /dev/pts/3
    kept: ProgramPlace | LocalPlace | None = None  # where it can be followed instead, as seen on its own machine


def keeper_of(cgroup: str) -> Keeper | None:
    """Read /proc/PID/cgroup; None for a process that somebody started from a shell, or in a namespace of its own."""
    if job := _JOB.search(cgroup):
        return Keeper("job", job["id"])
    if "kubepods" in cgroup and (found := _LAST_ID.search(cgroup)):
        return Keeper("pod", found["id"][:12])
    if found := _CONTAINER.search(cgroup):
        runtime = found["folder"] or found["prefix"]
        return Keeper("container", found["id"][:12], client=_CLIENTS.get(runtime, "crictl"))
    units = [match["name"] for match in _UNIT.finditer(cgroup)]
    named = [name for name in units if _NO_SERVERS_UNIT.fullmatch(name) is None]
    if not named:
        return None
    return Keeper("unit", named[-1], is_users=any(name.startswith("user@") for name in units))


def log_place(
    outputs: Mapping[int, OutputTarget],
    teed: Mapping[str, str] = MappingProxyType({}),
    keeper: Keeper | None = None,
) -> LogPlace:
    """Where a server's log lies: its stderr, which SGLang logs to, else its stdout; or why there is none.

    `teed`: by pipe, the file that a `tee` at its other end writes.
    """
    reasons: list[str] = []
    kinds: list[Kind] = []
    for number, name in ((2, "stderr"), (1, "stdout")):
        output = outputs.get(number)
        note = "" if number == 2 else "only stdout is in a file; " + "".join(reasons)
        kind = _kind(output, teed)
        kinds.append(kind)
        # stdout alone has the access lines but, as a rule, no statistics
        if kind == "file" and output is not None:
            return LogPlace("file", output.target, note)
        if kind == "tee" and output is not None and output.target is not None:
            return LogPlace("tee", teed[output.target], note)
        reasons.append(f"{name} {_fate(kind, output)}")
    reason = "; ".join(dict.fromkeys(reasons))
    if keeper is not None and kinds[0] in ("pipe", "socket", "hidden"):
        return LogPlace(keeper.kind, None, f"{keeper} keeps it ({reason})", _by_hand(keeper), kept=kept_by(keeper))
    terminal = (outputs[2].target or "") if kinds[0] == "terminal" else ""
    return LogPlace(kinds[0], None, reason, terminal=terminal)


def _kind(output: OutputTarget | None, teed: Mapping[str, str]) -> Kind:
    if output is None or output.target is None:
        return "hidden"
    target = output.target
    if target.endswith(" (deleted)"):
        return "deleted"
    if output.is_file:
        return "inside" if output.is_inside else "file"
    if target in teed:
        return "tee"
    if target.startswith("pipe:"):
        return "pipe"
    if target.startswith("socket:"):
        return "socket"
    if target.startswith(("/dev/pts/", "/dev/tty")):
        return "terminal"
    return "null"


def _fate(kind: Kind, output: OutputTarget | None) -> str:
    target = "" if output is None or output.target is None else output.target
    match kind:
        case "hidden":
            return "cannot be seen (another user's process)"
        case "deleted":
            return f"goes to a deleted file, {target.removesuffix(' (deleted)')}"
        case "inside":
            return f"goes to {target} inside a container, a file that cannot be reached from outside"
        case "pipe":
            return "goes to a pipe (tee, docker or a service manager reads it)"
        case "socket":
            return "goes to a socket (journald or a supervisor reads it)"
        case "terminal":
            return f"goes to a terminal ({target})"
        case _:
            return f"goes to {target}" + (", where nothing is kept" if target == "/dev/null" else "")


def _by_hand(keeper: Keeper) -> str:
    match keeper.kind:
        case "container":
            return f"{keeper.client} logs -f {keeper.name}"
        case "pod":
            return f"crictl logs -f {keeper.name}"
        case "unit":
            return f"journalctl {'--user ' if keeper.is_users else ''}-f -u {keeper.name}"
        case "job":
            return f"scontrol show job {keeper.name}"


def keeper_of_log(path: str) -> Keeper | None:
    """The container whose log a runtime or the kubelet keeps at a path, or a pattern, that ends with its id."""
    found = _KEPT_FILE.search(path)
    return None if found is None else Keeper("container", found["id"][:12])


def kept_by(keeper: Keeper) -> ProgramPlace | LocalPlace | None:
    """Where the log of what a keeper runs can be followed; None when only a person can ask for it."""
    match keeper.kind:
        case "container" if keeper.client == "docker":
            return ProgramPlace("docker", keeper.name)
        case "unit":
            return ProgramPlace("journal", keeper.name)
        case "job":
            return ProgramPlace("slurm", keeper.name)
        case "pod":
            # The kubelet keeps a link for every container of its node; its name ends with the container's id.
            return LocalPlace(f"/var/log/containers/*-{keeper.name}*.log", is_glob=True)
    return None
