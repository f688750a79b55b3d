"""The log lines of all servers: where each stands and when it was written in typed columns, its text in a spill file.

Lines are numbered in the order of their arrival, across all servers. Both the columns and the text are bounded: the
oldest lines fall out of the columns, and a line whose text has fallen out of the spill before is still known by its
server and its time.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntFlag
from itertools import islice

from specmon.monitor.spill import Spill

HELD_LINES = 400_000
_PART_LINES = 8192
_LATE_LINES = 2000  # how far behind a line may be told to be a sample
_LONGEST = (1 << 20) + 1
_NAN = math.nan


class Trait(IntFlag):
    """What was made of a line."""

    NONE = 0
    SAMPLE = 1  # a decode statistics line
    UNPARSED = 2  # a statistics line that lacks a figure
    PREFILL = 4
    PHASES = 8  # times of a cycle's phases


class Part:
    """Columns of consecutive lines."""

    __slots__ = ("at", "batch", "carried", "length", "position", "server", "start", "traits")

    def __init__(self) -> None:
        self.server = array("H")  # index into the keys
        self.position = array("q")  # of its first byte in the server's log, counted on over rotations
        self.at = array("d")  # s on the log's clock, NaN while the log has told none
        self.start = array("q")  # number of its first byte in the spill
        self.length = array("I")  # bytes, without the line end
        self.carried = array("I")  # bytes in front of the text that hold the line as its carrier wrote it
        self.traits = array("B")
        self.batch = array("B")  # 0: came as it was written; else lines of the past, which came later (see `pastlog`)

    def __len__(self) -> int:
        return len(self.server)


class LogStore:
    """Lines by number; `first` to `end` are known."""

    def __init__(self, held: int = HELD_LINES, spill: Spill | None = None, *, part_lines: int = _PART_LINES) -> None:
        self.keys: list[str] = []  # of the servers, in the order of their first line
        self.first = 0
        self.end = 0
        self.parts: deque[Part] = deque()
        self._spill = spill or Spill()
        self._held = held
        self._part_lines = part_lines
        self._numbers: dict[str, int] = {}
        self._told_fault = False
        self._batches: dict[str, int] = {}
        self.lowest: dict[str, int] = {}  # by server: the place of its first line that was ever known

    # -- in ------------------------------------------------------------------------------------------

    def add(
        self,
        key: str,
        position: int,
        at: float | None,
        raw: bytes,
        traits: int = Trait.NONE,
        carried: bytes = b"",
        *,
        batch: int = 0,
    ) -> None:
        """Take one line in, without its line end; `carried` is the line as its carrier wrote it, if there is one.

        `batch` is 0 for what is new, and what `begin_batch` gave for lines of the past.
        """
        part = self._part()
        part.server.append(self._number(key))
        part.position.append(position)
        part.at.append(_NAN if at is None else at)
        part.start.append(self._spill.append((carried + raw) if carried else raw) + len(carried))
        part.length.append(len(raw))
        part.carried.append(len(carried))
        part.traits.append(traits)
        part.batch.append(batch)
        self._note(key, position)
        self.end += 1

    def add_text(
        self,
        key: str,
        text: bytes,
        position: int,
        times: Sequence[tuple[int, float]],
        before: float | None,
        traits: Iterable[tuple[Trait, Sequence[int]]],
        *,
        batch: int = 0,
    ) -> None:
        """Take many whole lines in that stand in their log as they are, the first at `position`.

        `times` are places at which the log tells its time, ascending; `before` is the time before the first of them.
        `traits` names places of lines.
        """
        from specmon.monitor.logcolumns import columns_of  # numpy, for long blocks only

        columns = columns_of(text, position, times, before, traits)
        start = self._spill.append(text)
        number, lines, done = self._number(key), len(columns.position), 0
        self._note(key, position)
        while done < lines:
            part = self._part()
            some = slice(done, done + self._part_lines - len(part))
            count = len(columns.position[some])
            part.server.extend([number] * count)
            part.position.frombytes(columns.position[some].tobytes())
            part.at.frombytes(columns.at[some].tobytes())
            part.start.frombytes((columns.start[some] + start).tobytes())
            part.length.frombytes(columns.length[some].tobytes())
            part.carried.frombytes(bytes(part.carried.itemsize * count))
            part.traits.frombytes(columns.traits[some].tobytes())
            part.batch.frombytes(bytes([batch]) * count)
            self.end += count
            done += count

    def begin_batch(self, source: str) -> int:
        """A number for a source's lines of the past that are told together: each telling begins further back."""
        self._batches[source] = min(self._batches.get(source, 0) + 1, 255)
        return self._batches[source]

    def _note(self, key: str, position: int) -> None:
        if position < self.lowest.get(key, position + 1):
            self.lowest[key] = position

    def mark(self, key: str, position: int, trait: Trait) -> None:
        """A line that came a while ago turns out to be something."""
        number = self._numbers.get(key)
        left = _LATE_LINES
        for part in reversed(self.parts):
            for index in range(len(part) - 1, -1, -1):
                if part.position[index] == position and part.server[index] == number:
                    part.traits[index] |= trait
                    return
                left -= 1
                if not left:
                    return

    def _number(self, key: str) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def _part(self) -> Part:
        """The part that has room for the next line."""
        if not self.parts or len(self.parts[-1]) >= self._part_lines:
            self.parts.append(Part())
            while self.end - self.first - len(self.parts[0]) >= self._held:
                self.first += len(self.parts.popleft())
        return self.parts[-1]

    def new_fault(self) -> str:
        """Why the text of only the newest lines is held, once; "" when there is nothing to tell."""
        if not self._spill.fault or self._told_fault:
            return ""
        self._told_fault = True
        return (
            f"older log lines cannot be kept ({self._spill.fault} in the folder for temporary files): the log shows "
            "the newest 4 MB. Free some space or set TMPDIR, and start again."
        )

    # -- out -----------------------------------------------------------------------------------------

    def place(self, number: int) -> tuple[Part, int]:
        """The columns that hold a line, and its index in them. Raises IndexError for one that is not known."""
        if not self.first <= number < self.end:
            raise IndexError(number)
        # All parts but the last are full.
        index, within = divmod(number - self.first, self._part_lines)
        return self.parts[index], within

    def number_at(self, key: str, position: int) -> int | None:
        """The line of a server at a byte of its log; None when it is not known."""
        code, first = self._numbers.get(key), self.end
        for part in reversed(self.parts):
            first -= len(part)
            index = -1
            while position in (left := part.position[index + 1 :]):
                index += 1 + left.index(position)
                if part.server[index] == code:
                    return first + index
        return None

    def text(self, number: int) -> bytes | None:
        """The line as its engine wrote it; None when its text is gone."""
        part, index = self.place(number)
        return self._spill.read(part.start[index], part.length[index])

    def carried(self, number: int) -> bytes | None:
        """The line as its carrier wrote it, where that is something else and still held."""
        part, index = self.place(number)
        size = part.carried[index]
        return self._spill.read(part.start[index] - size, size) if size else None

    def texts(self, first: int, end: int) -> list[bytes | None]:
        """Consecutive lines at once: they lie side by side, so that one look fetches them."""
        found: list[bytes | None] = []
        while first < end:
            part, index = self.place(first)
            last = min(index + end - first, len(part))
            starts, lengths = part.start[index:last], part.length[index:last]
            begin = starts[0]
            whole = self._spill.read(begin, starts[-1] + lengths[-1] - begin)
            if whole is None or len(whole) > 4 * _LONGEST:
                found += map(self._spill.read, starts, lengths)
            else:
                found += [whole[at - begin : at - begin + size] for at, size in zip(starts, lengths, strict=True)]
            first += last - index
        return found

    def parts_from(self, number: int) -> Iterable[tuple[Part, int]]:
        """The columns that hold the lines from one on, each with the index at which these begin in it."""
        if number >= self.end:
            return
        index, within = divmod(max(number, self.first) - self.first, self._part_lines)
        for part in islice(self.parts, index, None):
            yield part, within
            within = 0
