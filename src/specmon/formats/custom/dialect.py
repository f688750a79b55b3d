"""A custom format as a dialect, made from the text of its file."""

from __future__ import annotations

import tomllib

from pydantic import ValidationError

from specmon.faults import sentence_of, tables_of
from specmon.formats.custom.line import LineReader
from specmon.formats.custom.model import SCHEMA, FormatModel
from specmon.formats.custom.parser import CustomParser
from specmon.formats.custom.samples import Outcome, failures, outcomes


class FaultyFormat(ValueError):
    """A format file that cannot be used; the text is a sentence that names file, line and key, or the sample."""


class CustomDialect:
    """The door to one custom format."""

    def __init__(self, model: FormatModel, place: str) -> None:
        self.model = model
        self.place = place  # the file that it was read from
        self.reader = LineReader(model)

    @property
    def engine(self) -> str:
        """The engine's name in reports: "custom:NAME"."""
        return self.model.engine

    def open(self) -> CustomParser:
        """A parser for a new stream."""
        return CustomParser(self.model, self.reader)

    def outcomes(self) -> tuple[Outcome, ...]:
        """What its own samples come to."""
        return outcomes(self.model, self.reader)


def parse_format(text: str, place: str) -> CustomDialect:
    """The format in the text of a file, its samples not run yet; raises FaultyFormat."""
    try:
        content = tables_of(text)
    except tomllib.TOMLDecodeError as error:
        raise FaultyFormat(f"format {place}: it is not valid TOML: {error}. Correct the file.") from error
    schema = content.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise FaultyFormat(f"format {place}: it has schema {schema}, this version reads {SCHEMA}. Update specmon.")
    try:
        return CustomDialect(FormatModel.model_validate(content), place)
    except ValidationError as error:
        raise FaultyFormat(sentence_of("format", place, text, error)) from error


def load_format(text: str, place: str) -> CustomDialect:
    """The format in the text of a file, proven by its own samples; raises FaultyFormat."""
    dialect = parse_format(text, place)
    if failed := failures(dialect.outcomes()):
        more = f" ({len(failed) - 1} more fail)" if len(failed) > 1 else ""
        raise FaultyFormat(
            f"format {dialect.model.name} in {place}: {failed[0]}{more}. "
            f"Run `specmon formats test {place}` to see all of them."
        )
    return dialect
