"""The file form of a custom format (schema 1), strict about what it holds."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from specmon.events import Covers
from specmon.formats.custom.fields import DECODE, FIELDS, KINDS, PHASE_FIELDS, PHASES, allowed_in
from specmon.formats.custom.linear import FaultyPattern, LinePattern
from specmon.formats.custom.moments import layout_fault, zone_of

SCHEMA = 1
ABSENT = "absent"  # in a sample: the line does not give this field
NOTHING = "nothing"  # in a sample: no pattern reads the line
_COVERS = {"cycles": Covers.WINDOW, "time": Covers.TICK, "request": Covers.REQUEST, "step": Covers.STEP}
_ACCEPTANCE = {"accept_len", "accepted_per_cycle", "accept_rate", "accepted", "drafts"}

_FRACTION = re.compile(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*/\s*(\d{1,12}(?:\.\d{1,12})?)\s*")


def _factor(value: object) -> object:
    """A factor may be written as a fraction: TOML has none, and 1/60 has no end."""
    if isinstance(value, str) and (match := _FRACTION.fullmatch(value)) and float(match[2]) > 0:
        return float(match[1]) / float(match[2])
    return value


Factor = Annotated[float, BeforeValidator(_factor), Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")]
Value: TypeAlias = bool | int | float | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TimeModel(_Part):
    """How the group `time` is written."""

    layout: str = "iso"
    zone: str | None = None  # where the stamps do not carry one themselves

    @field_validator("layout")
    @classmethod
    def _layout_can_be_read(cls, layout: str) -> str:
        if fault := layout_fault(layout):
            raise ValueError(fault)
        return layout

    @field_validator("zone")
    @classmethod
    def _zone_is_one(cls, zone: str | None) -> str | None:
        if zone is not None and zone_of(zone) is None:
            raise ValueError(f"`{zone}` is no zone: write UTC or an offset such as +02:00")
        return zone


class PatternModel(_Part):
    """One form of line."""

    name: Name
    kind: str
    regex: str
    constants: Annotated[dict[str, Value], Field(alias="set")] = {}  # what every such line means without saying it
    unit: dict[str, Factor] = {}  # figure = printed x factor

    @field_validator("kind")
    @classmethod
    def _kind_is_known(cls, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(f"`{kind}` is none of {', '.join(KINDS)}")
        return kind

    @field_validator("regex")
    @classmethod
    def _regex_is_linear(cls, regex: str) -> str:
        LinePattern(regex)
        return regex

    @field_validator("constants")
    @classmethod
    def _values_fit(cls, values: dict[str, Value]) -> dict[str, Value]:
        for name, value in values.items():
            if name in FIELDS and not FIELDS[name].is_text and not _is_number(value):
                raise ValueError(f"`{name}` must be a number")
        return values

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> PatternModel:
        allowed = allowed_in(self.kind)
        for name in (*self.groups, *self.constants, *self.unit):
            if name not in FIELDS:
                raise ValueError(f"`{name}` is no field of a format; `specmon formats fields` lists them")
            if name not in allowed:
                raise ValueError(f"a line of kind {self.kind} cannot give `{name}`")
        if missing := self._missing():
            raise ValueError(f"a line of kind {self.kind} needs {missing}, as a group or under `set`")
        return self

    def _missing(self) -> str | None:
        given = self.given
        if self.kind == DECODE:
            if "running" not in given:
                return "`running`"
            enough = ({"tok_s"}, {"tok_s_per_request"}, {"ms_per_token"}, {"cycle_ms"}, {"tokens", "window_s"})
            if not any(fields <= given for fields in enough):
                return "`tok_s` (or `tok_s_per_request`, `ms_per_token` or `cycle_ms`, or `tokens` with `window_s`)"
        elif self.kind == PHASES and not given & set(PHASE_FIELDS):
            return f"one of {', '.join(PHASE_FIELDS)}"
        elif self.kind == "prefill" and "new_tokens" not in given:
            return "`new_tokens`"
        elif self.kind == "environment" and not {"variable", "value"} <= given:
            return "`variable` and `value`"
        return None

    @cached_property
    def compiled(self) -> LinePattern:
        """The pattern, ready to be looked for."""
        return LinePattern(self.regex)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The fields that the line itself gives."""
        return self.compiled.names

    @cached_property
    def given(self) -> set[str]:
        """All fields of such a line."""
        return {*self.groups, *self.constants}

    @cached_property
    def tells_phases(self) -> bool:
        """Its lines say where the time of a cycle goes."""
        return bool(self.given & set(PHASE_FIELDS))


