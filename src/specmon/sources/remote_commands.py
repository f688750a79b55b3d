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

HEAD_BYTES = 256  # as much of a file's beginning as tells one file from another

# device, inode and size: GNU and BusyBox, then BSD, then what POSIX has (no device number there).
_STAT = (
    's() { stat -L -c "%d %i %s" -- "$1" 2>/dev/null || stat -L -f "%d %i %z" -- "$1" 2>/dev/null || '
    '{ set -- $(ls -Lin -- "$1" 2>/dev/null); [ -n "$6" ] && echo "0 $1 $6"; }; }; '
)
_HEAD = f'h() {{ od -An -v -tx1 -N {HEAD_BYTES} -- "$1" 2>/dev/null; }}; '

_LOOK = (
    _STAT + _HEAD + 'd=$(dirname -- "$1"); '
    'if [ -d "$1" ]; then echo directory; '
    'elif [ -f "$1" ] && [ -r "$1" ]; then echo file $(s "$1") $(h "$1"); '
    'elif [ -f "$1" ]; then echo unreadable; '
    'elif [ -e "$1" ]; then echo special; '
    'elif [ -e "$d" ] && [ -x "$d" ]; then echo missing; '
    'elif [ -e "$d" ]; then echo unreadable; '
    "else echo missing; fi; "
    # A file that was renamed while nobody looked is found again by its number, in the same folder.
    'if [ -n "$2" ]; then m=$(find "$d" -maxdepth 1 -type f -inum "$2" 2>/dev/null | head -n 1); '
    '[ -n "$m" ] && { echo moved $(s "$m") $(h "$m"); printf "%s" "$m"; }; fi; exit 0'
)

# stdout: the file's bytes. stderr: one line a look: "look|OPEN FILE|PATH|HEAD" when anything changed, else "same".
# The tail reads the descriptor, so a rename never makes it jump to another file unseen. GNU tail polls a descriptor
# once a second; every 20 ms costs it 0.1 % of a core. `cat` ends when the channel closes, also with tails that do not
# notice a closed output by themselves, and takes the tail with it. When the tail dies, the looks end too: sshd tells of
# the end of one stream only when both have ended.
_TAIL = (
    _STAT + _HEAD + 'exec 3<"$1" || exit 66; p=$3; l=; '
    'k() { a=$(s /dev/fd/3); b=$(s "$p"); if [ "$a,$b" = "$l" ]; then echo same; '
    'else l="$a,$b"; echo "look|$a|$b|"$(h "$p"); fi; }; '
    'k >&2; f=; case $(tail --version 2>/dev/null) in *GNU*) f="-s 0.02";; esac; '
    'tail -c "+$2" -f $f <&3 2>/dev/null & t=$! ; '
    '( while sleep "$4"; do kill -0 $t && k || exit; done ) >&2 & w=$! ; '
    "exec >/dev/null 2>&1; cat; kill $t $w 2>/dev/null; exit 0"
)

