"""Reading references: from a file, by name, or from the short form on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from specmon.errors import ConfigError
from specmon.faults import dotted, sentence_of
from specmon.references.model import SCHEMA, Reference, ReferenceLevel

_SHORT = re.compile(r"(?P<tok_s>\d+(?:\.\d+)?)(?:@(?P<running>\d+))?")
_NAME = re.compile(r"[\w.+-]+")


def parse_short(text: str) -> Reference:
    """`88.8` or `88.8@4`: tok/s, and the number of running requests (1 unless given)."""
    if (match := _SHORT.fullmatch(text.strip())) is None:
        raise ConfigError(f"reference {text!r}: write tokens per second and, after @, the running requests: 88.8@1.")
    tok_s, running = float(match["tok_s"]), int(match["running"] or 1)
    if tok_s <= 0 or running < 1:
        raise ConfigError(f"reference {text!r}: both numbers must be above 0, as in 88.8@1.")
    return Reference(name="by hand", levels=(ReferenceLevel(running=running, tok_s=tok_s),))


def find(name: str, folders: tuple[Path, ...]) -> Path:
    """The file of a reference: a path as it is, else NAME.toml in the first folder that has it."""
    if is_path(name):
        return Path(name).expanduser()
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"reference {name!r}: a name has letters, digits and . _ + - only; or give a path to a file.")
    for folder in folders:
        if (path := folder / f"{name}.toml").is_file():
            return path
    places = " or ".join(str(folder) for folder in folders)
    if Path("references") not in folders:
        places += ", and no ./references here"
    raise ConfigError(f"reference {name!r}: there is no {name}.toml in {places}. Write one, or use --reference-tok-s.")


def is_path(name: str) -> bool:
    """Whether --reference gives a file, and not the name of a reference."""
    return name.endswith(".toml") or "/" in name


def load(path: Path, *, warn: Callable[[str], None] = lambda _: None) -> Reference:
    """Read a reference file; raises ConfigError naming file, line and key.

    A file of a newer schema may hold keys that we do not know: each is told through `warn` and left out.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"reference {path}: it is not UTF-8 text. Is this a reference file?") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"reference {path}: {reason}. Check the path.") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"reference {path}: it is not valid TOML: {error}. Was the file cut?") from error
    try:
        return Reference.model_validate(content)
    except ValidationError as error:
        unknown = [fault["loc"] for fault in error.errors() if fault["type"] == "extra_forbidden"]
        if _is_newer(content) and len(unknown) == error.error_count():
            for keys in unknown:
                warn(f"reference {path}: {dotted(keys)} is not known to this version and is left out.")
            return Reference.model_validate(_without(content, unknown))
        raise ConfigError(sentence_of("reference", str(path), text, error)) from error


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
