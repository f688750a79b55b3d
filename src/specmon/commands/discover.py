"""`specmon discover`: which servers run on a host, and what `connect` would do with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from specmon.commands.connect import reach, rivals_sentence
from specmon.commands.loop import run_whole
from specmon.commands.places import Hosts, SshOptions
from specmon.commands.progress import waiting
from specmon.commands.survey import (
    THIS_MACHINE,
    Candidate,
    Choice,
    FinishedRun,
    Target,
    ago,
    choose,
    finished_run,
    machine_of,
    source_of,
    survey,
)
from specmon.secrets import Json
from specmon.sources.discovery import DiscoveredServer, Discovery
from specmon.visible import visible

_SPECULATION = ("speculative_algorithm", "speculative_config", "speculative_model", "spec_type", "model_draft")


def discover(*, hosts: Sequence[str], form: str, ssh: SshOptions) -> int:
    """Print what was found, also when `connect` could not choose."""

    async def run() -> tuple[list[tuple[Target, Discovery]], Choice, FinishedRun | None]:
        async with Hosts(ssh) as open_hosts:
            machines = [machine_of(word, open_hosts) for word in dict.fromkeys(hosts or (THIS_MACHINE,))]
            await reach(machines)
            with waiting(f"looking for servers on {', '.join(machine.name for machine in machines)}"):
                found = await survey(machines)
                choice = choose(found)
                return found, choice, await finished_run(choice, found)

    found, choice, ended = run_whole(run())
    if form == "json":
        click.echo(json.dumps(as_json(found, choice, ended), indent=2))
    else:
        for line in lines(found, choice, ended):
            click.echo(visible(line) if line else "")
    return 0


def lines(found: Sequence[tuple[Target, Discovery]], choice: Choice, ended: FinishedRun | None) -> Iterator[str]:
    """The result for a reader."""
    for machine, discovery in found:
        yield f"{machine.name}: {_count(discovery)}"
        for server in discovery.servers:
            candidate = Candidate(machine, server)
            yield f"  {server.role} · {server.engine} · port {server.port} · {server.model or 'model not told'}"
            for name, text in _facts(candidate, discovery.host_time):
                yield f"    {name:<9}{text}"
            yield f"    {'connect':<9}{verdict_on(candidate, choice)[1]}"
    yield ""
    if ended is not None:
        where = source_of(ended.machine, ended.log.path)
        yield f"no {ended.role} server runs; connect shows its last run found in {where}, written {ago(ended.age_s)}"
    elif choice.missing:
        yield (
            f"no {choice.missing[0]} server runs, and no log beside those above begins with one: connect shows "
            f"one side, or the reference that --reference names"
        )
    if choice.rivals:
        yield rivals_sentence(choice)


def as_json(found: Sequence[tuple[Target, Discovery]], choice: Choice, ended: FinishedRun | None) -> Json:
    """The result for a program, schema 1."""
    return {
        "schema_version": 1,
        "hosts": [
            {
                "host": machine.name,
                "reason": discovery.reason or None,
                "servers": [_server(Candidate(machine, server), choice) for server in discovery.servers],
            }
            for machine, discovery in found
        ],
        "ambiguous": {role.value: [each.source for each in rivals] for role, rivals in choice.rivals.items()},
        "finished_run": None
        if ended is None
        else {
            "role": ended.role.value,
            "source": source_of(ended.machine, ended.log.path),
            "modified_at": _stamp(ended.log.modified_at),
            "age_s": ended.age_s,
        },
    }


def verdict_on(candidate: Candidate, choice: Choice) -> tuple[str, str]:
    """What `connect` does with a server (follow, ambiguous, leave_out), and why."""
    for left_out, reason in choice.left_out:
        if left_out == candidate:
            return "leave_out", f"leaves it out: {reason}{_instead(candidate.server)}"
    if any(candidate in rivals for rivals in choice.rivals.values()):
        return "ambiguous", f"cannot choose: more than one {candidate.server.role} server runs"
    return "follow", f"follows it as {_side(candidate.server)}"


def _side(server: DiscoveredServer) -> str:
    if server.role == "baseline":
        return "the baseline: its command line names no speculation"
    if server.role == "speculative":
        told = next(((name, server.flags[name]) for name in _SPECULATION if server.flags.get(name)), None)
        return "the speculative server" + ("" if told is None else f": {told[0]}={_short(told[1])}")
    return "a server whose role its log will tell: a configuration file holds its settings"


def _instead(server: DiscoveredServer) -> str:
    """What helps when there is no file to follow."""
    log = server.log
    if log.by_hand:
        return f". `{log.by_hand}` shows it"
    if log.path is not None:
        return ""
    restart = "restart it with `2>&1 | tee FILE`"
    if log.kind == "hidden":
        return ". Log in as its user or as root"
    return f". To keep it, {restart}; {metrics_of(server)}"


def metrics_of(server: DiscoveredServer) -> str:
    """Whether the server's figures are on its metrics page, as far as its flags tell."""
    page = f"/metrics of port {server.port}"
    switch = {"sglang": "enable_metrics", "llama.cpp": "metrics"}.get(server.engine)
    if switch is None:
        return f"its figures are on {page}"
    option = f"--{switch.replace('_', '-')}"
    return f"its figures are on {page}" if server.flags.get(switch) else f"its figures would be on {page} with {option}"


def unread(server: DiscoveredServer) -> list[str]:
    """What could not be seen of it, with the reasons."""
    reasons = [server.env_reason] if server.env_reason else []
    if server.is_hidden:
        reasons.append(f"no permission to see the output of process {server.pid} (another user's)")
    return reasons


def _facts(candidate: Candidate, host_time: float | None) -> Iterator[tuple[str, str]]:
    server = candidate.server
    whose = f" of {server.user}" if server.user else ""
    yield "process", f"{server.pid}{whose}" + (f", in {server.keeper}" if server.keeper else "")
    if server.started_at is not None:
        age_s = None if host_time is None else max(0.0, host_time - server.started_at)
        yield "since", f"{datetime.fromtimestamp(server.started_at, UTC):%Y-%m-%d %H:%M:%S} UTC, {ago(age_s)}"
    if server.log_path is not None:
        note = f" ({server.log_reason})" if server.log_reason else ""
        yield "log", f"{server.log_path}, {'through tee' if server.log.kind == 'tee' else 'a file'}{note}"
    elif candidate.place is not None:
        yield "log", f"{server.log_reason}: {candidate.source}"
    else:
        yield "log", server.log_reason
    for reason in unread(server):
        yield "unread", reason


def _server(candidate: Candidate, choice: Choice) -> dict[str, Json]:
    server = candidate.server
    action, why = verdict_on(candidate, choice)
    return {
        "pid": server.pid,
        "user": server.user,
        "engine": server.engine,
        "role": server.role,
        "model": server.model,
        "listens_on": server.host,
        "port": server.port,
        "started_at": _stamp(server.started_at),
        "runs_in": None if server.keeper is None else str(server.keeper),
        "command": list(server.args),
        "log": {
            "kind": server.log.kind,
            "path": server.log_path,
            "source": None if candidate.place is None else candidate.source,
            "reason": server.log_reason or None,
            "by_hand": server.log.by_hand or None,
        },
        "metrics": metrics_of(server),
        "unread": list(unread(server)),
        "connect": action,
        "why": why,
    }


def _count(discovery: Discovery) -> str:
    if discovery.reason:
        return discovery.reason
    number = len(discovery.servers)
    return "no server process is running" if not number else f"{number} server{'s' if number > 1 else ''}"


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _stamp(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
