"""What a server log can say: the only language between `formats/` and everything behind it.

A dialect turns a block of whole lines into one `Block`: typed columns for the lines that come by the
thousand (decode and prefill statistics) and small frozen events for the rare ones (a launch, a crash).
All positions are byte offsets in the stream, so columns and events can be put back into line order.

Times are seconds on the log's own clock, counted from 1970-01-01 as if that clock were UTC: SGLang
prints server-local time without a zone, and specmon never guesses one. NaN in a column and None in an
event mean that the log did not say; zero means zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from specmon.block import MISSING as MISSING
from specmon.block import Answers as Answers
from specmon.block import Block as Block
from specmon.block import Clock as Clock
from specmon.block import Covers as Covers
from specmon.block import Graph as Graph
from specmon.block import Habits as Habits
from specmon.block import LogEvent as LogEvent
from specmon.block import PrefillColumns as PrefillColumns
from specmon.block import SampleColumns as SampleColumns
from specmon.block import StepColumns as StepColumns

# A time before this one (s) is on a clock without a date: uptimes begin at 0, days without a date are the first,
# and years without a number are counted from 1972. Such times have distances, but no place in the calendar.
FIRST_DATED_S = 20 * 366 * 86_400.0

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Launched(LogEvent):
    """A server process says with which settings it was started. Secrets are already dropped."""

    kind: ClassVar[str] = "launch"

    flags: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))  # the log's own names
    is_complete: bool = True  # False: the record was cut, so a flag that is not there proves nothing
    version: str | None = None  # of the engine


@dataclass(frozen=True, slots=True)
class LaunchContinued(LogEvent):
    """The rest of a launch record that was broken over lines: its flags belong to the last `Launched`."""

    kind: ClassVar[str] = "launch_continued"

    flags: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    is_complete: bool = True
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ProcessStarted(LogEvent):
    """`Started server process [pid]`: another pid than before means another life."""

    kind: ClassVar[str] = "process_started"

    pid: int = -1


@dataclass(frozen=True, slots=True)
class ServiceStarted(LogEvent):
    """A supervisor (systemd) says that it has started the server: what follows is another life."""

    kind: ClassVar[str] = "service_started"


@dataclass(frozen=True, slots=True)
class Ready(LogEvent):
    """The server answers requests from here on."""

    kind: ClassVar[str] = "ready"


@dataclass(frozen=True, slots=True)
class ZoneChanged(LogEvent):
    """From here on the stamps carry this zone, or none; a stream begins without one."""

    kind: ClassVar[str] = "zone"

    utc_offset_s: int | None = None  # east of UTC


@dataclass(frozen=True, slots=True)
class Retracted(LogEvent):
    """The KV cache was full and requests were put back into the queue."""

    kind: ClassVar[str] = "retraction"

    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Flushed(LogEvent):
    """The prefix cache was flushed; the statistics window that holds it is not a steady one."""

    kind: ClassVar[str] = "flush"


@dataclass(frozen=True, slots=True)
class Crashed(LogEvent):
    """An exception, a watchdog, a child that died."""

    kind: ClassVar[str] = "crash"

    cause: str = "exception"  # exception, watchdog, subprocess, signal
    detail: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class CrashExplained(LogEvent):
    """The exception behind the last `Crashed`: it stands at the end of a traceback, lines after the record."""

    kind: ClassVar[str] = "crash_explained"

    detail: str = ""


@dataclass(frozen=True, slots=True)
class StopRequested(LogEvent):
    """SIGTERM, SIGINT or ^C arrived: what ends afterwards ends in good order."""

    kind: ClassVar[str] = "stop_requested"

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Exited(LogEvent):
    """The process says that it ends."""

    kind: ClassVar[str] = "exit"

    detail: str = ""


@dataclass(frozen=True, slots=True)
class WentIdle(LogEvent):
    """The log itself says that nothing is being served (SGLang never does: its silence is ambiguous)."""

    kind: ClassVar[str] = "idle"


@dataclass(frozen=True, slots=True)
class EnvironmentSet(LogEvent):
    """A line that proves the value of an environment variable (NCCL INFO)."""

    kind: ClassVar[str] = "environment"

    name: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class GraphCaptured(LogEvent):
    """A CUDA graph was captured; `stage` is "decode", "verify", "draft", "draft_extend", "prefill" or ""."""

    kind: ClassVar[str] = "graph"

    stage: str = ""
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Progressed(LogEvent):
    """A request that has not ended tells how fast it runs: for the live view, never a sample."""

    kind: ClassVar[str] = "progress"

    tok_s: float = MISSING  # of this request
    tokens: int | None = None  # generated so far
    request: tuple[int, ...] = ()  # tells requests that run together apart


@dataclass(frozen=True, slots=True)
class ProgressEnded(LogEvent):
    """A request that told its progress goes on no longer, whether it came to its end or was given up."""

    kind: ClassVar[str] = "progress_ended"

    request: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowSpoiled(LogEvent):
    """The time of the rank's next sample holds something else than its own work (idle time, as a rule)."""

    kind: ClassVar[str] = "window_spoiled"


