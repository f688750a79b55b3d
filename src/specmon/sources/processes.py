"""Processes of a machine as its /proc shows them: the listing of `ReadProcesses`, read into records."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from specmon.sources.machine import Machine, NoAnswer
from specmon.sources.remote_commands import ReadProcesses
from specmon.sources.shell_words import behind_greeting

_PARENT, _TERMINAL, _START = 1, 4, 19  # places in /proc/PID/stat, counted behind the name in brackets


_PTS_MAJOR = 136  # and the seven after it


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where a process's stdout or stderr goes."""

    target: str | None  # a path, "pipe:[123]", …; None when nobody may see it
    is_file: bool = False
    is_inside: bool = False  # a file that the path does not lead to from here: a container's


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """One process at the moment of the listing."""

    pid: int
    parent_pid: int
    args: tuple[str, ...]  # a process that gave itself a title has that as its only word
    started_at: float | None  # s since 1970, UTC, by the host's clock
    environ: tuple[tuple[str, str], ...] | None  # in their order; None when not readable
    outputs: Mapping[int, OutputTarget] = field(default_factory=dict)  # by descriptor: 1 and 2
    user: str | None = None  # whose it is
    cgroup: str = ""  # /proc/PID/cgroup: tells containers, units and jobs
    terminal: str | None = None  # that it was started at: /dev/pts/3


@dataclass(frozen=True, slots=True)
class ProcessListing:
    """What was found on a host."""

    processes: tuple[RunningProcess, ...]
    has_proc: bool = True  # without /proc (macOS, BSD) nothing can be found
    host_time: float | None = None  # s since 1970 by the host's clock
    teed: Mapping[str, str] = field(default_factory=dict)  # by "pipe:[123]": the file that a `tee` writes it to
    own_cgroup: str = ""  # of the shell that made the listing
    is_veiled: bool = False  # other users' processes are not shown at all (hidepid)


async def list_processes(host: Machine, pattern: str) -> ProcessListing:
    """List a host's processes whose command line matches an extended regular expression."""
    result = await host.run(ReadProcesses(pattern).text())
    if not (answer := behind_greeting(result.stdout, b"clock ")):
        raise NoAnswer(
            f"{host.name}: the host's shell gave no usable answer ({result.words}). "
            "Log in as a user who has a POSIX shell there; logs on SFTP can be named with --baseline and --spec."
        )
    return parse_processes(answer)


def list_local_processes(pattern: str) -> ProcessListing:
    """The same for this machine."""
    command = ["sh", "-c", ReadProcesses(pattern).text()]
    return parse_processes(subprocess.run(command, capture_output=True, check=False, timeout=30).stdout)


def parse_processes(answer: bytes) -> ProcessListing:
    """Read the answer to a `ReadProcesses`. A process that vanished half-way is left out."""
    clock = _Clock()
    has_proc, is_veiled = True, False
    found: list[RunningProcess] = []
    facts: dict[bytes, list[bytes]] = {}
    teed: dict[str, str] = {}
    own = ""
    for line in [*answer.split(b"\n"), b"process"]:
        words = line.split()
        match words[:1]:
            case [b"clock"]:
                clock = _Clock.parse(words[1:])
            case [b"own"]:
                own = _words({b"own": words[1:]}, b"own")
            case [b"noproc"]:
                has_proc = False
            case [b"veiled"]:
                is_veiled = True
            case [b"process"]:
                if facts and (process := _process(facts, clock)) is not None:
                    found.append(process)
                facts = {b"process": words[1:]}
            case [b"tee"]:
                if (pair := _pair(words[1:])) is not None:
                    teed.setdefault(*pair)
            case [b"target" | b"notarget"] if len(words) > 1:
                facts[words[0] + words[1]] = words[2:]
            case [name]:
                facts[name] = words[1:]
    return ProcessListing(tuple(found), has_proc, clock.now, teed, own, is_veiled)


