"""The commands that are run on the far side: built here, and recognised again here.

Each command is a POSIX shell script handed to `sh` with its words as arguments, all of them quoted, so that no file
name can turn into shell text. The login shell may be anything (fish, csh): scripts hold no newline, no backslash and no
exclamation mark without a space behind it. Nothing is written on the far side. The demo's server is no shell: it
answers exactly what `parse_command` recognises.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TypeAlias

from specmon.sources.file_commands import LookAt, ReadRange, Tail, parse_file_command
from specmon.sources.shell_words import command_text, is_number, operand

# One line a fact, bytes in hexadecimal, so that no content can pass for another line.
_PROCESSES = (
    "x() { od -An -v -tx1 -N 262144; }; "
    "echo clock $(date +%s) $(getconf CLK_TCK 2>/dev/null || echo 100) $(grep btime /proc/stat 2>/dev/null); "
    # Everybody may read of the first process, unless /proc is mounted with hidepid.
    "[ -r /proc/stat ] || { echo noproc; exit 0; }; [ -r /proc/1/stat ] || echo veiled; "
    "echo own $(x </proc/self/cgroup); "
    'for c in $(grep -lsE -e "$1" /proc/[0-9]*/cmdline 2>/dev/null); do d=${c%/cmdline}; '
    "echo process ${d#/proc/}; "
    'echo stat $(x <"$d/stat"); echo cmdline $(x <"$d/cmdline"); echo cgroup $(x <"$d/cgroup"); '
    'echo user $(stat -c %U "$d" | x); '
    'if [ -r "$d/environ" ] && e=$(od -An -v -tx1 -N 262144 "$d/environ"); then echo environ $e; '
    "else echo noenviron; fi; "
    'for n in 1 2; do if t=$(readlink "$d/fd/$n"); then k=other; [ -f "$d/fd/$n" ] && k=file; '
    # In a container's own view a path may mean another file than here.
    '[ $k = file ] && [ / -ef / ] && { [ "$d/fd/$n" -ef "$t" ] || k=inside; }; '
    'echo target $n $k $(printf "%s" "$t" | x); else echo notarget $n; fi; done; done 2>/dev/null; '
    # `2>&1 | tee FILE` is how many people keep a log: which pipe a tee reads, and which files it writes.
    'for c in $(grep -lsx -e tee /proc/[0-9]*/comm 2>/dev/null); do d=${c%/comm}; i=$(readlink "$d/fd/0") && '
    'for f in "$d"/fd/[3-9]; do t=$(readlink "$f") && [ -f "$f" ] && '
    '{ ! [ / -ef / ] || [ "$f" -ef "$t" ]; } && '
    'echo tee $(printf "%s" "$i" | x) : $(printf "%s" "$t" | x); done; done 2>/dev/null; exit 0'
)

_RESOLVE = 'p=$(readlink -f -- "$1") && printf "%s" "$p"; exit 0'

# The surroundings of one process, in its own view of the files (a container's) through /proc/PID/root, which only its
# user and root may pass. $1: pid, $2: its NCCL_CONF_FILE, $3: its HOME, then folders that may hold its Python.
# NCCL takes the home folder from the list of users. Of a package, the name of its metadata folder is enough: no Python
# is started.
_PACKAGES = " ".join(
    f'"$d"/{name}-*.dist-info'
    for name in (
        "sglang", "vllm", "tensorrt_llm", "torch", "triton", "nvidia_nccl_cu*", "sgl_kernel", "sglang_kernel",
        "flashinfer_python", "flash_attn", "deep_gemm", "deep_ep", "llama_cpp_python",
    )
)  # fmt: skip
_SURROUNDINGS = (
    "x() { od -An -v -tx1 -N 65536; }; q=/proc/$1; r=$q/root; "
    "echo name $(uname -n | x); "
    "[ -r /proc/driver/nvidia/version ] && echo driver $(x </proc/driver/nvidia/version); "
    "a=$(readlink $q/ns/net); b=$(readlink /proc/self/ns/net); "
    'if [ -n "$a" ] && [ -n "$b" ]; then if [ "$a" = "$b" ]; then echo net same; else echo net other; fi; fi; '
    "[ -d $q ] || { echo gone; exit 0; }; [ -d $r/ ] || { echo noroot; exit 0; }; "
    'u=$(stat -c %u $q); h=; while IFS=: read -r n p i g c d s; do [ "$i" = "$u" ] && h=$d; done <$r/etc/passwd; '
    '[ -n "$h" ] || h=$3; '
    'f() { case "$1" in /*) w=$r$1;; *) w=$q/cwd/$1;; esac; if [ -f "$w" ] && [ -r "$w" ]; then '
    'echo conf $(printf "%s" "$1" | x) : $(x <"$w"); '
    'elif [ -e "$w" ]; then echo noconf $(printf "%s" "$1" | x); fi; }; '
    'if [ -n "$2" ]; then f "$2"; else f "$h/.nccl.conf"; fi; f /etc/nccl.conf; '
    'm=$(grep -oE "/.*/libnccl[.]so[0-9.]*" $q/maps | head -n 1); [ -n "$m" ] && echo nccl $(printf "%s" "$m" | x); '
    "e=$(readlink $q/exe); e=${e% (deleted)}; v=${e##*/}; case $v in python3.*) ;; *) v=python3*;; esac; "
    'l() { for d in "$1"; do '
    f'for k in {_PACKAGES}; do [ -d "$k" ] && echo package $(printf "%s" "${{k##*/}}" | x); done; done; }}; '
    'grep -oE "/.*/(site|dist)-packages/" $q/maps | sort -u | while IFS= read -r d; do l "$r$d"; done; '
    'shift 3; for i in "$@" "${e%/bin/*}"; do '
    'for d in "$r$i"/lib/$v/site-packages "$r$i"/lib/$v/dist-packages "$r$i"/lib/python3/dist-packages; do '
    '[ -d "$d" ] && l "$d"; done; done; exit 0'
)

# $1, $2: fields to ask for, all of them or, where the driver knows fewer, the oldest. A driver that hangs cannot be
# ended from here; `timeout` at least frees the session.
_GPUS = (
    "x() { od -An -v -tx1 -N 262144; }; "
    "PATH=$PATH:/usr/bin:/usr/local/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib:/run/current-system/sw/bin; "
    "command -v nvidia-smi >/dev/null || { echo none; exit 0; }; "
    't=; command -v timeout >/dev/null && t="timeout $3"; '
    'for f in "$1" "$2"; do o=$($t nvidia-smi --query-gpu="$f" --format=csv,noheader,nounits 2>&1); c=$?; '
    '[ $c = 0 ] && break; [ $c = 124 ] && break; done; echo status $c; echo fields "$f"; '
    'echo answer $(printf "%s" "$o" | x); exit 0'
)

GPU_FIELDS = (
    "index,uuid,name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.memory,"
    "clocks.applications.graphics,clocks.applications.memory,ecc.mode.current,mig.mode.current,pcie.link.gen.max,"
    "pcie.link.width.current"
)
OLD_GPU_FIELDS = "index,uuid,name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.memory"
GPU_LIMIT_S = 8


@dataclass(frozen=True, slots=True)
class ReadProcesses:
    """List the processes whose command line matches, with arguments, environment and output targets."""

    pattern: str  # extended regular expression

    def text(self) -> str:
        return command_text(_PROCESSES, self.pattern)


@dataclass(frozen=True, slots=True)
class ResolvePath:
    """Ask for a path without links and from the root."""

    path: str

    def text(self) -> str:
        return command_text(_RESOLVE, operand(self.path))


@dataclass(frozen=True, slots=True)
class ReadSurroundings:
    """Ask for what surrounds a process: host name, driver, packages of its Python, NCCL's configuration files."""

    pid: int
    nccl_conf_file: str = ""  # as its environment names it
    home: str = ""
    prefixes: tuple[str, ...] = ()  # folders whose bin/ may hold its Python, the likeliest first

    def text(self) -> str:
        return command_text(_SURROUNDINGS, str(self.pid), self.nccl_conf_file, self.home, *self.prefixes)


