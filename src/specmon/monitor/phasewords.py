"""Which phases changed, in one sentence."""

from __future__ import annotations

from specmon.analysis.phasehistory import PhaseChange
from specmon.monitor.timewords import time_of_day


def sentence_of(changes: tuple[PhaseChange, ...]) -> str:
    """ "verify 21.0 → 28.7 ms since 16:41:10 (cycle 22.1 → 29.9 ms)"; the phases that moved most."""
    phases = [change for change in changes if change.name != "cycle"]
    whole = next((change for change in changes if change.name == "cycle"), None)
    if not phases:
        return "" if whole is None else f"cycle {_from_to(whole)} since {time_of_day(whole.since)}"
    told = [
        f"{change.name.replace('_', '-')} {_from_to(change)} since {time_of_day(change.since)}" for change in phases[:2]
    ]
    return "; ".join(told) + (f" (cycle {_from_to(whole)})" if whole is not None else "")


def _from_to(change: PhaseChange) -> str:
    return f"{_ms(change.before_ms)} → {_ms(change.now_ms)} ms"


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"
