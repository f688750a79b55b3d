"""What if: the speed-up for another accept length, another verify cost or another draft cost.

From the identity R = 1000 * A * B / C at the same B on both sides: speed-up = A * S / C, break-even A* = C / S, with
C the sum of what a cycle is made of and S the baseline's step. Nothing else is assumed to change; in truth a longer
draft also raises the accept length, which is why all of them can be moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

_SHORTEST_ACCEPT = 1.0  # the bonus token alone


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A speculative cycle against a baseline step, at one number of running requests."""

    accept_len: float
    step_ms: float  # S, of the baseline
    rest_ms: float  # of the cycle: all that has no name; the whole cycle when no phase was measured
    verify_ms: float | None = None  # None: nobody measured it
    draft_ms: float | None = None  # draft and draft-extend together
    reference_step_ms: float | None = None  # S of the reference, where the measured baseline is not trusted
    most_accept_len: float | None = None  # draft tokens of a cycle, the bonus position included
    running: int | None = None
    verify_steps_ms: float | None = None  # what a verify is held against: the baseline's decode phase, else its step

    @property
    def has_phases(self) -> bool:
        """Whether the cycle can be moved by its parts."""
        return self.verify_ms is not None

    @property
    def cycle_ms(self) -> float:
        """C."""
        return self.rest_ms + (self.verify_ms or 0.0) + (self.draft_ms or 0.0)

    @property
    def speedup(self) -> float:
        """Against the measured baseline."""
        return self.accept_len * self.step_ms / self.cycle_ms

    @property
    def break_even_accept_len(self) -> float:
        """Below it speculation loses against the measured baseline."""
        return self.cycle_ms / self.step_ms

    @property
    def headroom(self) -> float:
        """A / A* - 1, which is the speed-up seen from the accept length."""
        return self.accept_len / self.break_even_accept_len - 1

    @property
    def reference_speedup(self) -> float | None:
        """Against the reference."""
        return None if self.reference_step_ms is None else self.accept_len * self.reference_step_ms / self.cycle_ms

    @property
    def reference_break_even_accept_len(self) -> float | None:
        """Below it speculation loses against the reference."""
        return None if self.reference_step_ms is None else self.cycle_ms / self.reference_step_ms

    @property
    def verify_multiple(self) -> float | None:
        """Verify as a multiple of a baseline step."""
        return None if self.verify_ms is None else self.verify_ms / (self.verify_steps_ms or self.step_ms)

    def speedup_at(self, accept_len: float) -> float:
        """The speed-up with this cycle at another accept length."""
        return accept_len * self.step_ms / self.cycle_ms

    def reference_speedup_at(self, accept_len: float) -> float | None:
        """The same against the reference."""
        return None if self.reference_step_ms is None else accept_len * self.reference_step_ms / self.cycle_ms

    # -- moved -----------------------------------------------------------------------------------

    def with_accept_len(self, value: float) -> WhatIf:
        """Another accept length, between 1 and what a cycle can yield."""
        most = self.most_accept_len if self.most_accept_len is not None else math.inf
        # A measured length may lie above what the launch line allows; it is what was measured.
        return replace(self, accept_len=min(max(value, _SHORTEST_ACCEPT), max(most, _SHORTEST_ACCEPT)))

    def with_verify_ms(self, value: float) -> WhatIf:
        """Another verify time; nothing changes where none was measured or the cycle would have no length."""
        moved = replace(self, verify_ms=max(0.0, value))
        return self if self.verify_ms is None or not moved.cycle_ms > 0 else moved

    def with_verify_multiple(self, value: float) -> WhatIf:
        """Another verify time, in baseline steps."""
        return self.with_verify_ms(value * (self.verify_steps_ms or self.step_ms))

    def with_draft_ms(self, value: float) -> WhatIf:
        """Another draft time, draft-extend included."""
        moved = replace(self, draft_ms=max(0.0, value))
        return self if self.draft_ms is None or not moved.cycle_ms > 0 else moved

    def with_cycle_ms(self, value: float) -> WhatIf:
        """Another cycle, where its parts are not known."""
        return self if self.has_phases or self.draft_ms is not None or not value > 0 else replace(self, rest_ms=value)
