"""Opening a capture directory."""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from specmon.captures.manifest import LATEST_AT, SCHEMA, CapturedServer, Life, Lives, Manifest
from specmon.captures.unpacking import read_log
from specmon.errors import ConfigError, UnreadableInput
from specmon.faults import tables_of

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When the bytes of one log came. Both tuples are ascending and as long as each other."""

    offsets: tuple[int, ...]  # bytes known after the chunk
    at: tuple[float, ...]  # s since 1970, UTC

    def size_at(self, moment: float) -> int:
        """How many bytes had arrived by then."""
        index = bisect_right(self.at, moment)
        return self.offsets[index - 1] if index else 0

    def moment_of(self, offset: int) -> float:
        """When the byte at an offset had arrived."""
        return self.at[min(bisect_right(self.offsets, offset), len(self.at) - 1)]


def life_at(lives: Sequence[Life], moment: float) -> Life | None:
    """Of several lives, the one that had begun last by a moment on the arrival clock."""
    begun = [life for life in lives if life.started_at <= moment]
    return max(begun, key=lambda life: life.started_at, default=None)


@dataclass(frozen=True, slots=True)
class CapturedLog:
    """One server of a capture: its log, its arrivals, its lives."""

    server: CapturedServer
    path: Path
    arrivals: Arrivals
    lives: tuple[Life, ...]
    metrics: Path | None = None  # looks at the metrics page

    @property
    def is_packed(self) -> bool:
        """Whether the bytes have to be unpacked first."""
        return self.path.suffix == ".zst"

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the log in pieces. UnreadableInput when they cannot be had."""
        return read_log(self.path)

    def life_at(self, moment: float) -> Life | None:
        """The server life that had begun last by then."""
        return life_at(self.lives, moment)


@dataclass(frozen=True, slots=True)
class Capture:
    """An opened capture directory."""

    folder: Path
    manifest: Manifest
    logs: tuple[CapturedLog, ...]

    @property
    def starts_at(self) -> float:
        """The beginning on the arrival clock, s since 1970."""
        return self.manifest.starts_at.timestamp()

    @property
    def ends_at(self) -> float:
        """The last arrival, s since 1970."""
        return max((log.arrivals.at[-1] for log in self.logs if log.arrivals.at), default=self.starts_at)

    def note_at(self, moment: float) -> str:
        """The told sentence that holds at a moment, "" without one."""
        elapsed = moment - self.starts_at
        return next((note.text for note in reversed(self.manifest.notes) if note.at <= elapsed), "")


_MANIFEST_BYTES = 1 << 20
_LIVES_BYTES = 16 << 20
_TIMES_BYTES = 256 << 20  # ten million chunks
_LONGEST_LINE = 400


def is_capture(path: Path) -> bool:
    """A directory with a manifest."""
    return (path / "manifest.toml").is_file()


def open_capture(folder: Path) -> Capture:
    """Read the manifest and all that it names; logs stay on the disk."""
    manifest = _read(folder / "manifest.toml", Manifest)
    if manifest.schema_version > SCHEMA:
        raise ConfigError(
            f"capture {folder}: it has schema {manifest.schema_version}, this version reads {SCHEMA}. Update specmon."
        )
    starts_at = manifest.starts_at.timestamp()
    return Capture(folder, manifest, tuple(_open_log(folder, server, starts_at) for server in manifest.servers))


def _open_log(folder: Path, server: CapturedServer, starts_at: float) -> CapturedLog:
    path = folder / f"{server.name}.log"
    if not path.exists() and (packed := folder / f"{server.name}.log.zst").exists():
        path = packed
    _check(path, None)
    if not path.is_file():
        raise UnreadableInput(
            f"capture {folder}: {path.name} is missing. The manifest names it; copy the whole folder."
        )
    lives_path = folder / f"{server.name}.fingerprint.toml"
    lives = _read(lives_path, Lives).life if lives_path.is_file() else ()
    arrivals = _arrivals(folder / f"{server.name}.times", path, starts_at)
    return CapturedLog(server, path, arrivals, lives, _metrics(folder, server.name))


def _metrics(folder: Path, name: str) -> Path | None:
    for ending in (".metrics", ".metrics.zst"):
        path = folder / f"{name}{ending}"
        _check(path, None)
        if path.is_file():
            return path
    return None


def _arrivals(path: Path, log: Path, starts_at: float) -> Arrivals:
    """The arrival times; a capture without them plays as if all had come at once."""
    _check(path, _TIMES_BYTES)
    if not path.is_file():
        return Arrivals((_size_of(log),), (0.0,))
    offsets: list[int] = []
    at: list[float] = []
    text = path.read_text(encoding="ascii", errors="replace")
    # A line without its end is what a kill or a full disk leaves.
    for number, line in enumerate(text[: text.rfind("\n") + 1].split("\n")[:-1], start=1):
        if line.startswith("#"):
            continue
        try:
            if len(line) > _LONGEST_LINE:
                raise ValueError("too long")
            offset, moment = line.split()
            offsets.append(_natural(offset))
            at.append(_moment(moment))
        except ValueError as error:
            raise ConfigError(
                f"capture {path}:{number}: expected an offset and a time, as `4096 1772123456.250`."
            ) from error
    if offsets != sorted(offsets) or at != sorted(at):
        raise ConfigError(f"capture {path}: offsets and times must grow from line to line. Copy the capture again.")
    if not offsets and (size := _size_of(log)):
        return Arrivals((size,), (starts_at,))  # the first bytes came, and their times did not
    return Arrivals(tuple(offsets), tuple(at))


def _size_of(log: Path) -> int:
    return log.stat().st_size if log.suffix != ".zst" else sum(map(len, read_log(log)))


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ValueError(text)
    return int(text)


def _moment(text: str) -> float:
    moment = float(text)
    if not 0.0 <= moment <= LATEST_AT:  # NaN is refused too
        raise ValueError(text)
    return moment


def _check(path: Path, most_bytes: int | None) -> None:
    """A capture may come from anybody: no link leads out of it, and no file is larger than it can need to be."""
    try:
        if path.is_symlink():
            raise UnreadableInput(
                f"capture {path}: it is a link, which may lead out of the folder. Put the file itself there."
            )
        if most_bytes is not None and path.is_file() and path.stat().st_size > most_bytes:
            raise UnreadableInput(
                f"capture {path}: it is larger than {most_bytes >> 20:,} MiB, which it never needs to be. "
                "Copy it again."
            )
    except OSError as error:
        raise UnreadableInput(f"capture {path}: {(error.strerror or str(error)).lower()}. Copy it again.") from error


def _read(path: Path, model: type[_Model]) -> _Model:
    _check(path, _MANIFEST_BYTES if model is Manifest else _LIVES_BYTES)
    try:
        return model.model_validate(tables_of(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UnreadableInput(
            f"capture {path}: {(error.strerror or str(error)).lower()}. Name a capture folder."
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"capture {path}: it is not valid TOML: {error}. Copy it again.") from error
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise ConfigError(f"capture {path}: {key}: {fault['msg'].lower()}. Correct the file.") from error
