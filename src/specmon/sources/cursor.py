"""Where a follower stands in a file, and what that means after each look: pure, without I/O.

A file is known by device, inode and its first bytes. A look says what lies at the path now; the cursor answers
with what to read next and what to announce, so that no byte is lost or handed out twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Tick:
    """What was seen beside an open file: the open file itself, and what lies at the watched path."""

    opened: FoundFile  # its head is not filled in
    at_path: FoundFile | None  # None: nothing there now


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Open this file at this byte."""

    path: str
    offset: int
    file: FoundFile
    announce: tuple[Rotated | Gap, ...] = ()
    is_resumed: bool = False


Verdict: TypeAlias = Literal["stay", "switch"]


def is_same_file(known: FileIdentity, seen: FileIdentity) -> bool:
    """Whether two looks saw one file: it may have grown, its beginning may not have changed."""
    if known.inode != seen.inode or known.device != seen.device:
        return False
    short = min(len(known.head), len(seen.head))
    return known.head[:short] == seen.head[:short]


class Cursor:
    """The position in one log, over renames, truncations and lost links."""

    def __init__(self, *, backfill_bytes: int | None, looks_lag: bool = False) -> None:
        self._backfill_bytes = backfill_bytes  # None: from the first byte
        self._looks_lag = looks_lag  # a look may be older than bytes that arrived before it
        self.offset = 0
        self.identity: FileIdentity | None = None
        self._settled = 0  # the position at the last look: bytes before it were written before the next one
        self._size_seen = 0  # the largest size of this file in any look
        self._is_drained = False  # everything of a file that left its path has been read
        self._is_cut = False  # the open file was truncated
        self._quiet_size: int | None = None  # size of a file that left its path, at the last tick

    def plan(self, path: str, look: Look, at: float) -> ReadFrom | NoFile:
        """Decide what to open after a look from outside. `at`: s since 1970, for the announcements."""
        found = look.at_path
        if self.identity is None:
            return found if isinstance(found, NoFile) else self._begin(path, found)
        if isinstance(found, FoundFile) and is_same_file(self.identity, found.identity) and not self._is_cut:
            if found.size >= self.offset:
                return self._open(path, found, self.offset, is_resumed=True)
            return self._start_over(path, found, at, "truncated")
        if isinstance(found, FoundFile) and self._is_open_file(found):
            return self._start_over(path, found, at, "truncated")
        moved = look.moved
        if moved is not None and not self._is_drained and self._is_rest(moved.file):
            return self._open(moved.path, moved.file, self.offset, is_resumed=True)
        if isinstance(found, NoFile):
            return found
        return self._start_over(path, found, at, "renamed" if moved is not None else "replaced")

    def advance(self, count: int) -> None:
        """Note that `count` bytes of the open file have been handed out (or skipped)."""
        self.offset += count

    def judge(self, tick: Tick) -> Verdict:
        """Decide after a look beside the open file whether to stay with it."""
        opened, at_path = tick.opened, tick.at_path
        if self.identity is None or not self._is_open_file(opened):
            return "switch"  # the path changed hands between the look and the opening: nothing has been read yet
        if opened.size < (self._settled if self._looks_lag else self.offset) or opened.size < self._size_seen:
            self._is_cut = True
            return "switch"
        self._settled = self.offset
        self._size_seen = max(self._size_seen, opened.size)
        if at_path is None:
            return "stay"  # renamed, and nothing new there yet: the writer may still write here
        if self._is_open_file(at_path):
            self._quiet_size = None
            if not is_same_file(self.identity, at_path.identity):
                self._is_cut = True  # shrunk and grown past our position between two looks
                return "switch"
            if len(at_path.identity.head) > len(self.identity.head):
                self.identity = at_path.identity
            return "stay"
        # Another file took the path. The writer may need a moment to let go of the old one, so that is left only
        # when it did not grow from one look to the next.
        if self.offset >= opened.size and self._quiet_size == opened.size:
            self._is_drained = True
            return "switch"
        self._quiet_size = opened.size
        return "stay"

    def _begin(self, path: str, found: FoundFile) -> ReadFrom:
        keep = found.size if self._backfill_bytes is None else min(found.size, self._backfill_bytes)
        self._backfill_bytes = None  # a file that comes later is new from its first byte
        return self._open(path, found, found.size - keep)

    def file_appears_later(self) -> None:
        """Note that there was no file at the start: whatever appears now is new, and read from its first byte."""
        if self.identity is None:
            self._backfill_bytes = None

    def _start_over(self, path: str, found: FoundFile, at: float, reason: str) -> ReadFrom:
        announce: list[Rotated | Gap] = []
        lost = self._size_seen - self.offset
        if lost > 0:
            announce.append(Gap(at, lost, f"the file was {reason} before its end was read"))
        elif not (self._is_drained or self._is_cut):
            announce.append(Gap(at, None, f"the file was {reason} while nobody could look"))
        announce.append(Rotated(at, found.identity, reason))
        return self._open(path, found, 0, tuple(announce))

    def _open(
        self,
        path: str,
        found: FoundFile,
        offset: int,
        announce: tuple[Rotated | Gap, ...] = (),
        *,
        is_resumed: bool = False,
    ) -> ReadFrom:
        self.identity = found.identity
        self.offset = offset
        self._settled = offset
        self._size_seen = found.size
        self._is_drained = self._is_cut = False
        self._quiet_size = None
        return ReadFrom(path, offset, found, announce, is_resumed)

    def _is_open_file(self, file: FoundFile) -> bool:
        """The same place on the disk, whatever it holds now."""
        known = self.identity
        return known is not None and (known.device, known.inode) == (file.identity.device, file.identity.inode)

    def _is_rest(self, file: FoundFile) -> bool:
        return self.identity is not None and is_same_file(self.identity, file.identity) and file.size >= self.offset
