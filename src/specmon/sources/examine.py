"""What a checkup asks of a machine: its shell and tools, its clock, and how a log there grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from specmon.errors import SourceLost
from specmon.sources.file_commands import fresh_mark
from specmon.sources.machine import Machine, NoAnswer
from specmon.sources.shell_words import command_text, operand

# What following needs, and what only some steps need.
NEEDED = ("dd", "od", "tail", "stat")
USEFUL = ("find", "readlink", "grep")
_LIMIT_S = 15.0
_ASKED = 5

_TOOLS = (
    'echo "$1"; shift; echo shell $SHELL; echo system $(uname -s -r); '
    'for c in "$@"; do command -v $c >/dev/null || echo lacks $c; done; '
    "case $(tail --version 2>&1; tail --help 2>&1) in *BusyBox*) echo tail BusyBox;; *GNU*) echo tail GNU;; "
    "*) echo tail other;; esac; exit 0"
)
_CLOCK = 'echo "$1" $(date +%s.%N); exit 0'
_STATE = (
    's() { stat -L -c "%s %Y" -- "$1" 2>/dev/null || stat -L -f "%z %m" -- "$1"; }; '
    'echo "$2"; s "$1"; sleep "$3"; s "$1"; date +%s; exit 0'
)
_END = 'echo "$3"; tail -c "$2" -- "$1"; exit 0'


@dataclass(frozen=True, slots=True)
class Tools:
    """The shell of a machine and what it has."""

    shell: str = ""  # the login shell
    system: str = ""
    tail: str = "other"  # GNU, BusyBox, other
    lacks: tuple[str, ...] = ()
    greeting_bytes: int = 0  # what the login shell says before a command begins


@dataclass(frozen=True, slots=True)
class ClockReading:
    """How far another clock is ahead of this one."""

    skew_s: float
    uncertain_by_s: float  # half a round trip, and half of what the far clock does not show
    round_trip_s: float


@dataclass(frozen=True, slots=True)
class Growth:
    """A log at two moments."""

    size: int
    grown_bytes: int
    over_s: float
    silent_s: float  # since it was last written, by the machine's clock


async def examine(machine: Machine) -> Tools:
    """Ask for the shell and its tools. SourceLost when the shell gives no usable answer."""
    mark = fresh_mark()
    answer = await machine.run(command_text(_TOOLS, mark, *NEEDED, *USEFUL), timeout_s=_LIMIT_S)
    tools = parse_tools(answer.stdout, mark)
    if tools is None:
        raise NoAnswer(f"{machine.name}: the shell gave no usable answer ({answer.words})")
    return tools


def parse_tools(answer: bytes, mark: str) -> Tools | None:
    """Read what was said behind the mark; None without one."""
    greeting, found, rest = answer.partition(mark.encode("ascii") + b"\n")
    if not found:
        return None
    shell = system = ""
    tail, lacks = "other", []
    for line in rest.decode("utf-8", "replace").splitlines():
        word, _, text = line.partition(" ")
        match word:
            case "shell":
                shell = text.strip()[:200]
            case "system":
                system = text.strip()[:200]
            case "tail":
                tail = text.strip()[:20]
            case "lacks":
                lacks.append(text.strip()[:20])
    return Tools(shell, system, tail, tuple(lacks), len(greeting))


async def read_clock(
    machine: Machine, *, clock: Callable[[], float] = time.time, ticks: Callable[[], float] = time.monotonic
) -> ClockReading:
    """Compare the clocks a few times; the quickest answer is the surest. SourceLost when there is none."""
    best: ClockReading | None = None
    for _ in range(_ASKED):
        mark = fresh_mark()
        asked_at, begun = clock(), ticks()
        answer = await machine.run(command_text(_CLOCK, mark), timeout_s=_LIMIT_S)
        reading = parse_clock(answer.stdout, mark, asked_at, ticks() - begun)
        if reading is not None and (best is None or reading.uncertain_by_s < best.uncertain_by_s):
            best = reading
    if best is None:
        raise SourceLost(f"{machine.name}: `date` gave no time")
    return best


def parse_clock(answer: bytes, mark: str, asked_at: float, round_trip_s: float) -> ClockReading | None:
    """The far clock is read somewhere within the round trip: in its middle, give or take half of it."""
    words = answer.partition(mark.encode("ascii"))[2].split()
    if not words:
        return None
    seconds, _, fraction = words[0].partition(b".")
    if not (seconds.isdigit() and len(seconds) < 15):
        return None
    is_fine = fraction[:9].isdigit()  # BusyBox and BSD know no %N
    told = int(seconds) + (int(fraction[:9].ljust(9, b"0")) / 1e9 if is_fine else 0.5)
    skew_s = told - (asked_at + round_trip_s / 2)
    return ClockReading(skew_s, round_trip_s / 2 + (0.0 if is_fine else 0.5), round_trip_s)


async def read_growth(machine: Machine, path: str, over_s: float) -> Growth | None:
    """Look at a log twice; None when it cannot be looked at."""
    mark = fresh_mark()
    command = command_text(_STATE, operand(path), mark, f"{over_s:g}")
    return parse_growth((await machine.run(command, timeout_s=_LIMIT_S + over_s)).stdout, mark, over_s)


def parse_growth(answer: bytes, mark: str, over_s: float) -> Growth | None:
    """Read two sizes with their times, and the machine's time."""
    lines = answer.partition(mark.encode("ascii") + b"\n")[2].split(b"\n")
    try:
        first, second, now = [int(word) for word in lines[0].split()], [int(w) for w in lines[1].split()], int(lines[2])
        return Growth(second[0], second[0] - first[0], over_s, max(0.0, float(now - second[1])))
    except (ValueError, IndexError):
        return None


async def read_end(machine: Machine, path: str, size: int) -> bytes:
    """The last bytes of a file; none when it cannot be read."""
    mark = fresh_mark()
    answer = await machine.run(command_text(_END, operand(path), str(size), mark), timeout_s=_LIMIT_S)
    return answer.stdout.partition(mark.encode("ascii") + b"\n")[2]
