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

_DIGITS = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18)  # of a stamp


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
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == 0x0A).astype(np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends
    places = starts + position
    own_places, own_moments = _own_stamps(data, starts, position)
    told = np.concatenate((own_places, np.array([place for place, _ in times], np.int64)))
    moments = np.concatenate((own_moments, np.array([at for _, at in times], np.float64)))
    among = np.argsort(told, kind="stable")  # where both tell a time, the dialect's, which may be finer, counts
    told, moments = told[among], moments[among]
    # What comes before the first stamp was written just before it.
    first = before if before is not None else moments[0] if len(moments) else np.nan
    moments = np.concatenate((np.array([first], np.float64), moments))
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


def _own_stamps(data: NDArray[np.uint8], starts: Integers, position: int) -> tuple[Integers, Floats]:
    """Places and times of the lines that begin with a full stamp, `[2026-02-26 16:40:00` (see `stamp_of`)."""
    starts = starts[starts + 20 <= len(data)]
    starts = starts + (data[starts] == ord("["))
    starts = starts[starts + 19 <= len(data)]
    signs = data[starts[:, None] + np.arange(19)]
    digits = signs[:, _DIGITS].astype(np.int64) - ord("0")
    is_stamp = ((digits >= 0) & (digits <= 9)).all(axis=1) & (signs[:, (4, 7, 13, 16)] == tuple(b"--::")).all(axis=1)
    is_stamp &= (signs[:, 10] == ord(" ")) | (signs[:, 10] == ord("T"))
    digits, starts = digits[is_stamp], starts[is_stamp]
    years = digits[:, :4] @ (1000, 100, 10, 1)
    months, days, hours, minutes, seconds = (digits[:, k] * 10 + digits[:, k + 1] for k in (4, 6, 8, 10, 12))
    is_real = (years >= 1970) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    is_real &= (hours < 24) & (minutes < 60) & (seconds < 60)
    months_since = ((years - 1970) * 12 + months - 1)[is_real].astype("datetime64[M]")
    midnight = months_since.astype("datetime64[D]").astype(np.int64) + days[is_real] - 1
    moments = midnight * 86_400 + (hours * 3600 + minutes * 60 + seconds)[is_real]
    bracket = starts[is_real] - 1
    is_bracket = (bracket >= 0) & (data[bracket] == ord("["))
    return np.where(is_bracket, bracket, starts[is_real]) + position, moments.astype(np.float64)


_BATCHES = 256


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
        self._shifts: Floats = np.zeros(0, np.float64)  # what the times of each server are moved by

    def shift_of(self, server: int) -> float:
        """What the times of a server are moved by, s."""
        return float(self._shifts[server]) if server < len(self._shifts) else 0.0

    def sync(self, store: LogStore, shifts: Sequence[float] = ()) -> bool:
        """Take in what has come, and let go of what has gone; whether anything did.

        `shifts` puts the clock of each server, in the store's order, onto one axis.
        """
        known, has_moved = len(self._shifts), list(self._shifts) != list(shifts[: len(self._shifts)])
        if has_moved or len(shifts) > known:
            wanted = np.array(shifts, np.float64)
            if has_moved:
                self.__init__()  # type: ignore[misc]  # every line has another place
            self._shifts = wanted
        before = (self._end, self.numbers[0] if len(self.numbers) else -1)
        if store.first and len(self.numbers):
            held = self.numbers >= store.first
            if not held.all():
                self.numbers, self.moments = self.numbers[held], self.moments[held]
        if store.end > self._end and not self._grow(store, max(self._end, store.first)):
            wanted = self._shifts
            self.__init__()  # type: ignore[misc]  # a log has begun to tell the time: its lines before that move
            self._shifts = wanted
            self._grow(store, store.first)
        self._end = store.end
        return has_moved or before != (self._end, self.numbers[0] if len(self.numbers) else -1)

    def _grow(self, store: LogStore, first: int) -> bool:
        parts = list(store.parts_from(first))
        batches = np.concatenate([np.array(part.batch[index:], np.int64) for part, index in parts])
        servers = np.concatenate([np.array(part.server[index:], np.int64) for part, index in parts]) * _BATCHES
        servers += batches
        at = np.concatenate([np.array(part.at[index:], np.float64) for part, index in parts])
        if self._shifts.any():
            at += self._shifts[servers // _BATCHES]
        newest = float(self.moments[-1]) if len(self.moments) else -np.inf
        for server in np.unique(servers).tolist():
            mine = np.flatnonzero(servers == server)
            known = at[mine]
            is_told = known == known
            if not is_told.any():
                if server % _BATCHES:
                    known = np.full(len(mine), -1e15)  # of the past, as far as anybody knows
                elif server not in self._latest:
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
            # Lines of the past stand before what came when it was written, and what is told later lies further back.
            at[mine] = known - (server % _BATCHES) * (1e-6 if is_told.any() else 1e12)
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