@dataclass(frozen=True, slots=True)
class ReadGpus:
    """Ask nvidia-smi for names, limits and clocks of all GPUs."""

    def text(self) -> str:
        return command_text(_GPUS, GPU_FIELDS, OLD_GPU_FIELDS, str(GPU_LIMIT_S))


RemoteCommand: TypeAlias = LookAt | Tail | ReadRange | ReadProcesses | ResolvePath | ReadSurroundings | ReadGpus


def parse_command(text: str) -> RemoteCommand | None:
    """Recognise a command that this module built; None for everything else, however close."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    command: RemoteCommand | None = parse_file_command(words)
    match words:
        case ["exec", "sh", "-c", script, "specmon", pattern] if script == _PROCESSES:
            command = ReadProcesses(pattern)
        case ["exec", "sh", "-c", script, "specmon", path] if script == _RESOLVE:
            command = ResolvePath(path)
        case ["exec", "sh", "-c", script, "specmon", pid, conf, home, *prefixes] if script == _SURROUNDINGS:
            command = ReadSurroundings(int(pid), conf, home, tuple(prefixes)) if is_number(pid) else None
        case ["exec", "sh", "-c", script, "specmon", *_] if script == _GPUS:
            command = ReadGpus()
    return command if command is not None and command.text() == text else None
