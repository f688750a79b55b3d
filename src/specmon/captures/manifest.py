"""The files of a capture directory, schema 1, strict about what they hold.

manifest.toml            what was captured, from where
NAME.log                 the bytes as they were received, or NAME.log.zst, the same packed; an end of line is put where
                         another file follows a line without one
NAME.times               one line a chunk: byte offset after it, arrival in seconds since 1970 (UTC); notes after a #
NAME.fingerprint.toml    a [[life]] table for each life of the server process
NAME.metrics             looks at the metrics page, when there were any, each behind a line `# scrape TIME` (seconds
                         since 1970, UTC); or NAME.metrics.zst, the same packed
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from specmon.references.fingerprint import Fingerprint

SCHEMA = 1

# A name becomes a file name: no slash, no leading dot.
CaptureName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=100)]

LATEST_AT = 32503680000.0  # the year 3000
_MOST_SERVERS = 1024


def _shown(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it holds control characters")
    return text


def _dated(moment: AwareDatetime) -> AwareDatetime:
    if not 1970 <= moment.year < 3000:
        raise ValueError("it is no time of this age")
    return moment


# What is shown to people: a capture may come from anybody.
Shown = Annotated[str, Field(max_length=4096), AfterValidator(_shown)]
Moment = Annotated[float, Field(ge=0.0, le=LATEST_AT, allow_inf_nan=False)]  # s since 1970


class CapturedServer(BaseModel):
    """One log of the capture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: CaptureName
    role: Literal["baseline", "speculative", "unknown"] = "unknown"
    host: Shown = ""
    source: Shown = ""  # where the bytes came from: a path on `host`, a container, …


class Note(BaseModel):
    """A sentence that a told capture shows from a moment on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: Moment  # s after `starts_at`
    text: Shown


def _told_apart(servers: tuple[CapturedServer, ...]) -> tuple[CapturedServer, ...]:
    names = [server.name for server in servers]
    if len(set(names)) < len(names):
        raise ValueError("two servers have one name")
    return servers


class Manifest(BaseModel):
    """What a capture directory holds."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_version: Annotated[int, Field(alias="schema", ge=1)]
    specmon_version: Shown = ""
    origin: Literal["recorded", "made"] = "recorded"  # "made": written for a demonstration
    note: Shown = ""
    starts_at: Annotated[AwareDatetime, AfterValidator(_dated)]  # on the clock of the arrival times
    clock: Literal["utc", "local", "unknown"] = "unknown"  # of the stamps inside the logs
    servers: Annotated[
        tuple[CapturedServer, ...],
        Field(alias="server", min_length=1, max_length=_MOST_SERVERS),
        AfterValidator(_told_apart),
    ]
    notes: Annotated[tuple[Note, ...], Field(alias="told")] = ()


class Life(BaseModel):
    """One life of a server process and the conditions it had."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int | None = None
    started_at: Moment  # arrival clock, s since 1970
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
