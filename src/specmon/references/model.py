"""The file form of a reference (schema 1), strict about what it holds."""

from __future__ import annotations

import math
import statistics
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from specmon.references.fingerprint import Fingerprint

SCHEMA = 1
DEFAULT_TOLERANCE = 0.05  # of the cycle time
HAND_WRITTEN_SIGMA = 0.02  # assumed spread of ln(C) when somebody wrote a number down without one

Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Interval = tuple[Positive, Positive]


class ReferenceLevel(BaseModel):
    """What was measured at one number of running requests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    running: Annotated[int, Field(strict=True, ge=1)]  # B
    tok_s: Positive  # decode throughput, all ranks together
    n: Annotated[int, Field(strict=True, ge=1)] | None = None  # clean samples it rests on
    tok_s_ci95: Interval | None = None
    cycle_ms: Positive | None = None
    sigma: Positive | None = None  # long-run standard deviation of ln(C) between samples
    spread: Positive | None = None  # standard deviation of ln(tok_s) between sessions
    context_tokens: Interval | None = None  # per request, lowest and highest

    @property
    def step_ms(self) -> float:
        """The step time C: as recorded, else from the identity R = 1000 * B / C of a baseline."""
        return self.cycle_ms if self.cycle_ms is not None else 1000 * self.running / self.tok_s


class ReferenceSession(BaseModel):
    """One recording among several of the same reference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recorded_at: datetime | None = None
    run: int | None = None
    level: tuple[ReferenceLevel, ...] = ()


class Reference(BaseModel):
    """A recorded baseline with its conditions. A number without its conditions is not a reference."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Annotated[int, Field(alias="schema", ge=1)] = SCHEMA
    name: Annotated[str, Field(min_length=1)]
    note: str = ""
    recorded_at: datetime | None = None
    host: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_TOLERANCE
    levels: Annotated[tuple[ReferenceLevel, ...], Field(alias="level", min_length=1)]
    sessions: Annotated[tuple[ReferenceSession, ...], Field(alias="session")] = ()
    fingerprint: Fingerprint = Fingerprint()

    @model_validator(mode="after")
    def _levels_are_distinct(self) -> Reference:
        seen = [level.running for level in self.levels]
        if len(set(seen)) != len(seen):
            raise ValueError("two [[level]] tables have the same `running`")
        return self

    def level_at(self, running: int) -> ReferenceLevel | None:
        """What the reference says of one level, None when it was not recorded."""
        return next((level for level in self.levels if level.running == running), None)

    def spread_at(self, running: int) -> float | None:
        """Standard deviation of ln(tok_s) between sessions: as recorded, else of the sessions' own figures.

        None when neither is there: one session says nothing about the next.
        """
        level = self.level_at(running)
        if level is None or level.spread is not None:
            return None if level is None else level.spread
        speeds = [seen.tok_s for session in self.sessions for seen in session.level if seen.running == running]
        return statistics.stdev(map(math.log, speeds)) if len(speeds) > 1 else None

    def tolerance_at(self, running: int) -> float:
        """How far the cycle time may lie from the recorded one: at least three times what sessions differ by."""
        return max(self.tolerance, 3 * (self.spread_at(running) or 0.0))
