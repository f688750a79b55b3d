"""The line that specmon reads, version 1. Keys may be added; a reader skips those that it does not know."""

from __future__ import annotations

from specmon_probe.cycles import Means
from specmon_probe.layouts import DECODE, DRAFT, DRAFT_EXTEND, VERIFY

_ORDER = (DRAFT, VERIFY, DRAFT_EXTEND, DECODE)


def write(means: Means) -> str:
    """Means per cycle in ms; a phase that the algorithm lacks is left out, never 0."""
    parts = [f"specmon-phase v1 cycles={means.cycles} running={means.running}"]
    parts += [f"{phase}_ms={means.ms[phase]:.3f}" for phase in _ORDER if phase in means.ms]
    parts.append(f"cycle_ms={means.cycle_ms:.3f}")
    if means.accept_len is not None:
        parts.append(f"accept_len={means.accept_len:.2f}")
    if not means.own_verify:
        # Sampling, acceptance and the KV move are outside of it, and are part of the rest of the cycle.
        parts.append("verify_is=target_forward")
    return " ".join(parts)
