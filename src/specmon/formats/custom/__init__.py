"""Custom formats: how somebody's own lines are read, as data in a TOML file that proves itself by its samples.

`fields` lists what a line can give, `model` is the file, `linear` keeps its patterns harmless, `line` reads one line,
`parser` is the dialect. Reading files is not done here: texts come in, with the name of their place.
"""

from __future__ import annotations

from specmon.formats.custom.dialect import CustomDialect, FaultyFormat, load_format, parse_format

__all__ = ["CustomDialect", "FaultyFormat", "load_format", "parse_format"]
