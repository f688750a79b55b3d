"""Each line of a stamped log once, though the log can only be asked for "since a time".

`docker logs --since T` and `kubectl logs --since-time T` answer with whole lines from a time on, both ends in doubt:
several lines may have one stamp, two streams may be written a little out of order, and kubectl knows whole seconds
only. So each reading begins a little before the newest stamp, and lines that were handed out already are known by stamp
and content, and counted, so that lines that are alike in both are told apart by their number.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime

from specmon.sources.program_log import Taken

OVERLAP_NS = 2_000_000_000
_MOST_REMEMBERED = 100_000
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))(?: |(?=\n)|\Z)")
_PIECE_BYTES = 16384  # docker cuts a line into pieces of this size, and stamps each of them

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StampedLine:
    """A line with the moment at which the container runtime took it in."""

    at_ns: int  # since 1970, UTC
    stamp: bytes  # as it came, with the blank behind it
    text: bytes  # with its line feed

    @property
    def key(self) -> Key:
        """By what it is known again."""
        return self.at_ns, hash(self.text)

    @property
    def is_finely_stamped(self) -> bool:
        """Whether a second line of the same text would have another stamp, unlike with a clock of milliseconds."""
        return self.at_ns % 1_000_000 != 0


def parse_stamped(line: bytes) -> StampedLine | None:
    """Read one line; None when it has no stamp, so that it is the program's own word."""
    if (match := _STAMP.match(line)) is None:
        return None
    try:
        at = datetime.fromisoformat(match[1].decode("ascii")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    offset = (int(match[4]) * 3600 + int(match[5]) * 60) * (-1 if match[3] == b"-" else 1) if match[3] else 0
    at_ns = (int(at) - offset) * 1_000_000_000 + int((match[2] or b"0").ljust(9, b"0"))
    text = line[match.end() :]
    if len(text) > _PIECE_BYTES:
        text = _join_pieces(text)
    return StampedLine(at_ns, match[0], text)


def rfc3339(at_ns: int) -> str:
    """A moment as docker and kubectl take it, to the nanosecond."""
    seconds, rest = divmod(at_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _join_pieces(text: bytes) -> bytes:
    pieces = []
    while len(text) > _PIECE_BYTES and (match := _STAMP.match(text, _PIECE_BYTES)):
        pieces.append(text[:_PIECE_BYTES])
        text = text[match.end() :]
    return b"".join((*pieces, text))


@dataclass(slots=True)
class StampMemory:
    """What has been handed out last, and which lines of a new reading are new."""

    keeps_stamps: bool = True  # in what is handed out
    drops_echoes: bool = False  # docker (28.2) says its last line again when it begins a new file
    believes_gaps: bool = True
    newest_ns: int | None = None
    _remembered: deque[Key] = field(default_factory=deque)  # in the order of reading
    _floor_ns: int = 0  # up to here nothing is remembered any more, or nothing is wanted
    _expected: Counter[Key] = field(default_factory=Counter)  # of the present reading: what may come again
    _begun_ns: int = 0  # the newest stamp when the present reading began
    _last: Key | None = None  # of the present reading
    _is_proven: bool = True  # the newest line was seen again, or there was none

    @property
    def resume(self) -> str | None:
        """From where the next reading is to begin; None: from the first line."""
        return None if self.newest_ns is None else rfc3339(max(self.newest_ns - OVERLAP_NS, self._floor_ns))

    def begin(self, *, is_limited: bool = False) -> None:
        """A new reading begins at `resume` or somewhat before; a limited one anywhere, and its first line counts."""
        self._expected = Counter(self._remembered)
        self._begun_ns = self.newest_ns or 0
        self._last = None
        self._is_proven = not self._remembered
        if is_limited:
            self._floor_ns = -1

    def take(self, line: bytes) -> Taken | None:
        """One line of a reading; it counts as handed out from now on. None: it is the program's own word."""
        if (found := parse_stamped(line)) is None:
            return None
        if self._floor_ns < 0:
            self._floor_ns = found.at_ns  # of lines with this very stamp some may be before it
        last, self._last = self._last, found.key
        if (self.drops_echoes and found.is_finely_stamped and found.key == last) or self._is_old(found):
            return Taken("old", b"")
        # The newest line that was known should have come again before anything newer.
        is_gap = not self._is_proven and found.at_ns > self._begun_ns
        if is_gap and not self.believes_gaps:
            return Taken("doubt", b"")
        self._is_proven |= is_gap
        if found.at_ns > self._begun_ns + OVERLAP_NS:
            self._expected.clear()
        self._remember(found)
        return Taken("gap" if is_gap else "new", found.stamp + found.text if self.keeps_stamps else found.text)

    def _is_old(self, line: StampedLine) -> bool:
        if not self._expected:
            return False
        if self._expected[line.key] > 0:
            self._expected[line.key] -= 1
            self._is_proven |= line.at_ns == self._begun_ns
            return True
        return line.at_ns <= self._floor_ns

    def _remember(self, line: StampedLine) -> None:
        self.newest_ns = max(self.newest_ns or 0, line.at_ns)
        self._remembered.append(line.key)
        oldest_ns = self.newest_ns - OVERLAP_NS
        while len(self._remembered) > 1 and (
            self._remembered[0][0] < oldest_ns or len(self._remembered) > _MOST_REMEMBERED
        ):
            self._floor_ns = max(self._floor_ns, self._remembered.popleft()[0])
