"""The samples of a custom format, run: what each line gives beside what the file says that it gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from specmon.formats.custom.line import CustomLine, LineReader
from specmon.formats.custom.model import ABSENT, NOTHING, FormatModel, Value
from specmon.formats.custom.moments import Moments, written, zone_of

_CLOSE = 1e-6  # figures may differ by as much as writing them down loses


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not what the sample expects."""

    field: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.field}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one sample came to."""

    number: int  # from 1, as in the file
    line: str
    pattern: str  # that read it; "nothing" when none did
    fields: dict[str, str]  # all that the line gave
    differences: tuple[Difference, ...]

    @property
    def is_right(self) -> bool:
        """The line gives what the file says."""
        return not self.differences


def outcomes(model: FormatModel, reader: LineReader) -> tuple[Outcome, ...]:
    """Run all samples of a format."""
    found = []
    for number, sample in enumerate(model.samples, start=1):
        line = reader.read(sample.line.encode())
        got = {} if line is None else _fields(line, model)
        pattern = NOTHING if line is None else line.pattern.name
        differences = []
        if pattern != sample.pattern:
            differences.append(Difference("pattern", sample.pattern, pattern))
        else:
            for name, expected in sample.expect.items():
                if not _agrees(expected, got.get(name)):
                    differences.append(Difference(name, _said(expected), _said(got.get(name))))
        shown = {name: _said(value) for name, value in got.items()}
        found.append(Outcome(number, sample.line, pattern, shown, tuple(differences)))
    return tuple(found)


def failures(run: Iterable[Outcome]) -> list[str]:
    """One text for each sample that fails, naming the sample, the field, what was expected and what came."""
    return [f"sample {one.number}: {one.differences[0]}" for one in run if not one.is_right]


def _fields(line: CustomLine, model: FormatModel) -> dict[str, Value]:
    fields: dict[str, Value] = {**line.words, **line.figures}
    if "time" in line.words:
        moments = Moments(model.time.layout, zone_of(model.time.zone) if model.time.zone else None)
        at = moments.read(line.words["time"].encode())
        if at == at:
            fields["time"] = written(at, moments.clock)
        else:
            del fields["time"]
    if "graph" in line.words:
        fields["graph"] = bool(line.graph) if line.graph >= 0 else ABSENT
    return fields


def _agrees(expected: Value, got: Value | None) -> bool:
    if expected == ABSENT:
        return got is None or got == ABSENT
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return math.isclose(expected, got, rel_tol=_CLOSE, abs_tol=1e-12)
    return got is not None and str(expected) == str(got)


def _said(value: Value | None) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, int | float) else repr(value)
