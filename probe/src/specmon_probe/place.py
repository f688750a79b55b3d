"""Where a process stands among its server's: whether its lines are wanted, and how often."""

from __future__ import annotations

import sys
from dataclasses import dataclass

INTERVAL = 40  # SGLang's default of --decode-log-interval


@dataclass(frozen=True)
class Place:
    """What the probe has to know of the scheduler that it lives in."""

    prints: bool  # the rank that prints SGLang's own statistics line; with pipeline stages, the last stage's
    interval: int  # decode cycles a line
    algorithm: str | None  # None: the server does not speculate


class UnknownPlace(Exception):
    """The scheduler does not say which rank it is."""


def find_place(scheduler: object) -> Place:
    """Read it off a scheduler of any version since 0.5.0."""
    args = getattr(scheduler, "server_args", None)
    ranks = _ranks(scheduler)
    stage = getattr(ranks, "pp_rank", 0) or 0
    stages = getattr(ranks, "pp_size", None) or getattr(args, "pp_size", None) or 1
    algorithm = getattr(args, "speculative_algorithm", None)
    interval = getattr(args, "decode_log_interval", None)
    return Place(
        # A rank of each DP group, since each has a batch of its own.
        prints=ranks.attn_tp_rank == 0  # type: ignore[attr-defined]  # `_ranks` looked
        and not (getattr(ranks, "attn_cp_rank", 0) or 0)
        and stage == stages - 1,
        interval=interval if isinstance(interval, int) and interval > 0 else INTERVAL,
        algorithm=None if algorithm is None else str(algorithm),
    )


def _ranks(scheduler: object) -> object:
    """What holds `attn_tp_rank`: the scheduler up to 0.5.15, its `ps` from 0.5.16, the run-time context in 0.5.23."""
    for holder in (getattr(scheduler, "ps", None), scheduler):
        if isinstance(getattr(holder, "attn_tp_rank", None), int):
            return holder
    context = sys.modules.get("sglang.srt.runtime_context")
    if context is not None:
        parallel: object = context.get_parallel()
        if isinstance(getattr(parallel, "attn_tp_rank", None), int):
            return parallel
    raise UnknownPlace("its scheduler does not say which rank it is")