@dataclass(frozen=True, slots=True)
class RanksAddUp(LogEvent):
    """The ranks share the requests (attention DP) and do not repeat each other's lines."""

    kind: ClassVar[str] = "ranks_add_up"


@dataclass(frozen=True, slots=True)
class AcceptanceUntold(LogEvent):
    """From here on the server is of a build that never prints acceptance: its absence proves no baseline."""

    kind: ClassVar[str] = "acceptance_untold"


@dataclass(frozen=True, slots=True)
class DraftsTimed(LogEvent):
    """What one drafter did since the server's start (llama.cpp's `statistics` lines)."""

    kind: ClassVar[str] = "drafts_timed"

    drafter: str = ""
    requests: int = 0
    draft_calls: int = 0  # one call drafts for all slots that are due
    accept_calls: int = 0  # one for each slot
    draft_ms: float = MISSING


@dataclass(frozen=True, slots=True)
class Drafted(LogEvent):
    """Draft counts without a decode line that they could belong to: they enter the pooled accept length alone."""

    kind: ClassVar[str] = "drafted"

    rounds: float = MISSING
    accept_len: float = MISSING
    proposed: float = MISSING  # draft tokens
    accepted: float = MISSING
    by_position: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticsOff(LogEvent):
    """The server says that it prints no statistics lines, and why."""

    kind: ClassVar[str] = "statistics_off"

    detail: str = ""


@dataclass(frozen=True, slots=True)
class PhasesTimed(LogEvent):
    """Where the time of some cycles went, as an instrumented server printed it. Means per cycle."""

    kind: ClassVar[str] = "phases"

    source: str = "custom"  # "probe": a line of specmon's own probe; "log": one of the engine's own
    cycles: float = 1.0
    running: int | None = None
    cycle_ms: float = MISSING  # wall time
    ms: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # draft, verify, draft_extend, decode


@dataclass(frozen=True, slots=True)
class PhasesRefused(LogEvent):
    """A line of specmon's own probe that gives no figure: it cannot be right, or a newer probe wrote it."""

    kind: ClassVar[str] = "phases_refused"

    reason: str = ""  # "version": a newer line; "cut": half a line; "figure": no time; "sum": more than the cycle
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FormatsClash(LogEvent):
    """A statistics line that several formats can read; told once for each two of them."""

    kind: ClassVar[str] = "formats_clash"

    reads: str = ""  # the engine whose format reads it
    other: str = ""


@dataclass(frozen=True, slots=True)
class DialectFailed(LogEvent):
    """The code of a third party's dialect failed: from here on this stream is not read."""

    kind: ClassVar[str] = "dialect_failed"

    engine: str = ""
    detail: str = ""
