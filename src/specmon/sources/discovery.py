"""Which LLM servers run on a machine, how they were started, and where their logs go.

On Linux, from /proc. One script, one round trip; everything else is a pure reading of its answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from specmon.sources.engines import ENGINES, PATTERN, Engine, recognise
from specmon.sources.launch_flags import FlagValue, hide_secrets, is_harmless, parse_flags
from specmon.sources.log_place import Keeper, LogPlace, keeper_of, log_place
from specmon.sources.machine import Machine
from specmon.sources.processes import ProcessListing, RunningProcess, list_local_processes, list_processes
from specmon.sources.remote_commands import ReadSurroundings
from specmon.sources.surroundings import question_about

_ENV_NAMES = re.compile(
    r"(?:NCCL|CUDA|SGLANG|VLLM|GGML|LLAMA_ARG|TRTLLM|TLLM|TORCH|PYTORCH|OMP|MKL|UCX|GLOO|FLASHINFER|TRITON|HIP|ROCR|RCCL"
    r"|HSA)_[A-Za-z0-9_]*"
)
_SPECULATION = ("speculative_algorithm", "speculative_config", "speculative_model", "model_draft", "spec_type")
_BEHIND_A_FILE = ("config", "extra_llm_api_options")  # a configuration file may hold the rest

_UNSEEN = LogPlace("hidden", None)

Role = Literal["baseline", "speculative", "unknown"]


@dataclass(frozen=True, slots=True)
class DiscoveredServer:
    """A running server and what can be known of it from outside."""

    pid: int
    engine: str  # as the log formats call it
    args: tuple[str, ...]  # the command line, secrets replaced
    flags: Mapping[str, FlagValue]  # in the log's own names, secrets left out
    role: Role
    port: int
    host: str | None  # the address it listens on, when one was given
    started_at: float | None  # s since 1970, by the host's clock
    log_path: str | None
    log_reason: str  # why there is no log path, or what to know about it; may be empty
    env: Mapping[str, str] = field(default_factory=dict)  # by the allow-list, secrets left out
    env_reason: str = ""  # why the environment is incomplete; empty when it is not
    scheduler_pids: tuple[int, ...] = ()
    is_hidden: bool = False  # another user's: neither its output nor its environment can be seen
    log: LogPlace = _UNSEEN  # the log's place with what keeps it
    user: str | None = None  # whose process it is
    keeper: Keeper | None = None  # the container, unit or job that it runs in
    terminal: str | None = None  # that it was started at
    surroundings: ReadSurroundings | None = field(default=None, repr=False, compare=False)  # what to ask for the rest

    @property
    def model(self) -> str | None:
        """The model that it was told to serve."""
        named = (self.flags.get(name) for name in ("model_path", "model", "hf_repo"))
        found = next((value for value in named if isinstance(value, str) and value), None)
        return found or self.env.get("LLAMA_ARG_MODEL")


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was looked for and found on one machine."""

    servers: tuple[DiscoveredServer, ...]
    reason: str = ""  # why there may be more than was found; empty otherwise
    host_time: float | None = None  # s since 1970 by the host's clock, when it was looked


async def discover(host: Machine) -> Discovery:
    """Find the servers of a host. SourceLost or SourceRefused when it cannot be reached."""
    return find_servers(await list_processes(host, PATTERN))


def discover_local() -> Discovery:
    """Find the servers of this machine."""
    return find_servers(list_local_processes(PATTERN))


