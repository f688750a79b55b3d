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

from specmon.sources.file_commands import LookAt, Tail, parse_file_command

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
    'echo target $n $k $(printf "%s" "$t" | x); else echo notarget $n; fi; done; done 2>/dev/null; exit 0'
)


@dataclass(frozen=True, slots=True)
class ReadProcesses:
    """List the processes whose command line matches, with arguments, environment and output targets."""

    pattern: str  # extended regular expression

    def text(self) -> str:
        return _command(_PROCESSES, self.pattern)


RemoteCommand: TypeAlias = LookAt | Tail | ReadProcesses


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
    return command if command is not None and command.text() == text else None


def _command(script: str, *words: str) -> str:
    return shlex.join(["exec", "sh", "-c", script, "specmon", *words])
