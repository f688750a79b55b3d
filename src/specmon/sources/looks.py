"""What a follower sees of files, and what it asks for: the language between the cursor and the ways to reach a file."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.sources.events import FileIdentity, Gap, Rotated


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A regular, readable file at the moment of a look."""

    identity: FileIdentity
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class MovedFile:
    """The file that was followed, found under another name."""

    path: str
    file: FoundFile


@dataclass(frozen=True, slots=True)
class NoFile:
    """Nothing to read at the path; `is_final` when waiting cannot help."""

    reason: str  # "the file is not there yet"
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen from outside: the path, and the file that was followed when it is elsewhere."""

    at_path: FoundFile | NoFile
    moved: MovedFile | None = None
    later: MovedFile | None = None  # the next one that was rotated away after it


@dataclass(frozen=True, slots=True)
class Evidence:
    """Bytes of the open file as they are now, by which its life is known."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Bytes that were read at the position, and how things stood afterwards: evidence first, then the sizes."""

    data: bytes
    opened: FoundFile  # its head is not filled in
    at_path: FoundFile | None  # None: nothing there now
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class RangeRead:
    """Bytes from the middle of a file, and how it stood before and after they were read; heads are filled in."""

    data: bytes
    before: FoundFile
    after: FoundFile


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Open this file at this byte."""

    path: str
    offset: int
    file: FoundFile
    announce: tuple[Rotated | Gap, ...] = ()
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class Compare:
    """Read this range and give it to `settle`."""

    path: str
    file: FileIdentity
    offset: int
    size: int


def is_same_file(known: FileIdentity, seen: FileIdentity) -> bool:
    """Whether two looks saw one file: it may have grown, its beginning may not have changed."""
    if known.inode != seen.inode or known.device != seen.device:
        return False
    short = min(len(known.head), len(seen.head))
    return known.head[:short] == seen.head[:short]
