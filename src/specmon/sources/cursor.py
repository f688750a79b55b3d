"""Where a follower stands in a file, and what that means after each look: pure, without I/O.

A file is known by device, inode and its first bytes; a life of it ends when it is truncated. A look says what lies
at the path now, a batch says what was read and how the file stood afterwards. The cursor answers with what to read next
and what to announce, so that no byte is lost or handed out twice:

* Bytes count only once a look behind them has shown the same life. Else they are held in doubt until it is known which
  life they belong to: read again at the same place of the new life, they are equal or not.
* A size counts only once a later look has shown the same life, so that a gap never has the size of another file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from specmon.sources.events import FileIdentity, Gap, Rotated
from specmon.sources.looks import Batch, Compare, Evidence, FoundFile, Look, NoFile, ReadFrom, is_same_file

CONTEXT_BYTES = 256  # what is remembered from before the position, and before the last batch if that is small
_SMALL_BYTES = 65536
SETTLE_S = 1.0  # a writer needs a moment to let go of a file that left its path
_NOWHERE = FileIdentity(-1, -1)  # of a file that is gone for good
READ_BYTES = 65536  # one read is of one life; several in one batch may not be


Verdict: TypeAlias = Literal["stay", "leave", "drop"]


class Cursor:
    """The position in one log, over renames, truncations and lost links."""

    def __init__(self, *, backfill_bytes: int | None, settle_s: float = SETTLE_S) -> None:
        self._backfill_bytes = backfill_bytes  # None: from the first byte
        self._settle_s = settle_s
        self.offset = 0
        self.identity: FileIdentity | None = None
        self._context = b""  # the bytes before the position
        self._size_now = 0  # at the last look
        self._size_seen = 0  # the largest that certainly was of this life
        self._is_fresh = True  # nothing has been judged since the file was opened
        self._is_drained = False  # everything of a file that left its path has been read
        self._past: _PastLife | None = None
        self._quiet_since: float | None = None  # when a file that left its path was last seen to grow
        self._successor: FoundFile | None = None  # what stood at the path at the last look, if another file
        self._missed: list[FoundFile] = []  # what stood there before it, and was never read

    @property
    def missed(self) -> tuple[FileIdentity, ...]:
        """The files that came and left their path while the one before was read to its end, oldest first."""
        return tuple(file.identity for file in self._missed if file.identity.inode >= 0)

    @property
    def wants_look(self) -> bool:
        """Whether the beginning of another file, that has taken the path, is not known yet: `note_look` takes it."""
        return self._successor is not None and not self._successor.identity.head

    def note_look(self, look: Look) -> None:
        """Take a look at the path while the file that was there before is read on.

        Only the beginning counts: what the stream says next of sizes may be older than this look.
        """
        file, successor = look.at_path, self._successor
        if isinstance(file, FoundFile) and successor is not None and _is_at(successor, file):
            self._successor = FoundFile(file.identity, successor.size)

    @property
    def is_in_doubt(self) -> bool:
        """Whether bytes are held back; then `compare` and `settle` come before `plan`."""
        return self._past is not None and bool(self._past.doubt)

    def compare(self, path: str, look: Look) -> Compare | None:
        """What must be read to settle the doubt; None when the file is gone, and nothing can come twice."""
        if self._past is None:
            return None
        start, size = self._past.offset, len(self._past.doubt)
        places: list[tuple[str, FoundFile | NoFile]] = [(path, look.at_path)]
        if look.moved is not None:
            places.append((look.moved.path, look.moved.file))
        for place, file in places:
            if isinstance(file, FoundFile) and self._is_open_file(file) and file.size >= start + size:
                return Compare(place, file.identity, start, size)
        return None

    def settle(self, seen: bytes) -> tuple[int, bytes]:
        """The offset and the bytes in doubt that are of the old life, given what stands at their place now."""
        past = self._past
        if past is None:
            return self.offset, b""
        end = len(past.doubt)
        while end:
            start = (end - 1) // READ_BYTES * READ_BYTES
            if seen[start:end] != past.doubt[start:end]:
                break
            end = start
        ours, offset = past.doubt[:end], past.offset
        past.doubt, past.offset = b"", past.offset + end
        return offset, ours

    def plan(self, path: str, look: Look, at: float) -> ReadFrom | NoFile:
        """Decide what to open after a look from outside. `at`: s since 1970, for the announcements."""
        found, moved = look.at_path, look.moved
        if self.identity is None:
            return found if isinstance(found, NoFile) else self._begin(path, found)
        if isinstance(found, FoundFile) and self._is_open_file(found):
            if self._is_rest(found):
                return self._go_on(path, found, at)
            return self._start_over(path, found, at, "truncated")
        if moved is not None and not self.identity.head and not moved.path.startswith(path):
            moved = None  # nothing but a number tells of it, which a file of another name may have been given
        if moved is not None and not (self._is_drained and moved.file.size <= self.offset):
            if self._is_rest(moved.file):
                return self._go_on(moved.path, moved.file, at)
            if self._is_open_file(moved.file):  # truncated, and then renamed: its new life comes first
                return self._start_over(moved.path, moved.file, at, "truncated")
        if look.later is not None:
            return self._start_over(look.later.path, look.later.file, at, "renamed")
        if isinstance(found, NoFile):
            return found
        self._note_successor(found)
        return self._start_over(path, found, at, "replaced" if moved is None else "renamed")

    def skip(self, count: int) -> None:
        """Move the position without reading."""
        self.offset += count
        self._context = b""

    def judge(self, batch: Batch, at: float) -> Verdict:
        """Decide about bytes and the file after a reading. `at`: seconds, of any clock.

        "stay": hand the bytes out and read on. "leave": hand them out and look anew. "drop": look anew.
        """
        opened, at_path, end = batch.opened, batch.at_path, self.offset + len(batch.data)
        if self.identity is None or not self._is_open_file(opened):
            return "drop"  # the path changed hands between the look and the opening: this is another file
        if opened.size < end:
            # Truncated after the reading: the new life was never as long as what has been read.
            self._take(batch.data)
            self._end_life(batch, b"")
            return "leave"
        if opened.size < max(self._size_seen, self._size_now) or self._has_changed(batch):
            self._end_life(batch, batch.data)
            return "drop"
        self._take(batch.data)
        has_grown = bool(batch.data) or opened.size > self._size_now
        self._size_seen = max(self._size_seen, self._size_now, end)
        self._size_now = opened.size
        self._is_fresh = False
        if at_path is None or self._is_open_file(at_path) or not at_path.size:
            # Also when it was renamed and nothing stands in its place yet: the writer may still write here.
            self._quiet_since = None
            return "stay"
        self._note_successor(at_path)
        if has_grown or end < opened.size or self._quiet_since is None:
            self._quiet_since = at
        elif at - self._quiet_since >= self._settle_s:
            self._is_drained = True
            return "leave"
        return "stay"

    def file_appears_later(self) -> None:
        """Note that there was no file at the start: whatever appears now is new, and read from its first byte."""
        if self.identity is None:
            self._backfill_bytes = None

    def _has_changed(self, batch: Batch) -> bool:
        """Whether the evidence shows another life; a longer head is remembered."""
        return any(not self._agrees(evidence, batch.data) for evidence in batch.evidence)

    def _agrees(self, evidence: Evidence, data: bytes) -> bool:
        known = self.identity
        if evidence.offset == 0 and known is not None:
            short = min(len(known.head), len(evidence.data))
            if known.head[:short] != evidence.data[:short]:
                return False
            if len(evidence.data) > len(known.head):
                self.identity = FileIdentity(known.device, known.inode, evidence.data)
        ours, first = self._context + data, self.offset - len(self._context)
        start, end = max(first, evidence.offset), min(first + len(ours), evidence.offset + len(evidence.data))
        if end <= start:
            return True  # nothing that both know
        mine, theirs = ours[start - first : end - first], evidence.data[start - evidence.offset : end - evidence.offset]
        # A network file system may show NULs first where the data comes later: that is no other life.
        return mine == theirs or not any(one and one != other for one, other in zip(mine, theirs, strict=True))

    def _take(self, data: bytes) -> None:
        self.offset += len(data)
        if len(data) > _SMALL_BYTES:
            self._context = data[-CONTEXT_BYTES:]
        elif data:
            self._context = self._context[-CONTEXT_BYTES:] + data

    def _begin(self, path: str, found: FoundFile) -> ReadFrom:
        keep = found.size if self._backfill_bytes is None else min(found.size, self._backfill_bytes)
        self._backfill_bytes = None  # a file that comes later is new from its first byte
        return self._open(path, found, found.size - keep)

    def _end_life(self, batch: Batch, doubt: bytes) -> None:
        """The open file was truncated: it is the same file, from its first byte on."""
        known, old = batch.opened.identity, b"" if self.identity is None else self.identity.head
        heads = [evidence.data for evidence in batch.evidence if evidence.offset == 0]
        # The evidence is older than the size: an unchanged head is still that of the old life.
        head = heads[0] if heads and not heads[0].startswith(old) else b""
        self._past = _PastLife(self.offset, self._size_seen, doubt, is_unseen=self._is_fresh)
        self.identity = FileIdentity(known.device, known.inode, head)
        self.offset, self._context = 0, b""
        self._size_seen = self._size_now = batch.opened.size

    def _go_on(self, path: str, found: FoundFile, at: float) -> ReadFrom:
        past, self._past = self._past, None
        if self.identity is not None and len(self.identity.head) > len(found.identity.head):
            found = FoundFile(self.identity, found.size)  # a head that was read too early to be whole tells less
        seen = max(self._size_seen, self._size_now)
        if past is None:
            plan = self._open(path, found, self.offset, is_resumed=True)
        else:
            told = (*past.gap(at, "truncated"), Rotated(at, found.identity, "truncated"))
            plan = self._open(path, found, 0, told)
        self._size_seen = seen
        return plan

    def _start_over(self, path: str, found: FoundFile, at: float, reason: str) -> ReadFrom:
        gaps = [] if self._past is None else self._past.gap(at, "truncated")
        is_unseen = not self._is_drained and self._past is None
        gaps += _PastLife(self.offset, self._size_seen, is_unseen=is_unseen).gap(at, reason)
        self._missed = [file for file in self._missed if not _is_at(file, found)]
        if self._successor is not None and _is_at(self._successor, found):  # the newest: the others do not come back
            gaps += [
                Gap(
                    at,
                    file.size,
                    "another file stood there, as long as that when last seen, and was gone before its turn",
                )
                for file in self._missed
            ]
            self._missed.clear()
        self._past, self._context = None, b""
        return self._open(path, found, 0, (*gaps, Rotated(at, found.identity, reason)))

    def _note_successor(self, seen: FoundFile) -> None:
        before, self._successor = self._successor, seen
        if before is None:
            return
        if not _is_at(before, seen):
            self._missed.append(before)
        elif seen.size < before.size or not is_same_file(before.identity, seen.identity):
            # The number of a file that was removed was given to the next one.
            self._missed.append(FoundFile(_NOWHERE, before.size))
        elif not seen.identity.head:
            self._successor = FoundFile(before.identity, seen.size)

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
        self._size_seen = offset
        self._size_now = found.size
        self._is_fresh, self._is_drained = True, False
        self._quiet_since = self._successor = None
        return ReadFrom(path, offset, found, announce, is_resumed)

    def _is_open_file(self, file: FoundFile) -> bool:
        """The same place on the disk, whatever it holds now."""
        known = self.identity
        return known is not None and (known.device, known.inode) == (file.identity.device, file.identity.inode)

    def _is_rest(self, file: FoundFile) -> bool:
        """The same life: it has kept its beginning, and has never shrunk."""
        least = max(self.offset, self._size_seen, self._size_now)
        return self.identity is not None and is_same_file(self.identity, file.identity) and file.size >= least


def _is_at(one: FoundFile, other: FoundFile) -> bool:
    return (one.identity.device, one.identity.inode) == (other.identity.device, other.identity.inode)


@dataclass(slots=True)
class _PastLife:
    """A life of a file that is over."""

    offset: int  # up to here it was read
    size_seen: int
    doubt: bytes = b""  # read at the offset while one life followed the other
    is_unseen: bool = False  # nobody looked when it ended, so that it may have grown beyond any size seen

    def gap(self, at: float, reason: str) -> list[Gap | Rotated]:
        """What is missing of it."""
        if (lost := self.size_seen - self.offset) > 0:
            return [Gap(at, lost, f"the file was {reason} before its end was read")]
        return [Gap(at, None, f"the file was {reason} while nobody could look")] if self.is_unseen else []
