"""Opening a capture directory."""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from specmon.captures.manifest import SCHEMA, CapturedServer, Life, Lives, Manifest
from specmon.errors import ConfigError, UnreadableInput

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
    return Capture(folder, manifest, tuple(_open_log(folder, server) for server in manifest.servers))


def _open_log(folder: Path, server: CapturedServer) -> CapturedLog:
    path = folder / f"{server.name}.log"
    if not path.is_file():
        raise UnreadableInput(
            f"capture {folder}: {path.name} is missing. The manifest names it; copy the whole folder."
        )
    lives_path = folder / f"{server.name}.fingerprint.toml"
    lives = _read(lives_path, Lives).life if lives_path.is_file() else ()
    return CapturedLog(server, path, _arrivals(folder / f"{server.name}.times", path), lives)


def _arrivals(path: Path, log: Path) -> Arrivals:
    """The arrival times; a capture without them plays as if all had come at once."""
    if not path.is_file():
        return Arrivals((log.stat().st_size,), (0.0,))
    offsets: list[int] = []
    at: list[float] = []
    for number, line in enumerate(path.read_text(encoding="ascii", errors="replace").splitlines(), start=1):
        try:
            offset, moment = line.split()
            offsets.append(int(offset))
            at.append(float(moment))
        except ValueError as error:
            raise ConfigError(
                f"capture {path}:{number}: expected an offset and a time, as `4096 1772123456.250`."
            ) from error
    if offsets != sorted(offsets) or at != sorted(at):
        raise ConfigError(f"capture {path}: offsets and times must grow from line to line. Copy the capture again.")
    return Arrivals(tuple(offsets), tuple(at))


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
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