# One line a fact, bytes in hexadecimal, so that no content can pass for another line.
_PROCESSES = (
    "x() { od -An -v -tx1 -N 262144; }; "
    "echo clock $(date +%s) $(getconf CLK_TCK 2>/dev/null || echo 100) $(grep btime /proc/stat 2>/dev/null); "
    "[ -r /proc/stat ] || { echo noproc; exit 0; }; "
    'for c in $(grep -lsE -e "$1" /proc/[0-9]*/cmdline 2>/dev/null); do d=${c%/cmdline}; '
    "echo process ${d#/proc/}; "
    'echo stat $(x <"$d/stat"); echo cmdline $(x <"$d/cmdline"); '
    'if [ -r "$d/environ" ] && e=$(od -An -v -tx1 -N 262144 "$d/environ"); then echo environ $e; '
    "else echo noenviron; fi; "
    'for n in 1 2; do if t=$(readlink "$d/fd/$n"); then k=other; [ -f "$d/fd/$n" ] && k=file; '
    'echo target $n $k $(printf "%s" "$t" | x); else echo notarget $n; fi; done; done 2>/dev/null; '
    # `2>&1 | tee FILE` is how many people keep a log: which pipe a tee reads, and which files it writes.
    'for c in $(grep -lsx -e tee /proc/[0-9]*/comm 2>/dev/null); do d=${c%/comm}; i=$(readlink "$d/fd/0") && '
    'for f in "$d"/fd/[3-9]; do t=$(readlink "$f") && [ -f "$f" ] && '
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
class LookAt:
    """Ask what lies at a path, and where the file with a known inode is now."""

    path: str
    inode: int | None = None

    def text(self) -> str:
        return _command(_LOOK, _operand(self.path), "" if self.inode is None else str(self.inode))


@dataclass(frozen=True, slots=True)
class Tail:
    """Follow a file from a byte on, and look at a path beside it (the same one, unless the file was renamed)."""

    path: str
    offset: int  # bytes before the first one that is wanted
    watch: str
    interval_s: int = 1  # between two looks

    def text(self) -> str:
        return _command(_TAIL, _operand(self.path), str(self.offset + 1), _operand(self.watch), str(self.interval_s))


@dataclass(frozen=True, slots=True)
class ReadProcesses:
    """List the processes whose command line matches, with arguments, environment and output targets."""

    pattern: str  # extended regular expression

    def text(self) -> str:
        return _command(_PROCESSES, self.pattern)


@dataclass(frozen=True, slots=True)
class ResolvePath:
    """Ask for a path without links and from the root."""

    path: str

    def text(self) -> str:
        return _command(_RESOLVE, _operand(self.path))


@dataclass(frozen=True, slots=True)
class ReadSurroundings:
    """Ask for what surrounds a process: host name, driver, packages of its Python, NCCL's configuration files."""

    pid: int
    nccl_conf_file: str = ""  # as its environment names it
    home: str = ""
    prefixes: tuple[str, ...] = ()  # folders whose bin/ may hold its Python, the likeliest first

    def text(self) -> str:
        return _command(_SURROUNDINGS, str(self.pid), self.nccl_conf_file, self.home, *self.prefixes)


@dataclass(frozen=True, slots=True)
class ReadGpus:
    """Ask nvidia-smi for names, limits and clocks of all GPUs."""

    def text(self) -> str:
        return _command(_GPUS, GPU_FIELDS, OLD_GPU_FIELDS, str(GPU_LIMIT_S))


RemoteCommand: TypeAlias = LookAt | Tail | ReadProcesses | ResolvePath | ReadSurroundings | ReadGpus


def parse_command(text: str) -> RemoteCommand | None:
    """Recognise a command that this module built; None for everything else, however close."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    command: RemoteCommand | None = None
    match words:
        case ["exec", "sh", "-c", script, "specmon", path, inode] if script == _LOOK:
            command = LookAt(path, int(inode) if _is_number(inode) else None)
        case ["exec", "sh", "-c", script, "specmon", path, start, watch, interval] if script == _TAIL:
            if _is_number(start) and _is_number(interval) and int(start) > 0:
                command = Tail(path, int(start) - 1, watch, int(interval))
        case ["exec", "sh", "-c", script, "specmon", pattern] if script == _PROCESSES:
            command = ReadProcesses(pattern)
        case ["exec", "sh", "-c", script, "specmon", path] if script == _RESOLVE:
            command = ResolvePath(path)
        case ["exec", "sh", "-c", script, "specmon", pid, conf, home, *prefixes] if script == _SURROUNDINGS:
            command = ReadSurroundings(int(pid), conf, home, tuple(prefixes)) if _is_number(pid) else None
        case ["exec", "sh", "-c", script, "specmon", *_] if script == _GPUS:
            command = ReadGpus()
    return command if command is not None and command.text() == text else None


def _command(script: str, *words: str) -> str:
    return shlex.join(["exec", "sh", "-c", script, "specmon", *words])


def _operand(path: str) -> str:
    """Keep a path that begins with a dash from being read as an option."""
    return f"./{path}" if path.startswith("-") else path


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20
