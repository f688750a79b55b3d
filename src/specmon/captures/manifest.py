"""The files of a capture directory, schema 1, strict about what they hold.

manifest.toml            what was captured, from where
NAME.log                 the bytes as they were received
NAME.times               one line a chunk: byte offset after it, arrival in seconds since 1970 (UTC)
NAME.fingerprint.toml    a [[life]] table for each life of the server process
NAME.metrics             scrapes of the metrics page, when there were any
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from specmon.references.fingerprint import Fingerprint

SCHEMA = 1

# A name becomes a file name: no slash, no leading dot.
CaptureName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]


class CapturedServer(BaseModel):
    """One log of the capture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: CaptureName
    role: Literal["baseline", "speculative", "unknown"] = "unknown"
    host: str = ""
    source: str = ""  # where the bytes came from: a path on `host`, a container, …


class Note(BaseModel):
    """A sentence that a told capture shows from a moment on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: float  # s after `starts_at`
    text: str


class Manifest(BaseModel):
    """What a capture directory holds."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Annotated[int, Field(alias="schema", ge=1)]
    specmon_version: str = ""
    origin: Literal["recorded", "made"] = "recorded"  # "made": written for a demonstration
    note: str = ""
    starts_at: datetime  # on the clock of the arrival times
    clock: Literal["utc", "local", "unknown"] = "unknown"  # of the stamps inside the logs
    servers: Annotated[tuple[CapturedServer, ...], Field(alias="server", min_length=1)]
    notes: Annotated[tuple[Note, ...], Field(alias="told")] = ()


class Life(BaseModel):
    """One life of a server process and the conditions it had."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int | None = None
    started_at: float  # arrival clock, s since 1970
    command: tuple[str, ...] = ()
    flags: dict[str, JsonValue] | None = None
    env: dict[str, str] | None = None
    env_from: dict[str, str] = {}
    env_is_partial: bool = False
    versions: dict[str, str] | None = None
    gpu: dict[str, JsonValue] | None = None
    unread: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> Fingerprint:
        """The conditions alone."""
        return Fingerprint(**{name: getattr(self, name) for name in Fingerprint.model_fields})


class Lives(BaseModel):
    """The content of NAME.fingerprint.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    life: tuple[Life, ...] = ()
