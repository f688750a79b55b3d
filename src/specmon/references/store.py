"""Reading references: from a file, by name, or from the short form on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from specmon.errors import ConfigError
from specmon.faults import dotted, lowered, sentence_of, tables_of
from specmon.references.model import SCHEMA, Reference, ReferenceLevel
from specmon.references.writing import is_cut

_SHORT = re.compile(r"(?P<tok_s>\d+(?:\.\d+)?)(?:@(?P<running>\d+))?")
_NAME = re.compile(r"[\w+-][\w.+-]*")
_LARGEST = 4 << 20  # bytes; one reference with every flag of a server has some 20 kB

Warn = Callable[[str], None]


def parse_short(text: str) -> Reference:
    """`88.8` or `88.8@4`: tok/s, and the number of running requests (1 unless given)."""
    if (match := _SHORT.fullmatch(text.strip())) is None:
        raise ConfigError(f"reference {text!r}: write tokens per second and, after @, the running requests: 88.8@1.")
    tok_s, running = float(match["tok_s"]), int(match["running"] or 1)
    if tok_s <= 0 or running < 1:
        raise ConfigError(f"reference {text!r}: both numbers must be above 0, as in 88.8@1.")
    return Reference(name="by hand", levels=(level_of(f"reference {text!r}", running=running, tok_s=tok_s),))


def level_of(place: str, *, running: int, tok_s: float, cycle_ms: float | None = None) -> ReferenceLevel:
    """A level of numbers that somebody typed; ConfigError beginning with `place` when they cannot be."""
    try:
        return ReferenceLevel(running=running, tok_s=tok_s, cycle_ms=cycle_ms)
    except ValidationError as error:
        fault = error.errors()[0]
        key = f"{dotted(fault['loc'])}: " if fault["loc"] else ""
        raise ConfigError(f"{place}: {key}{lowered(fault['msg'].removeprefix('Value error, '))}.") from error


def is_path(name: str) -> bool:
    """Whether a reference is named by its file and not by its name."""
    return name.endswith(".toml") or "/" in name


def require_name(name: str) -> str:
    """A name that becomes a file name; ConfigError for any other."""
    if _NAME.fullmatch(name) is None or is_path(name):
        raise ConfigError(
            f"reference {name!r}: a name has letters, digits and . _ + - only and begins with none of the dots; "
            "the file is NAME.toml."
        )
    return name


def named_file(name: str, folders: tuple[Path, ...]) -> Path | None:
    """NAME.toml in the first folder that has it; None when no folder has."""
    return next((path for folder in folders if (path := folder / f"{name}.toml").is_file()), None)


def find(name: str, folders: tuple[Path, ...]) -> Path:
    """The file of a reference: a path as it is, else NAME.toml in the first folder that has it."""
    if is_path(name):
        return Path(name).expanduser()
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"reference {name!r}: a name has letters, digits and . _ + - only; or give a path to a file.")
    if (path := named_file(name, folders)) is not None:
        return path
    places = " or ".join(str(folder) for folder in folders)
    if Path("references") not in folders:
        places += ", and no ./references here"
    raise ConfigError(
        f"reference {name!r}: there is no {name}.toml in {places}. "
        "`specmon reference list` shows what there is; --reference-tok-s needs no file."
    )


def stored(folders: tuple[Path, ...]) -> Iterator[Path]:
    """Every reference file of the folders, by folder and name; a folder that is not there holds none."""
    for folder in folders:
        try:
            yield from sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.is_file())
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"references {folder}: {_reason(error)}. Check the folder.") from error


def read_text(path: Path) -> str:
    """The text of a reference file, or ConfigError."""
    try:
        if path.exists() and not path.is_file():
            kind = "a directory" if path.is_dir() else "no regular file"  # a pipe would be waited for
            raise ConfigError(f"reference {path}: it is {kind}. Name a reference file, NAME.toml.")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"reference {path}: {_reason(error)}. Check the path.") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"reference {path}: it is larger than {_LARGEST >> 20} MB. Name a reference file.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"reference {path}: it is not UTF-8 text. Name a reference file.") from error


def load(path: Path, *, warn: Warn = lambda _: None, now: datetime | None = None) -> Reference:
    """Read a reference file; raises ConfigError naming file, line and key.

    A file of a newer schema may hold keys that we do not know: each is told through `warn` and left out.
    With `now`, a time that lies in the future is an error.
    """
    return parse(read_text(path), str(path), warn=warn, now=now)


def parse(text: str, place: str, *, warn: Warn = lambda _: None, now: datetime | None = None) -> Reference:
    """The reference in a text; `place` is how its file is called."""
    try:
        content = tables_of(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"reference {place}: it is not valid TOML: {error}. If it was cut, take it from a copy."
        ) from error
    if is_cut(text):
        raise ConfigError(f"reference {place}: its last line is missing, so the file was cut. Take it from a copy.")
    try:
        return _validated(content, now)
    except ValidationError as error:
        unknown = [fault["loc"] for fault in error.errors() if fault["type"] == "extra_forbidden"]
        if not (_is_newer(content) and unknown):
            raise ConfigError(sentence_of("reference", place, text, error)) from error
    try:
        # What is not known hides other faults, or makes them: a table with such a key does not count as one.
        reference = _validated(_without(content, unknown), now)
    except ValidationError as error:
        raise ConfigError(sentence_of("reference", place, text, error)) from error
    for keys in unknown:
        warn(f"reference {place}: {dotted(keys)} is not known to this version and is left out.")
    return reference


def _validated(content: Mapping[str, object], now: datetime | None) -> Reference:
    return Reference.model_validate(content, context={"now": now})


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _is_newer(content: Mapping[str, object]) -> bool:
    schema = content.get("schema")
    return isinstance(schema, int) and schema > SCHEMA


def _without(content: dict[str, object], unknown: list[tuple[int | str, ...]]) -> dict[str, object]:
    for keys in unknown:
        place: object = content
        for key in keys[:-1]:
            if isinstance(place, dict):
                place = place.get(key)
            elif isinstance(place, list) and isinstance(key, int):
                place = place[key]
        if isinstance(place, dict):
            place.pop(keys[-1], None)
    return content
