"""Which LLM servers run on a machine, how they were started, and where their logs go.

First for SGLang on Linux. One script, one round trip; everything else is a pure reading of its answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from specmon.sources.launch_flags import FlagValue, hide_secrets, is_harmless, parse_flags
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess, list_local_processes, list_processes
from specmon.sources.ssh import SshHost

# The brackets keep the pattern from matching the command line that carries it.
PATTERN = "[s]glang"

_DEFAULT_PORT = 30000  # SGLang's own
_ENV_NAMES = re.compile(
    r"(?:NCCL|CUDA|SGLANG|VLLM|GGML|LLAMA_ARG|TRTLLM|TLLM|TORCH|PYTORCH|OMP|MKL|UCX|GLOO|FLASHINFER|TRITON|HIP|ROCR|RCCL"
    r"|HSA)_[A-Za-z0-9_]*"
)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_TITLE = "sglang::"

Role = Literal["baseline", "speculative", "unknown"]


@dataclass(frozen=True, slots=True)
class DiscoveredServer:
    """A running server and what can be known of it from outside."""

    pid: int
    engine: str  # "sglang"
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


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was looked for and found on one machine."""

    servers: tuple[DiscoveredServer, ...]
    reason: str = ""  # why there may be more than was found; empty otherwise


async def discover(host: SshHost) -> Discovery:
    """Find the servers of a host. SourceLost or SourceRefused when it cannot be reached."""
    return find_servers(await list_processes(host, PATTERN))


def discover_local() -> Discovery:
    """Find the servers of this machine."""
    return find_servers(list_local_processes(PATTERN))


def find_servers(listing: ProcessListing) -> Discovery:
    """Read the servers out of a process listing, the oldest first."""
    if not listing.has_proc:
        return Discovery((), "The host has no /proc, so running servers cannot be found: name the logs instead.")
    launchers = {
        process.pid: words for process in listing.processes if (words := _server_words(process.args)) is not None
    }
    by_pid = {process.pid: process for process in listing.processes}
    servers = []
    for pid, words in launchers.items():
        launcher = by_pid[pid]
        # Workers made by fork keep the command line of the server they belong to.
        if any(ancestor in launchers for ancestor in _ancestors(launcher, by_pid)):
            continue
        family = [process for process in listing.processes if pid in _ancestors(process, by_pid)]
        servers.append(_server(launcher, words, family))
    return Discovery(tuple(sorted(servers, key=lambda server: (server.started_at or 0.0, server.pid))))


def _server(launcher: RunningProcess, words: Sequence[str], family: Sequence[RunningProcess]) -> DiscoveredServer:
    flags = parse_flags(words)
    schedulers = [process for process in family if process.args and process.args[0].startswith(f"{_TITLE}scheduler")]
    env, env_reason = _environment(launcher, schedulers)
    log_path, log_reason = choose_log(launcher.outputs)
    port, listens_on = flags.get("port"), flags.get("host")
    return DiscoveredServer(
        pid=launcher.pid,
        engine="sglang",
        args=hide_secrets(launcher.args),
        flags=flags,
        role=_role(flags),
        port=port if isinstance(port, int) and not isinstance(port, bool) else _DEFAULT_PORT,
        host=listens_on if isinstance(listens_on, str) else None,
        started_at=launcher.started_at,
        log_path=log_path,
        log_reason=log_reason,
        env=env,
        env_reason=env_reason,
        scheduler_pids=tuple(process.pid for process in schedulers),
    )


def choose_log(outputs: Mapping[int, OutputTarget]) -> tuple[str | None, str]:
    """Where a server's log lies: its stderr, which SGLang logs to, else its stdout; or why there is none."""
    reasons: list[str] = []
    for number, name in ((2, "stderr"), (1, "stdout")):
        output = outputs.get(number)
        if output is None or output.target is None:
            reasons.append(f"{name} cannot be seen (another user's process)")
        elif output.target.endswith(" (deleted)"):
            reasons.append(f"{name} goes to a deleted file, {output.target.removesuffix(' (deleted)')}")
        elif output.is_file:
            # stdout alone has the access lines but, as a rule, no statistics
            return output.target, "" if number == 2 else f"only stdout is in a file; {reasons[0]}"
        else:
            reasons.append(f"{name} goes to {_describe(output.target)}")
    return None, "; ".join(dict.fromkeys(reasons))


def _describe(target: str) -> str:
    if target.startswith("pipe:"):
        return "a pipe (tee, docker or a service manager reads it)"
    if target.startswith("socket:"):
        return "a socket (journald or a supervisor reads it)"
    if target.startswith(("/dev/pts/", "/dev/tty")):
        return f"a terminal ({target})"
    return f"{target}, where nothing is kept" if target == "/dev/null" else target


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
        env.update({name: value for name, value in entries if _is_wanted(name, value)})
    if not hidden:
        return dict(sorted(env.items())), ""
    pids = ", ".join(str(pid) for pid in hidden)
    return dict(sorted(env.items())), f"no permission to read the environment of process {pids} (another user's)"


def _is_wanted(name: str, value: str) -> bool:
    return bool(_ENV_NAMES.fullmatch(name)) and is_harmless(name, value)


def _server_words(args: Sequence[str]) -> Sequence[str] | None:
    """The words behind the one that makes a command line a server's; None when none does.

    A shell that was given the whole command as one word is not the server, nor is `timeout`, `sudo` or `uv run`
    before it: those have children of their own.
    """
    if not args:
        return None
    program = PurePosixPath(args[0]).name
    if program == "sglang" and args[1:2] == ("serve",):
        return args[2:]
    if not _PYTHON.fullmatch(program):
        return None
    for index, word in enumerate(args[1:], start=1):
        before = args[index - 1]
        if before == "-m" and word == "sglang.launch_server":
            return args[index + 1 :]
        is_script = not before.startswith("-") or before in ("-u", "-O", "-I", "-B")
        if is_script and word.endswith("sglang/launch_server.py"):
            return args[index + 1 :]
        # `sglang serve` is a Python script, and so is what `python -m sglang.cli.main serve` runs
        is_entry = PurePosixPath(word).name == "sglang" or word in ("sglang.cli.main", "sglang.cli")
        if is_entry and args[index + 1 : index + 2] == ("serve",):
            return args[index + 2 :]
    return None


def _role(flags: Mapping[str, FlagValue]) -> Role:
    if flags.get("speculative_algorithm") not in (None, "None", ""):
        return "speculative"
    return "unknown" if "config" in flags else "baseline"  # a configuration file may hold the rest


def _ancestors(process: RunningProcess, by_pid: Mapping[int, RunningProcess]) -> list[int]:
    found: list[int] = []
    parent = process.parent_pid
    while parent in by_pid and parent not in found:  # ids are reused: a listing is not one moment
        found.append(parent)
        parent = by_pid[parent].parent_pid
    return found
