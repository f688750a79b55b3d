"""What the screen and the plain lines may show of a cycle's phases and of acceptance by position."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.analysis.phasehistory import PhaseChange as PhaseChange
from specmon.analysis.phasehistory import PhaseWindow as PhaseWindow
from specmon.analysis.phasehistory import grouped as grouped
from specmon.analysis.whatif import WhatIf as WhatIf


@dataclass(frozen=True, slots=True)
class PhasePart:
    """A phase of the mean cycle."""

    name: str  # draft, verify, draft_extend, decode, other
    ms: float
    share: float | None = None  # of the cycle, 0..1


@dataclass(frozen=True, slots=True)
class PhaseLevel:
    """The phases at one number of running requests."""

    running: int | None  # None: the source does not tell it
    cycles: int
    cycle_ms: float | None
    parts: tuple[PhasePart, ...] = ()  # in the order in which they come, `other` last
    fault: str = ""  # why the parts are not shown: they cannot be right


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """The phases' own cycle against that which follows from throughput and accept length."""

    is_ok: bool | None  # None: the source has no cycle of its own to compare
    text: str
    off: float | None = None  # phases and other / identity - 1


@dataclass(frozen=True, slots=True)
class PhasesView:
    """Where one server's cycle goes, or how to find out."""

    source: str | None = None  # metrics, probe, log, custom; None: nobody tells
    shown: PhaseLevel | None = None  # at the compared level, else at the one with most cycles
    levels: tuple[PhaseLevel, ...] = ()  # every level the source told of, lowest first
    identity: IdentityCheck | None = None
    windows: tuple[PhaseWindow, ...] = ()  # at the shown level, over all held runs, on the log's clock
    changes: tuple[PhaseChange, ...] = ()  # of these, the cycle first
    sentence: str = ""  # the changes in words; "" when nothing changed beyond the noise
    why_none: str = ""  # when there are no phases: the reason
    source_words: str = ""  # who measured: "specmon-probe"
    mend: str = ""  # when there are none: what to do, one line
    notices: tuple[str, ...] = ()  # lines and pages that gave no figure

    @property
    def parts(self) -> tuple[PhasePart, ...]:
        """Of the shown level; empty when there is nothing to show."""
        return self.shown.parts if self.shown is not None else ()

    def is_at(self, running: int) -> bool:
        """Whether the shown level is that of so many requests, as far as the source tells."""
        return self.shown is not None and self.shown.running in (None, running)

    @property
    def fault(self) -> str:
        """Why figures that came are not shown."""
        return self.shown.fault if self.shown is not None else ""


@dataclass(frozen=True, slots=True)
class VerifyCost:
    """A verify forward as a multiple of what the baseline takes for a token."""

    multiple: float
    step_ms: float
    step: str  # which step: "the baseline's decode phase", "the baseline's step by its throughput", …


@dataclass(frozen=True, slots=True)
class AcceptanceView:
    """How often each draft position was accepted, and whether that adds up to the accept length."""

    positions: tuple[float, ...] = ()  # share of draft rounds, 0..1
    accept_len: float | None = None  # of the same source
    source: str = ""  # "log", "metrics"
    is_sum_ok: bool | None = None
    sum_text: str = ""  # "1 + 0.71 + 0.43 + 0.26 = 2.40"
    reason: str = ""  # why the sum does not fit, or why there are no positions


EMPTY_PHASES = PhasesView()
EMPTY_ACCEPTANCE = AcceptanceView()
