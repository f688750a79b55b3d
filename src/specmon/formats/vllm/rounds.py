"""Draft rounds and accept length from the counts of a draft line.

vLLM prints how many tokens were proposed and accepted, and a mean length rounded to two digits, but not
the rounds. The throughputs beside the counts are of no use: their window began at the last draft line that
was printed, so it spans idle time and is not the window of the engine line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.events import MISSING

_HALF_A_DIGIT = 0.005  # by which a printed length may be off


@dataclass(frozen=True, slots=True)
class Drafts:
    """What a draft line comes to for its interval. NaN: cannot be told."""

    rounds: float = MISSING
    accept_len: float = MISSING  # bonus token included
    proposed: float = MISSING
    accepted: float = MISSING
    by_position: tuple[float, ...] = ()

    @property
    def is_known(self) -> bool:
        """There were drafts at all: an interval without any prints `nan`, or nothing."""
        return self.proposed > 0 or self.rounds > 0


def drafts_of_interval(
    accepted: float, proposed: float, length: float, by_position: tuple[float, ...], steps: int | None
) -> Drafts:
    """Read the counts of one interval (V1). `steps` is k where the launch says it."""
    positions = tuple(share for share in by_position if share == share)
    most = len(by_position) or steps
    length = _with_bonus(length, accepted, proposed, positions, most)
    rounds = _rounds(accepted, proposed, length, most)
    return Drafts(
        rounds=rounds,
        accept_len=1 + accepted / rounds if rounds > 0 else (length if proposed > 0 else MISSING),
        proposed=proposed,
        accepted=accepted,
        by_position=positions if len(positions) == len(by_position) else (),
    )


def drafts_of_counters(accepted: float, proposed: float, emitted: float, steps: int) -> Drafts:
    """Read the difference of two V0 lines, which count from the server's start. Every V0 draft is full."""
    rounds = proposed / steps if steps > 0 else MISSING
    if not rounds > 0:
        return Drafts(rounds=0.0, proposed=proposed, accepted=accepted)
    # Emitted tokens know whether a fully accepted draft got its bonus token, which old proposers left out.
    accept_len = emitted / rounds if emitted == emitted else 1 + accepted / rounds
    return Drafts(round(rounds), max(1.0, accept_len), proposed, accepted)


def _with_bonus(
    length: float, accepted: float, proposed: float, positions: tuple[float, ...], most: int | None
) -> float:
    """The mean length with the bonus token, which [0.8.5] left out: there a useless draft has 0.00."""
    if length != length:
        return length
    if positions:
        gained = math.fsum(positions)
    elif most and proposed > 0:
        gained = accepted * most / proposed
    else:
        return length + 1 if length < 1 else length
    return length + 1 if abs(length - gained) < abs(length - 1 - gained) else length


def _rounds(accepted: float, proposed: float, length: float, most: int | None) -> float:
    """Rounds of an interval: the full drafts where the printed length agrees, else what the length says.

    n-gram drafts are often short, so proposed / k was 5 to 13 % off the server's own counters [0.32];
    a drafter model's are full, and there the division is exact while the length has two digits.
    """
    if not proposed > 0:
        return 0.0 if proposed == 0 else MISSING
    full = proposed / most if most else MISSING
    gained = length - 1
    if not accepted > 0 or not gained > _HALF_A_DIGIT:
        return float(round(full)) if full == full else MISSING
    lowest = accepted / (gained + _HALF_A_DIGIT) * (1 - 1e-9)
    highest = accepted / (gained - _HALF_A_DIGIT) * (1 + 1e-9)
    if full == full and full.is_integer() and lowest <= full <= highest:
        return full
    rounds = float(round(accepted / gained))
    if full == full:
        rounds = min(max(rounds, math.ceil(full)), proposed)  # a draft has one token at least and k at most
    return max(rounds, 1.0)
