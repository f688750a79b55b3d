"""One decode sample on its way through the rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Sample:
    """The figures of one decode line of one rank. NaN is a figure that the line lacks."""

    index: int  # position in the run, over all ranks
    at: float  # s, the log's clock
    running: int  # B
    tok_s: float  # R
    accept_len: float  # A; 1 for a baseline
    cycle_ms: float  # C
    context_tokens: float  # per request
    queue: float
    graph: int  # events.Graph
    cycles: float  # decode passes the line covers
    window_s: float  # wall time the line covers
    tokens: float
