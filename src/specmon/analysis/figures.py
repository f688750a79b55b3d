"""What a run comes to: frozen figures, None where the log does not support one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from specmon.analysis.level import Move
from specmon.analysis.spread import Interval
from specmon.analysis.uncertainty import LogError


@dataclass(frozen=True, slots=True)
class Throughput:
    """The spread of the clean samples' own tok/s."""

    median: float | None = None
    mean: float | None = None
    mad: float | None = None
    ci95: Interval | None = None
    p5: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What the figures of a level were made of, so that their arithmetic can be followed."""

    rank_tok_s: tuple[float, ...] = ()  # decode throughput of each rank that adds up
    delivered: tuple[tuple[float, float], ...] = ()  # tokens and seconds of the windows of each of them
    windows: int = 0  # that were delivered
    idle_windows: int = 0  # left out of the delivered throughput
    accept_tokens: float | None = None  # over all requests and cycles: the accept length is tokens / rounds
    accept_rounds: float | None = None  # requests x cycles
    drafted: float = 0.0  # draft tokens that were proposed, where the log counts them
    accepted: float = 0.0
    first_at: float | None = None  # of the clean samples, on the log's clock
    last_at: float | None = None
    last_index: int | None = None  # of the newest clean sample among those of the run


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One number of running requests, all ranks of the server together."""

    running: int  # of one rank; the centre of a band
    samples: int
    clean: int
    counted: int = 0  # samples without those of duplicate ranks
    tok_s: Throughput = Throughput()
    decode_tok_s: float | None = None
    decode_tok_s_ci95: Interval | None = None
    decode_error: LogError | None = None  # of ln(decode_tok_s): what the interval is made of
    delivered_tok_s: float | None = None
    delivered_tok_s_ci95: Interval | None = None
    delivered_error: LogError | None = None
    prefill_share: float | None = None
    accept_len: float | None = None
    acceptance_rate: float | None = None  # accepted / proposed, where the log counts both
    accept_by_position: tuple[float, ...] | None = None  # medians, 0..1
    pooled_by_position: tuple[float, ...] | None = None  # by draft rounds, 0..1: with 1 for the bonus they add up to A
    drafting_share: float | None = None  # rounds with a proposal / all, where positions are told
    prompt_share: float | None = None  # prompt tokens for each generated one, where no prefill lines are
    cycle_ms: float | None = None
    context_tokens: float | None = None  # per request
    queue: float | None = None
    cuda_graph: str = "unknown"
    outliers: int = 0
    moves: tuple[Move, ...] = ()
    ranks_without_clean: tuple[str, ...] = ()  # "" stands for a rank without a tag
    running_range: tuple[int, int] | None = None  # a band of levels, whose throughputs are per request
    basis: Basis = Basis()


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One life of a server."""

    samples: int = 0
    counted: int = 0  # samples without those of duplicate ranks, which no rule judged
    clean: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    first_tok_s: float | None = None
    last_tok_s: float | None = None
    delivered_tok_s: float | None = None
    prefill_share: float | None = None
    accept_len: float | None = None
    drafts: float | None = None  # draft rounds
    levels: tuple[LevelFigures, ...] = ()
    ranks: tuple[str, ...] = ()
    ranks_missing: tuple[str, ...] = ()
    prefill_batches: int = 0
    prefill_tokens: int = 0
    after_prefill: int = 0  # samples with a prefill since the previous one or the start

    def level_at(self, running: int) -> LevelFigures | None:
        """The figures of one level, None when there was no sample of it."""
        return next((level for level in self.levels if level.running == running), None)

    @property
    def main_level(self) -> LevelFigures | None:
        """The level that stands for the run: most clean samples, else most samples."""
        return max(self.levels, key=lambda level: (level.clean, level.samples, -level.running), default=None)


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """Where the time of a cycle goes, as something else than the throughput tells it."""

    source: Literal["metrics", "probe", "log", "custom"]
    cycles: int
    cycle_ms: float | None
    ms: Mapping[str, float]  # phase to its time a cycle
    identity_cycle_ms: float | None = None  # 1000 * A * B / R of the main level: what the phases are checked by
    by_running: Mapping[int, PhaseFigures] = field(default_factory=dict)

    @property
    def residual_ms(self) -> float | None:
        """What no phase accounts for."""
        return None if self.cycle_ms is None else self.cycle_ms - math.fsum(self.ms.values())