def processes_answer(listing: ProcessListing) -> bytes:
    """The answer to a `ReadProcesses` that says this listing: what the demo's server sends."""
    lines = [f"clock {int(listing.host_time or 0)} 100 btime 0"]
    lines += [f"own {listing.own_cgroup.encode().hex()}"] if listing.own_cgroup else []
    for process in listing.processes:
        start = int((process.started_at or 0.0) * 100)
        numbers = " ".join(["S", str(process.parent_pid), *["0"] * (_START - 2), str(start)])
        lines.append(f"process {process.pid}")
        lines.append(f"stat {f'{process.pid} (python3) {numbers}'.encode().hex()}")
        lines.append(f"cmdline {b''.join(word.encode() + bytes(1) for word in process.args).hex()}")
        lines += [f"user {process.user.encode().hex()}"] if process.user is not None else []
        lines += [f"cgroup {process.cgroup.encode().hex()}"] if process.cgroup else []
        if process.environ is None:
            lines.append("noenviron")
        else:
            entries = b"".join(f"{name}={value}".encode() + bytes(1) for name, value in process.environ)
            lines.append(f"environ {entries.hex()}")
        for number, output in process.outputs.items():
            if output.target is None:
                lines.append(f"notarget {number}")
            else:
                kind = "inside" if output.is_inside else "file" if output.is_file else "other"
                lines.append(f"target {number} {kind} {output.target.encode().hex()}")
    lines += [f"tee {pipe.encode().hex()} : {path.encode().hex()}" for pipe, path in listing.teed.items()]
    return "\n".join(lines).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class _Clock:
    now: float | None = None
    ticks_per_s: int = 100
    booted_at: int | None = None  # s since 1970

    @classmethod
    def parse(cls, words: list[bytes]) -> _Clock:
        """Read "NOW TICKS btime BOOT"; what is missing stays unknown."""
        try:
            now, ticks = float(words[0]), int(words[1])
        except (ValueError, IndexError):
            return cls()
        booted = words[3] if len(words) > 3 and words[2] == b"btime" and words[3].isdigit() else None
        return cls(now, ticks or 100, None if booted is None else int(booted))


def _process(facts: Mapping[bytes, list[bytes]], clock: _Clock) -> RunningProcess | None:
    try:
        pid = int(facts[b"process"][0])
        stat = _bytes(facts[b"stat"]).rsplit(b")", 1)[1].split()  # the name before may hold anything
        parent, start = int(stat[_PARENT]), int(stat[_START])
        terminal = _terminal(int(stat[_TERMINAL]))
        cmdline = _bytes(facts[b"cmdline"])
    except (KeyError, IndexError, ValueError):
        return None
    args = tuple(_text(word) for word in cmdline.rstrip(b"\0").split(b"\0")) if cmdline.strip(b"\0") else ()
    started_at = None if clock.booted_at is None else clock.booted_at + start / clock.ticks_per_s
    environ = _environ(_bytes(facts[b"environ"])) if b"environ" in facts else None
    user = _words(facts, b"user").strip() or None
    outputs = {}
    for number in (1, 2):
        words = facts.get(b"target%d" % number)
        if words:
            outputs[number] = OutputTarget(
                _text(_bytes(words[1:])), words[0] in (b"file", b"inside"), words[0] == b"inside"
            )
        elif b"notarget%d" % number in facts:
            outputs[number] = OutputTarget(None)
    return RunningProcess(pid, parent, args, started_at, environ, outputs, user, _words(facts, b"cgroup"), terminal)


def _terminal(device: int) -> str | None:
    """The pseudo-terminal with a device number; None for every other device, and for none."""
    major, minor = device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xFFF00
    return f"/dev/pts/{(major - _PTS_MAJOR) * 256 + minor}" if _PTS_MAJOR <= major < _PTS_MAJOR + 8 else None


def _words(facts: Mapping[bytes, list[bytes]], name: bytes) -> str:
    """A fact that is not worth losing the process for."""
    try:
        return _text(_bytes(facts.get(name, [])))
    except ValueError:
        return ""


def _pair(words: list[bytes]) -> tuple[str, str] | None:
    try:
        colon = words.index(b":")
        return _text(_bytes(words[:colon])), _text(_bytes(words[colon + 1 :]))
    except ValueError:
        return None


def _environ(block: bytes) -> tuple[tuple[str, str], ...]:
    pairs = (entry.partition(b"=") for entry in block.split(b"\0") if b"=" in entry)
    return tuple((_text(name), _text(value)) for name, _, value in pairs)


def _bytes(words: list[bytes]) -> bytes:
    return bytes.fromhex(b"".join(words).decode("ascii"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
