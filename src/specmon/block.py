"""What a dialect makes of a block of whole lines: typed columns, what a rare event always has, and how to read them.

All of it is imported from `specmon.events`, whose language it is; that module also says what times are.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import ClassVar

MISSING = math.nan


def _floats() -> array[float]:
    return array("d")


def _integers() -> array[int]:
    return array("q")


class Graph(IntEnum):
    """Whether a batch ran through a captured graph, as a column holds it."""

    UNKNOWN = -1
    FALSE = 0
    TRUE = 1


class Clock(StrEnum):
    """How much of a date the stamps of a block carry."""

    DATED = "dated"  # year, month, day and time
    YEARLESS = "yearless"
    TIME_OF_DAY = "time_of_day"
    UPTIME = "uptime"
    NONE = "none"


class Covers(StrEnum):
    """What one decode sample of an engine stands for."""

    WINDOW = "window"  # the time since the previous line: idle time and prefill of that time are in it
    REQUEST = "request"  # one whole answer: neither idle time nor its own prompt is in it
    STEP = "step"  # one step of the batch
    # By the clock and not by cycles (vLLM). `window_s` of a sample is then the longest that its line covers,
    # while idle time is in none; where it is not known, the line covers all the time since the one before.
    TICK = "tick"


@dataclass(frozen=True, slots=True)
class Habits:
    """How an engine's samples are to be read; the clean-sample rules depend on it."""

    covers: Covers = Covers.WINDOW
    tells_acceptance: bool = True  # False: a line without an accept length proves no baseline
    tells_prefill: bool = True  # False: that there is no prefill line means nothing
    cycles_per_sample: int | None = None  # decode passes of a line, where it is not for the launch to say


@dataclass(slots=True)
class SampleColumns:
    """Decode samples of one block, one entry a sample, in line order.

    The first six columns are filled for every sample. An optional column is either as long as `offset`
    or empty, when the dialect never gives that figure; ask `len(column)`. Within a filled column NaN
    (or -1 in an integer column) marks the one sample that lacks it.
    """

    offset: array[int] = field(default_factory=_integers)  # of the line's first byte in the stream
    at: array[float] = field(default_factory=_floats)  # s, the log's clock
    rank: array[int] = field(default_factory=_integers)  # index into Block.ranks
    process: array[int] = field(default_factory=_integers)  # pid in the line's prefix, else -1
    running: array[int] = field(default_factory=_integers)  # B: requests decoding on this rank
    tok_s: array[float] = field(default_factory=_floats)  # R: tokens/s of this rank

    accept_len: array[float] = field(default_factory=_floats)  # A, bonus token included
    accept_rate: array[float] = field(default_factory=_floats)  # as printed: evidence, never a figure
    context_tokens: array[float] = field(default_factory=_floats)  # KV tokens of all requests (#token)
    usage: array[float] = field(default_factory=_floats)  # 0..1 of the KV cache
    queue: array[float] = field(default_factory=_floats)  # requests waiting
    graph: array[int] = field(default_factory=_integers)  # Graph
    cycle_ms: array[float] = field(default_factory=_floats)  # C where the engine prints it itself
    window_s: array[float] = field(default_factory=_floats)  # time that the line covers, where known
    tokens: array[float] = field(default_factory=_floats)  # tokens that the line covers, where known
    prompt_tok_s: array[float] = field(default_factory=_floats)
    drafts: array[float] = field(default_factory=_floats)  # draft rounds
    drafted: array[float] = field(default_factory=_floats)  # proposed draft tokens
    accepted: array[float] = field(default_factory=_floats)  # accepted draft tokens
    iteration: array[int] = field(default_factory=_integers)
    by_position: list[tuple[float, ...]] = field(default_factory=list)  # 0..1: share of rounds, by draft position

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class StepColumns:
    """Single steps of a batch in which every request decodes: no samples, but phases (vLLM's iteration lines)."""

    offset: array[int] = field(default_factory=_integers)
    at: array[float] = field(default_factory=_floats)
    rank: array[int] = field(default_factory=_integers)
    running: array[int] = field(default_factory=_integers)
    decode_ms: array[float] = field(default_factory=_floats)

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class PrefillColumns:
    """Prefill batches of one block, one entry a line, in line order."""

    offset: array[int] = field(default_factory=_integers)
    at: array[float] = field(default_factory=_floats)
    rank: array[int] = field(default_factory=_integers)
    process: array[int] = field(default_factory=_integers)
    new_tokens: array[float] = field(default_factory=_floats)  # computed, without cache hits
    cached_tokens: array[float] = field(default_factory=_floats)
    running: array[float] = field(default_factory=_floats)
    queue: array[float] = field(default_factory=_floats)
    usage: array[float] = field(default_factory=_floats)

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A rare line. `rank` is the tag as logged ("DP0 TP0"), "" without one."""

    kind: ClassVar[str] = "event"

    offset: int
    at: float | None = None
    rank: str = ""
    process: int | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Generation requests that the access log of a block says were answered with success."""

    count: int = 0
    last_at: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """All that a block of whole lines said.

    `recognised` counts the lines of the block that are this engine's at all, whatever they say: 0 over a
    whole stream means that it is no log of this engine. `unparsed` holds the offsets of lines that look
    like statistics lines and lack a figure they need.
    """

    start: int  # offset of the first byte
    end: int  # offset after the last byte
    lines: int  # line ends in the block
    recognised: int = 0
    clock: Clock = Clock.NONE
    ranks: tuple[str, ...] = ("",)  # what the rank columns index
    decode: SampleColumns = field(default_factory=SampleColumns)
    prefill: PrefillColumns = field(default_factory=PrefillColumns)
    steps: StepColumns = field(default_factory=StepColumns)
    events: tuple[LogEvent, ...] = ()
    answers: Answers = Answers()
    unparsed: array[int] = field(default_factory=_integers)
    habits: Habits = Habits()
    outside: int = 0  # samples that were taken out because they lie outside the times asked for
    clipped: int = 0  # statistics lines that a terminal cut columns out of, but which could be read
