"""Columns of log lines that are made all at once: those of a long block, and the order of all lines by time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from specmon.monitor.logstore import LogStore, Trait

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """One entry a line."""

    position: Integers
    at: Floats
    start: Integers  # in the text
    length: NDArray[np.uint32]
    traits: NDArray[np.uint8]


def columns_of(
    text: bytes,
    position: int,
    times: Sequence[tuple[int, float]],
    before: float | None,
    traits: Iterable[tuple[Trait, Sequence[int]]],
) -> Columns:
    """The whole lines of a text; see `LogStore.add_text`."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 0x0A).astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends
    places = starts + position
    told = np.array([place for place, _ in times], np.int64)
    moments = np.array([np.nan if before is None else before, *(at for _, at in times)], np.float64)
    if before is None and times:
        moments[0] = times[0][1]  # what comes before the first stamp was written just before it
    noted = np.zeros(len(places), np.uint8)
    for trait, offsets in traits:
        wanted = np.asarray(offsets, np.int64)
        index = np.searchsorted(places, wanted)
        index = np.minimum(index, max(len(places) - 1, 0))
        if len(places) and len(wanted):
            noted[index[places[index] == wanted]] |= np.uint8(trait)
    return Columns(
        position=places,
        at=moments[np.searchsorted(told, places, side="right")],
        start=starts,
        length=(ends - starts).astype(np.uint32),
        traits=noted,
    )


class Order:
    """The numbers of all lines by time; lines of one server never change their order.

    A clock that steps back counts as standing still until it has caught up. Lines of a log that has told no time yet
    stand where they arrived.
    """

    def __init__(self) -> None:
        self.numbers: Integers = np.zeros(0, np.int64)
        self.moments: Floats = np.zeros(0, np.float64)
        self._end = 0
        self._latest: dict[int, float] = {}  # by server: the highest time so far
        self._timeless: set[int] = set()  # servers whose lines stand where they arrived

    def sync(self, store: LogStore) -> bool:
        """Take in what has come, and let go of what has gone; whether anything did."""
        before = (self._end, self.numbers[0] if len(self.numbers) else -1)
        if store.first and len(self.numbers):
            held = self.numbers >= store.first
            if not held.all():
                self.numbers, self.moments = self.numbers[held], self.moments[held]
        if store.end > self._end and not self._grow(store, max(self._end, store.first)):
            self.__init__()  # type: ignore[misc]  # a log has begun to tell the time: its lines before that move
            self._grow(store, store.first)
        self._end = store.end
        return before != (self._end, self.numbers[0] if len(self.numbers) else -1)

    def _grow(self, store: LogStore, first: int) -> bool:
        parts = list(store.parts_from(first))
        servers = np.concatenate([np.array(part.server[index:], np.int64) for part, index in parts]) * 2
        servers += np.concatenate([np.array(part.traits[index:], np.int64) & Trait.PAST for part, index in parts]) > 0
        at = np.concatenate([np.array(part.at[index:], np.float64) for part, index in parts])
        newest = float(self.moments[-1]) if len(self.moments) else -np.inf
        for server in np.unique(servers).tolist():
            mine = np.flatnonzero(servers == server)
            known = at[mine]
            is_told = known == known
            if not is_told.any():
                if server not in self._latest:
                    self._timeless.add(server)
                    known = self._arrivals(mine, servers, at, newest)
                else:
                    known = np.full(len(mine), self._latest[server])
            else:
                if server in self._timeless:
                    return False
                # Each line without a time takes that of the line before it; the first ones take the first.
                at_last = np.maximum.accumulate(np.where(is_told, np.arange(len(mine)), -1))
                head = self._latest.get(server, float(known[is_told][0]))
                known = np.where(at_last >= 0, known[np.maximum(at_last, 0)], head)
                known = np.maximum.accumulate(np.maximum(known, self._latest.get(server, -np.inf)))
                self._latest[server] = float(known[-1])
            at[mine] = known
        numbers = np.arange(first, first + len(at), dtype=np.int64)
        place = int(np.searchsorted(self.moments, at.min(), side="right"))
        moments = np.concatenate((self.moments[place:], at))
        among = np.argsort(moments, kind="stable")
        self.numbers = np.concatenate((self.numbers[:place], np.concatenate((self.numbers[place:], numbers))[among]))
        self.moments = np.concatenate((self.moments[:place], moments[among]))
        return True

    @staticmethod
    def _arrivals(mine: Integers, servers: Integers, at: Floats, newest: float) -> Floats:
        """The highest time that anybody had told when these lines came."""
        told = np.maximum.accumulate(np.where(at == at, at, -np.inf))
        return np.maximum(told[mine], newest)
