"""Puts the figures of a run together from its ranks and levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specmon.analysis.combine import prefill_share
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.rank import RankStatistics
from specmon.analysis.rules import EXCLUDING


def run_figures(
    counted: Sequence[RankStatistics],
    levels: tuple[LevelFigures, ...],
    *,
    samples: int,
    ranks: tuple[str, ...],
    ranks_missing: tuple[str, ...],
    is_speculative: bool,
    knows_acceptance: bool,
    windows_hold_prefill: bool,
) -> RunFigures:
    """All that the samples of the ranks that add up come to."""
    decoding = [rank for rank in counted if rank.samples]
    rounds = math.fsum(rank.accept_cycles for rank in counted)
    every = [level for rank in counted for level in rank.levels.values()]
    return RunFigures(
        samples=samples,
        counted=sum(rank.samples for rank in counted),
        clean=sum(level.clean_count for level in every),
        excluded={rule.word: sum(rank.verdicts[rule] for rank in counted) for rule in EXCLUDING},
        first_tok_s=sum_of_known([rank.first_tok_s for rank in decoding]),
        last_tok_s=sum_of_known([rank.last_tok_s for rank in decoding]),
        delivered_tok_s=sum_of_known([_delivered(rank) for rank in decoding]),
        prefill_share=prefill_share(every) if windows_hold_prefill else None,
        accept_len=math.fsum(rank.accept_sum for rank in counted) / rounds if rounds > 0 and knows_acceptance else None,
        drafts=rounds if is_speculative and rounds > 0 else None,
        levels=levels,
        ranks=ranks,
        ranks_missing=ranks_missing,
        prefill_batches=sum(rank.prefill_batches for rank in counted),
        prefill_tokens=round(math.fsum(rank.prefill_tokens for rank in counted)),
        after_prefill=sum(rank.after_prefill for rank in counted),
    )


def sum_of_known(values: Sequence[float | None]) -> float | None:
    """The sum of the figures that there are; None without any."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _delivered(rank: RankStatistics) -> float | None:
    seconds = math.fsum(level.delivery.seconds for level in rank.levels.values())
    return math.fsum(level.delivery.tokens for level in rank.levels.values()) / seconds if seconds > 0 else None
