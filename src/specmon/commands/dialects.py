"""Which dialects a command reads logs with: the built-in ones, third parties' and the user's own formats."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specmon.errors import ConfigError
from specmon.formats import Dialect
from specmon.formats.detect import built_in_dialects
from specmon.formats.guarded import guarded
from specmon.formats.reader import LogReader
from specmon.formats.window import TimeWindow, WindowedReader
from specmon.visible import visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "specmon.formats"
_LARGEST = 1 << 20  # bytes of a format file


@dataclass(frozen=True, slots=True)
class Found:
    """A dialect, or why there is none."""

    origin: str  # "built-in", "custom", "entry point"
    place: str  # the file, or the distribution
    dialect: Dialect | None = None
    fault: str = ""  # a sentence

    @property
    def engine(self) -> str:
        """As reports call it, "" without a dialect."""
        return "" if self.dialect is None else self.dialect.engine


def formats_folder() -> Path:
    """Where a user's formats are. Not the working directory: a log is read the same wherever one stands."""
    import platformdirs

    return platformdirs.user_config_path("specmon") / "formats"


def found_dialects(files: Sequence[Path] = ()) -> list[Found]:
    """All dialects in the order in which they are asked: built in, third parties, named files, the user's folder."""
    found = [Found("built-in", "specmon", dialect) for dialect in built_in_dialects()]
    taken = {one.engine: one.place for one in found}
    for one in [*_third_parties(), *_customs(files)]:
        if one.dialect is None or one.engine not in taken:
            taken.setdefault(one.engine, one.place)
            found.append(one)
        elif one.place != taken[one.engine]:
            fault = f"{one.place}: the name {one.engine} is taken by {taken[one.engine]}, so it is left out. Rename it."
            found.append(Found(one.origin, one.place, fault=fault))
    return found


def reader_of(files: Sequence[Path], window: TimeWindow | None = None) -> Callable[[], LogReader]:
    """Makes the readers of a command. A faulty format that is named is a ConfigError; others are told and left out."""
    found = found_dialects(files)
    for one in found:
        if one.fault:
            click.echo(f"specmon: {visible(one.fault)}", err=True)
    dialects = [one.dialect for one in found if one.dialect is not None]
    return lambda: LogReader(dialects) if window is None else WindowedReader(window, dialects)


def read_text(path: Path) -> str:
    """The text of a format file; ConfigError when there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ConfigError(f"format {path}: it is larger than a megabyte. Name a format file.")
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"format {path}: it is not UTF-8 text. Name a format file.") from error
    except OSError as error:
        raise ConfigError(f"format {path}: {(error.strerror or str(error)).lower()}. Check the path.") from error


def _customs(files: Sequence[Path]) -> Iterator[Found]:
    own = sorted(formats_folder().glob("*.toml"))
    if not files and not own:
        return
    from specmon.formats.custom import FaultyFormat, load_format  # most people have no format of their own

    for path in files:
        try:
            yield Found("custom", str(path), load_format(read_text(path), str(path)))
        except FaultyFormat as error:
            raise ConfigError(str(error)) from error
    named = {path.resolve() for path in files}
    for path in own:
        if path.resolve() in named:
            continue
        try:
            yield Found("custom", str(path), load_format(read_text(path), str(path)))
        except (FaultyFormat, ConfigError) as error:
            yield Found("custom", str(path), fault=f"{error} It is left out.")


def _third_parties() -> Iterator[Found]:
    if not _may_have_third_parties():
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        place = _distribution(point)
        try:
            yield Found("entry point", place, guarded(point.load()))
        except Exception as error:  # whatever foreign code raises while it is imported
            reason = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
            yield Found(
                "entry point", place, fault=f"the dialect {point.name} of {place} is left out: {reason}. Update it."
            )


def _may_have_third_parties() -> bool:
    """Whether some installed package names our group. Asking importlib.metadata takes longer than most logs."""
    sign = f"[{GROUP}]".encode()
    for folder in map(Path, sys.path):
        if folder.is_file():
            return True  # a zip file: only importlib.metadata can look inside
        if any(sign in entries.read_bytes() for entries in folder.glob("*-info/entry_points.txt")):
            return True
    return False


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
