"""Why a throughput is another one: what of the change is the accept length's, what the cycle's, what a phase's.

From the identity R = 1000 * A * B / C: at the same B, ln(R2 / R1) = ln(A2 / A1) - ln(C2 / C1), so the two parts add
up to the whole. Phase times are a second source, so they name the phase that moved and do not enter the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from specmon.analysis.figures import LevelFigures, PhaseFigures
from specmon.shares import percent, signed_percent

NOTICEABLE = 0.01  # a part that moved by less is not named


@dataclass(frozen=True, slots=True)
class Standing:
    """A server at one B: what its throughput is made of."""

    accept_len: float
    cycle_ms: float
    phases_ms: Mapping[str, float] = field(default_factory=dict)
    phase_cycle_ms: float | None = None  # C as the source of the phases tells it


@dataclass(frozen=True, slots=True)
class Attribution:
    """From one standing to another."""

    before: Standing
    now: Standing

    @property
    def accept_factor(self) -> float:
        """What the accept length alone does to R."""
        return self.now.accept_len / self.before.accept_len

    @property
    def cycle_factor(self) -> float:
        """What the cycle alone does to R: below 1 for a longer one."""
        return self.before.cycle_ms / self.now.cycle_ms

    @property
    def factor(self) -> float:
        """R now over R before."""
        return self.accept_factor * self.cycle_factor

    @property
    def cycle_share(self) -> float | None:
        """The part of ln(R2 / R1) that is the cycle's; None when R did not move."""
        whole = math.log(self.factor)
        return math.log(self.cycle_factor) / whole if abs(whole) > 1e-12 else None

    @property
    def phase(self) -> str | None:
        """The phase whose time changed most; None where the two have none in common."""
        before, now = self.before.phases_ms, self.now.phases_ms
        return max(
            (name for name in now if name in before), key=lambda name: abs(now[name] - before[name]), default=None
        )


def standing_of(level: LevelFigures, phases: PhaseFigures | None = None) -> Standing | None:
    """A level as a standing, with the phases of the same B; None without A or C."""
    if level.accept_len is None or level.cycle_ms is None:
        return None
    at_level = None
    if phases is not None and level.running_range is None:
        at_level = phases.by_running.get(level.running) if phases.by_running else phases
    if at_level is None:
        return Standing(level.accept_len, level.cycle_ms)
    return Standing(level.accept_len, level.cycle_ms, dict(at_level.ms), at_level.cycle_ms)


def words_of_change(change: Attribution) -> str:
    """ "cycle 27.7 → 31.2 ms (+12.6 %): verify 21.0 → 24.4 ms; accept length 2.10 → 1.98 (-5.7 %)", largest first."""
    parts = []
    if abs(math.log(change.cycle_factor)) >= NOTICEABLE:
        text = (
            f"cycle {_ms(change.before.cycle_ms)} → {_ms(change.now.cycle_ms)} ms ({_percent(1 / change.cycle_factor)})"
        )
        phase = change.phase
        if phase is not None:
            before, now = change.before.phases_ms[phase], change.now.phases_ms[phase]
            # A phase that went the other way explains nothing.
            if (now - before) * (change.now.cycle_ms - change.before.cycle_ms) > 0:
                text += f": {phase.replace('_', ' ')} {_ms(before)} → {_ms(now)} ms"
        parts.append((abs(math.log(change.cycle_factor)), text))
    if abs(math.log(change.accept_factor)) >= NOTICEABLE:
        text = (
            f"accept length {change.before.accept_len:.2f} → {change.now.accept_len:.2f} "
            f"({_percent(change.accept_factor)})"
        )
        parts.append((abs(math.log(change.accept_factor)), text))
    parts.sort(reverse=True)
    return "; ".join(text for _, text in parts) or "neither the accept length nor the cycle moved by 1 %"


def words_of_speedup(change: Attribution) -> str:
    """From a baseline to speculation: what the tokens of a cycle gain, what its length costs, and where it goes."""
    gain = f"{change.now.accept_len:.2f} tokens a cycle gain {change.accept_factor:.2f}×"
    step, cycle = change.before.cycle_ms, change.now.cycle_ms
    slower = 1 / change.cycle_factor
    if slower >= 1:
        cost = f"a cycle of {_ms(cycle)} ms instead of {_ms(step)} ms costs {slower:.2f}×"
    else:
        cost = f"a cycle of {_ms(cycle)} ms instead of {_ms(step)} ms gains {change.cycle_factor:.2f}×"
    return f"{gain}, {cost}{_where(change.now, change.before)}"


def _where(now: Standing, step: Standing) -> str:
    """The phase that takes most of the cycle, where phases are known."""
    whole = now.phase_cycle_ms
    if not now.phases_ms or not whole:
        return ""
    phase, ms = max(now.phases_ms.items(), key=lambda item: item[1])
    text = f"; {phase.replace('_', ' ')} takes {_ms(ms)} ms of it ({percent(ms / whole)})"
    if phase != "verify":
        return text
    decode = step.phases_ms.get("decode")
    if decode:
        return f"{text}, {ms / decode:.2f} times the baseline's measured decode phase"
    return f"{text}, {ms / step.cycle_ms:.2f} times a baseline step by its throughput"


def _ms(value: float) -> str:
    return f"{value:.3g}" if value < 10 else f"{value:.1f}"


def _percent(factor: float) -> str:
    return signed_percent(factor - 1)