def find_servers(listing: ProcessListing) -> Discovery:
    """Read the servers out of a process listing, the oldest first."""
    if not listing.has_proc:
        return Discovery((), "The host has no /proc, so running servers cannot be found: name the logs instead.")
    launchers = {process.pid: found for process in listing.processes if (found := recognise(process.args)) is not None}
    by_pid = {process.pid: process for process in listing.processes}
    servers = []
    for pid, (engine, words) in launchers.items():
        launcher = by_pid[pid]
        # Workers made by fork keep the command line of the server they belong to.
        if any(ancestor in launchers for ancestor in _ancestors(launcher, by_pid)):
            continue
        family = [process for process in listing.processes if pid in _ancestors(process, by_pid)]
        keeper = keeper_of(launcher.cgroup)
        if keeper is not None and keeper == keeper_of(listing.own_cgroup):
            keeper = None  # we look from inside
        servers.append(_server(engine, launcher, words, family, listing.teed, keeper))
    reason = ""
    if not servers and listing.is_veiled:
        reason = (
            "This user has no server process, and those of other users are not shown (hidepid): "
            "log in as the server's user."
        )
    return Discovery(
        tuple(sorted(servers, key=lambda server: (server.started_at or 0.0, server.pid))),
        reason,
        host_time=listing.host_time,
    )


def engine_of(server: DiscoveredServer) -> Engine:
    """What is known of the engine of a found server."""
    return next(engine for engine in ENGINES if engine.name == server.engine)


def _server(
    engine: Engine,
    launcher: RunningProcess,
    words: Sequence[str],
    family: Sequence[RunningProcess],
    teed: Mapping[str, str],
    keeper: Keeper | None,
) -> DiscoveredServer:
    flags = parse_flags(words, engine)
    schedulers = [process for process in family if process.args and process.args[0].startswith(engine.titles)]
    env, env_reason = _environment(launcher, schedulers)
    log = log_place(launcher.outputs, teed, keeper)
    # llama.cpp takes every option from the environment too
    port, listens_on = flags.get("port", env.get("LLAMA_ARG_PORT")), flags.get("host", env.get("LLAMA_ARG_HOST"))
    if isinstance(port, str) and port.isascii() and port.isdecimal():
        port = int(port)
    return DiscoveredServer(
        pid=launcher.pid,
        engine=engine.name,
        args=hide_secrets(launcher.args),
        flags=flags,
        role=_role(flags),
        port=port if isinstance(port, int) and not isinstance(port, bool) else engine.port,
        host=listens_on if isinstance(listens_on, str) else None,
        started_at=launcher.started_at,
        log_path=log.path,
        log_reason=log.reason,
        log=log,
        user=launcher.user,
        keeper=keeper,
        terminal=launcher.terminal,
        env=env,
        env_reason=env_reason,
        scheduler_pids=tuple(process.pid for process in schedulers),
        is_hidden=all(output.target is None for output in launcher.outputs.values()),
        surroundings=question_about(launcher),
    )


def _environment(launcher: RunningProcess, schedulers: Sequence[RunningProcess]) -> tuple[dict[str, str], str]:
    """The union of the launcher's environment and its schedulers', whose values count where both have one.

    A process that gave itself a title has lost the front of its own environment, so the first entry that it still
    shows may be the rest of a longer one; and what it lacks is not proof of anything.
    """
    env: dict[str, str] = {}
    hidden = []
    for process, entries in [
        (launcher, launcher.environ),
        *((process, process.environ[1:] if process.environ else process.environ) for process in schedulers),
    ]:
        if entries is None:
            hidden.append(process.pid)
            continue
        env.update({name: value for name, value in entries if is_wanted(name, value)})
    if not hidden:
        return dict(sorted(env.items())), ""
    pids = ", ".join(str(pid) for pid in hidden)
    return dict(sorted(env.items())), f"no permission to read the environment of process {pids} (another user's)"


def is_wanted(name: str, value: str) -> bool:
    """Whether a variable belongs to the conditions, by the allow-list, and holds no secret."""
    return bool(_ENV_NAMES.fullmatch(name)) and is_harmless(name, value)


def _role(flags: Mapping[str, FlagValue]) -> Role:
    if any(flags.get(name) not in (None, "None", "none", "", {}) for name in _SPECULATION):
        return "speculative"
    return "unknown" if any(name in flags for name in _BEHIND_A_FILE) else "baseline"


def _ancestors(process: RunningProcess, by_pid: Mapping[int, RunningProcess]) -> list[int]:
    found: list[int] = []
    parent = process.parent_pid
    while parent in by_pid and parent not in found:  # ids are reused: a listing is not one moment
        found.append(parent)
        parent = by_pid[parent].parent_pid
    return found
