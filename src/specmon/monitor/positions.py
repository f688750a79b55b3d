"""Acceptance by draft position, as far as it was measured, and whether it adds up to the accept length."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specmon.analysis.figures import LevelFigures
from specmon.monitor.life import Life
from specmon.monitor.phaserecords import AcceptanceView
from specmon.monitor.snapshot import Role
from specmon.shares import percent

_FITS_WITHIN = 0.02  # of the accept length, for rates that the log rounds
_EXACT_WITHIN = 0.005  # for counters of the same moments
_WHY = {
    "sglang": "SGLang's log tells only the mean accept length",
    "vllm": "no line with rates by position yet; vLLM writes one every 10 s while it drafts",
    "llama.cpp": "no draft line with rates by position; newer llama.cpp builds print them for each request",
    "tensorrt-llm": "TensorRT-LLM's log tells nothing of acceptance",
}


def acceptance_view(life: Life | None, engine: str | None, level: LevelFigures | None) -> AcceptanceView:
    """Of the level, by the log; else over the whole run, by the server's counters; else the reason."""
    if life is None:
        return AcceptanceView(reason="no line of a server yet")
    if life.role is Role.BASELINE:
        return AcceptanceView(reason="a baseline drafts nothing")
    if level is not None and level.pooled_by_position:
        return _checked(level.pooled_by_position, level.accept_len, "log", _FITS_WITHIN, _why_off(level, engine))
    if level is not None and level.accept_by_position:
        medians = "the positions are medians over samples, as the log does not count draft rounds"
        return _checked(level.accept_by_position, level.accept_len, "log", _FITS_WITHIN, medians)
    totals = life.counters.totals
    if totals is not None and totals.by_position:
        return _checked(
            totals.by_position,
            totals.accept_len,
            "metrics",
            _EXACT_WITHIN,
            "the counters of the positions and of all accepted drafts do not fit each other",
        )
    accept = level.accept_len if level is not None else None
    return AcceptanceView(accept_len=accept, reason=_WHY.get(engine or "", "this log does not tell it"))


def _why_off(level: LevelFigures, engine: str | None) -> str:
    # vLLM counts no round without a proposal; llama.cpp's cycles are all of a request's.
    if engine == "llama.cpp" and level.drafting_share is not None and level.drafting_share < 1 - _FITS_WITHIN:
        return (
            f"the positions are of the {percent(level.drafting_share)} of the cycles that had a draft, the accept "
            "length is of all"
        )
    return "the log's rates by position and its counts of accepted tokens do not fit each other"


def _checked(
    positions: Sequence[float], accept_len: float | None, source: str, within: float, why: str
) -> AcceptanceView:
    if not all(math.isfinite(each) and 0 <= each <= 1 for each in positions):
        return AcceptanceView(
            accept_len=accept_len, source=source, reason="a rate by position is not between 0 and 1, so none is shown"
        )
    whole = 1 + math.fsum(positions)
    text = " + ".join(["1", *(f"{each:.2f}" for each in positions)]) + f" = {whole:.2f}"
    if accept_len is None:
        return AcceptanceView(tuple(positions), None, source, None, text, "no accept length to compare")
    if abs(whole / accept_len - 1) <= within:
        return AcceptanceView(tuple(positions), accept_len, source, True, text)
    reason = f"the accept length is {accept_len:.2f}: {why}"
    return AcceptanceView(tuple(positions), accept_len, source, False, text, reason)
