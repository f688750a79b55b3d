"""Where the samples of a server stand in its log, so that a line can be told whether it counts."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from specmon.analysis.rules import Rule
from specmon.analysis.verdicts import Verdicts
from specmon.monitor.life import Life

HELD_PLACES = 65_536
_AROUND = 16  # samples


@dataclass(frozen=True, slots=True)
class GoneLife:
    """What stays of a life for its lines."""

    verdicts: Verdicts
    was_continued: bool


class SamplePlaces:
    """The newest samples by the position of their line; positions come in ascending order."""

    def __init__(self, held: int = HELD_PLACES) -> None:
        self._held = held
        self._positions = array("q")
        self._indexes = array("I")  # in the life's statistics
        self._owners = array("I")  # which of the lives
        self._lives: list[Life | GoneLife] = []
        self._gone = 0  # so many of them in the beginning are gone

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, samples: Iterable[tuple[int, int]], life: Life) -> None:
        """Pairs of position and index in the life's statistics."""
        if not self._lives or self._lives[-1] is not life:
            self._lives.append(life)
        owner = len(self._lives) - 1
        for position, index in samples:
            if self._positions and position <= self._positions[-1]:  # a line that was held back
                self._insert(position, index, owner)
                continue
            self._positions.append(position)
            self._indexes.append(index)
            self._owners.append(owner)
        if len(self._positions) > self._held + self._held // 4:
            over = len(self._positions) - self._held
            for column in (self._positions, self._indexes, self._owners):
                del column[:over]
            unused = min(self._owners)
            if unused:
                del self._lives[:unused]
                self._gone = max(0, self._gone - unused)
                self._owners = array("I", [owner - unused for owner in self._owners])

    def _insert(self, position: int, index: int, owner: int) -> None:
        place = bisect_left(self._positions, position)
        if self._positions[place] == position:
            self._indexes[place], self._owners[place] = index, owner
            return
        self._positions.insert(place, position)
        self._indexes.insert(place, index)
        self._owners.insert(place, owner)

    @property
    def newest(self) -> int | None:
        """Where the newest sample stands; None before the first."""
        return self._positions[-1] if self._positions else None

    def position_of(self, life: Life, index: int) -> int | None:
        """Where a sample of a life stands, by its index there; None for one that is not held."""
        if life not in self._lives:
            return None
        owner = self._lives.index(life)
        first, end = bisect_left(self._owners, owner), bisect_right(self._owners, owner)
        place = bisect_left(self._indexes, index, first, end)
        # A line that was held back stands a little before its turn.
        for near in range(max(first, place - _AROUND), min(end, place + _AROUND)):
            if self._indexes[near] == index and self._owners[near] == owner:
                return self._positions[near]
        return None

    def let_go(self, life: Life) -> None:
        """It is held no more: keep what was said of its samples."""
        for owner in range(self._gone, len(self._lives)):
            if self._lives[owner] is life:
                self._lives[owner] = GoneLife(life.statistics.verdicts, life.continues is not None)
        while self._gone < len(self._lives) and isinstance(self._lives[self._gone], GoneLife):
            self._gone += 1  # they go in their order

    def find(self, position: int) -> tuple[Life | GoneLife, int] | None:
        """The life and the index of the sample whose line stands there; None for another line or an old one."""
        place = bisect_left(self._positions, position)
        if place == len(self._positions) or self._positions[place] != position:
            return None
        return self._lives[self._owners[place]], self._indexes[place]


def excluded_word(life: Life | GoneLife, index: int) -> str | None:
    """The rule that leaves a sample out, None when it counts."""
    if isinstance(life, GoneLife):
        was_continued, verdicts = life.was_continued, life.verdicts
    else:
        was_continued, verdicts = life.continues is not None, life.statistics.verdicts
    if was_continued:
        return None  # its lines were read again as another life's, so this place in it means nothing
    verdict = verdicts.of(index)
    return None if verdict is None or verdict is Rule.CLEAN else verdict.word
