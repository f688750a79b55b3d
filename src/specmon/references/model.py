"""The file form of a reference (schema 1), strict about what it holds."""

from __future__ import annotations

import math
import statistics
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from specmon.references.fingerprint import Fingerprint

SCHEMA = 1
DEFAULT_TOLERANCE = 0.05  # of the cycle time
HAND_WRITTEN_SIGMA = 0.02  # assumed spread of ln(C) when somebody wrote a number down without one

# Beyond these a figure is a slip of the pen, and its quotients overflow.
_SMALLEST, _LARGEST = 1e-9, 1e12
# How many ranks `tok_s` may add up; below one (and what rounding allows) it does not belong to `cycle_ms`.
_RANKS = (0.5, 4096)

# A stamp without a zone may be 14 hours ahead of UTC, and clocks of hosts differ.
_FUTURE_FROM = timedelta(days=1)


def _moment(value: object, context: ValidationInfo) -> datetime:
    """A TOML date or date-time. With `now` in the context, one that lies in the future is refused."""
    if not isinstance(value, date):
        raise ValueError("write a date and a time without quotes, as 2026-02-20T10:00:00Z")
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    now = (context.context or {}).get("now")
    if now is not None and utc_of(moment) > now + _FUTURE_FROM:
        raise ValueError(f"{context.field_name} lies in the future ({moment.isoformat()})")
    return moment


def utc_of(moment: datetime) -> datetime:
    """A moment for comparing: one without a zone is read as if it were UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def six_digits(value: float) -> float:
    """A measured figure as it is kept: what is beyond six digits is noise, and makes a file hard to read."""
    return float(f"{value:.6g}")


def _ascending(value: object) -> object:
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        low, high = value
        if low > high:
            raise ValueError("the lower end comes first")
    return value


def _measurable(value: float) -> float:
    if not _SMALLEST <= value <= _LARGEST:
        raise ValueError(f"no figure in tok/s, ms or tokens is below {_SMALLEST:g} or above {_LARGEST:g}")
    return value


Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False), AfterValidator(_measurable)]
Share = Annotated[float, Field(strict=True, gt=0, le=2, allow_inf_nan=False), AfterValidator(_measurable)]
Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Interval = Annotated[tuple[Positive, Positive], BeforeValidator(_ascending)]
Moment = Annotated[datetime, BeforeValidator(_moment)]


class ReferenceLevel(BaseModel):
    """What was measured at one number of running requests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    running: Count  # B
    tok_s: Positive  # decode throughput, all ranks together
    n: Count | None = None  # clean samples it rests on
    tok_s_ci95: Interval | None = None  # of one recording; several have a spread instead
    cycle_ms: Positive | None = None
    sigma: Share | None = None  # long-run standard deviation of ln(C) between samples
    spread: Share | None = None  # standard deviation of ln(tok_s) between sessions
    context_tokens: Interval | None = None  # per request, lowest and highest

    @model_validator(mode="after")
    def _figures_fit(self) -> ReferenceLevel:
        step_ms = 1000 * self.running / self.tok_s
        if self.cycle_ms is not None and not _RANKS[0] <= self.cycle_ms / step_ms <= _RANKS[1]:
            raise ValueError(
                f"cycle_ms {self.cycle_ms:g} does not fit tok_s {self.tok_s:g}: at {self.running} running that is a "
                f"step of {step_ms:.4g} ms"
            )
        return self

    @property
    def step_ms(self) -> float:
        """The step time C: as recorded, else from the identity R = 1000 * B / C of a baseline."""
        return self.cycle_ms if self.cycle_ms is not None else 1000 * self.running / self.tok_s


def _distinct(levels: tuple[ReferenceLevel, ...], place: str) -> None:
    seen = [level.running for level in levels]
    if len(set(seen)) != len(seen):
        raise ValueError(f"two {place} have the same `running`")


class ReferenceSession(BaseModel):
    """One recording among several of the same reference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recorded_at: Moment | None = None  # the newest sample
    started_at: Moment | None = None  # the launch of the server's life, else its first sample
    run: Count | None = None  # which life of its log
    level: tuple[ReferenceLevel, ...] = ()

    @model_validator(mode="after")
    def _levels_are_distinct(self) -> ReferenceSession:
        _distinct(self.level, "levels of a session")
        return self

    def level_at(self, running: int) -> ReferenceLevel | None:
        """What this recording says of one level."""
        return next((level for level in self.level if level.running == running), None)


class Reference(BaseModel):
    """A recorded baseline with its conditions. A number without its conditions is not a reference."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Annotated[int, Field(alias="schema", ge=1, strict=True)] = SCHEMA
    name: Annotated[str, Field(min_length=1)]
    note: str = ""
    recorded_at: Moment | None = None
    host: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1, strict=True, allow_inf_nan=False)] = DEFAULT_TOLERANCE
    levels: Annotated[tuple[ReferenceLevel, ...], Field(alias="level", min_length=1)]
    sessions: Annotated[tuple[ReferenceSession, ...], Field(alias="session")] = ()
    fingerprint: Fingerprint = Fingerprint()

    @model_validator(mode="after")
    def _levels_are_distinct(self) -> Reference:
        _distinct(self.levels, "[[level]] tables")
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
