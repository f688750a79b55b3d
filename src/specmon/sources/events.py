"""What a source of bytes can say, the same for SSH, files, stdin and replay.

A source is an asynchronous iterator of these events. It ends when the source has ended (a finished file,
stdin closed, replay at its end); a live source ends only by `Refused`. Offsets count bytes of one file
from its beginning; `Rotated` starts a new file. Nothing that was handed out in a `Chunk` is ever handed
out again, and bytes that could not be had are announced by a `Gap`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What makes a file the same file at the next look."""

    device: int
    inode: int
    head: bytes = b""  # its first 256 bytes at most: a file can shrink and grow past the old size unseen


@dataclass(frozen=True, slots=True)
class Connected:
    """The source delivers. `offset` is the position of the next byte, `size` that of the file's end now."""

    at: float  # s since 1970, UTC, this machine's clock
    offset: int
    size: int | None = None
    identity: FileIdentity | None = None
    detail: str = ""  # "gpu01, 0.3 s" or "resumed after 12 s"
    is_behind: bool = False  # without a size: all up to CaughtUp was written before anybody looked


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as they came, cut anywhere."""

    at: float  # arrival, s since 1970, UTC; in replay the time at which the bytes once arrived
    offset: int  # of the first byte
    data: bytes


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """All that lay in the source when it was opened has been handed out; what follows is new."""

    at: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing to read from now: the link broke or the file is not there yet. It is tried again."""

    at: float
    attempt: int
    delay_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Rotated:
    """The next chunk belongs to another file (rotated, truncated or replaced); its offset starts again."""

    at: float
    identity: FileIdentity | None
    reason: str  # "truncated", "renamed", "replaced"


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that were written and cannot be had any more; `size_bytes` is None when nobody knows."""

    at: float
    size_bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Trying again cannot help. `reason` is one sentence with the next step. The source ends."""

    at: float
    reason: str


SourceEvent: TypeAlias = Connected | Chunk | CaughtUp | Waiting | Rotated | Gap | Refused


class Source(Protocol):
    """Where the bytes of one log come from."""

    @property
    def name(self) -> str:
        """How the user wrote it, without secrets: "gpu01:/var/log/sglang/base.log"."""
        ...

    def events(self) -> AsyncIterator[SourceEvent]:
        """Open the source and yield what it says. Closing the iterator closes the source."""
        ...