class SampleModel(_Part):
    """A line and what it says; `pattern` is the one that must read it."""

    line: Annotated[str, StringConstraints(min_length=1)]
    pattern: str
    expect: dict[str, Value] = {}

    @field_validator("line")
    @classmethod
    def _is_one_line(cls, line: str) -> str:
        if "\n" in line.rstrip("\n"):
            raise ValueError("a sample is one line")
        return line.rstrip("\n")


class FormatModel(_Part):
    """A custom format."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    name: Name
    description: str = ""
    covers: Literal["cycles", "time", "request", "step"] | None = None  # what one decode line stands for
    ranks: Literal["repeat", "add_up"] = "repeat"  # ranks without a DP number
    prefix: str | None = None  # dropped from the beginning of each line that has it
    time: TimeModel = TimeModel()
    unit: dict[str, Factor] = {}
    patterns: Annotated[tuple[PatternModel, ...], Field(alias="pattern", min_length=1)]
    samples: Annotated[tuple[SampleModel, ...], Field(alias="sample", min_length=1)]

    @field_validator("prefix")
    @classmethod
    def _prefix_is_linear(cls, prefix: str | None) -> str | None:
        if prefix is not None and LinePattern(prefix).names:
            raise FaultyPattern("a prefix is dropped, so it has no named groups")
        return prefix

    @field_validator("unit")
    @classmethod
    def _units_are_of_fields(cls, unit: dict[str, float]) -> dict[str, float]:
        for name in unit:
            if name not in FIELDS or FIELDS[name].is_text:
                raise ValueError(f"`{name}` is no figure of a format; `specmon formats fields` lists them")
        return unit

    @model_validator(mode="after")
    def _parts_fit_together(self) -> FormatModel:
        names = [pattern.name for pattern in self.patterns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two patterns are called `{twice}`")
        if strange := next((one.pattern for one in self.samples if one.pattern not in (*names, NOTHING)), None):
            raise ValueError(f"a sample names the pattern `{strange}`, which is not there")
        seen = {sample.pattern for sample in self.samples}
        if bare := next((name for name in names if name not in seen), None):
            raise ValueError(f"the pattern `{bare}` has no [[sample]]: add a line that it reads")
        decodes = [pattern for pattern in self.patterns if pattern.kind == DECODE]
        if decodes and self.covers is None:
            raise ValueError("`covers` is missing: say whether a decode line covers cycles, time, request or step")
        for pattern in decodes:
            if self.covers == "cycles" and "cycles" not in pattern.given:
                raise ValueError(f"`covers` says cycles, so the pattern `{pattern.name}` needs `cycles`")
            if self.covers == "request" and not pattern.given & {"tokens", "window_s", "cycle_ms"}:
                raise ValueError(f"`covers` says request, so the pattern `{pattern.name}` needs `tokens`")
        return self

    @property
    def engine(self) -> str:
        """How reports call a server whose log this format reads."""
        return f"custom:{self.name}"

    @property
    def owns_logs(self) -> bool:
        """It reads decode lines, so a log can be its own; else it adds phases to the logs of others."""
        return any(pattern.kind == DECODE for pattern in self.patterns)

    @cached_property
    def covers_what(self) -> Covers:
        """What one decode line stands for."""
        return _COVERS[self.covers or "cycles"]

    @cached_property
    def tells_acceptance(self) -> bool:
        """Speculation would show in a decode line, so a line without it is a baseline's."""
        return any(pattern.kind == DECODE and pattern.given & _ACCEPTANCE for pattern in self.patterns)

    @property
    def cycles_per_line(self) -> int | None:
        """Decode cycles of a line where each has the same number."""
        fixed = {pattern.constants.get("cycles") for pattern in self.patterns if pattern.kind == DECODE}
        only = fixed.pop() if len(fixed) == 1 else None
        return round(only) if isinstance(only, int | float) and only >= 1 else None


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
