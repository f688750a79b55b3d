"""One decode line, and the sample that it becomes on its way through the rules."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """What one decode line says; NaN for a figure that it lacks."""

    at: float
    running: int
    tok_s: float
    accept_len: float = math.nan
    cycle_ms: float = math.nan  # where the engine prints it
    window_s: float = math.nan
    tokens: float = math.nan
    context_tokens: float = math.nan  # of all requests
    queue: float = math.nan
    graph: int = -1
    drafts: float = math.nan  # draft rounds
    drafted: float = math.nan  # proposed draft tokens
    accepted: float = math.nan
    prompt_tok_s: float = math.nan
    by_position: tuple[float, ...] = ()


@dataclass(slots=True)
class Sample:
    """The figures of one decode line of one rank. NaN is a figure that the line lacks."""

    index: int  # position in the run, over all ranks
    at: float  # s, the log's clock
    running: int  # B
    tok_s: float  # R as printed
    server_tok_s: float  # R of all B requests together
    accept_len: float  # A; 1 for a baseline
    cycle_ms: float  # C
    context_tokens: float  # per request
    queue: float
    graph: int  # events.Graph
    cycles: float  # decode passes the line covers
    window_s: float  # of the server's time, so that tokens / window_s is its throughput
    tokens: float
    rounds: float  # draft rounds: what the accept length of a run is weighted by
    window_cycles: float  # decode passes of the server in `window_s`
    drafted: float  # proposed draft tokens, NaN where the line does not tell
    accepted: float
    prompt_tok_s: float = math.nan  # prompt tokens/s of the same window, where no prefill lines are
    by_position: tuple[float, ...] = ()  # share of draft rounds in which each position was accepted

    @property
    def drafting_rounds(self) -> float:
        """The rounds that `by_position` are shares of: at most all, as some cycles may go without a proposal."""
        gained = math.fsum(self.by_position)
        # Shares come with three digits, so of few accepted tokens they cannot tell the rounds.
        if not gained > 0 or not self.accepted > 0:
            return self.rounds
        return min(self.rounds, self.accepted / gained)
