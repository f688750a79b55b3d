"""The samples of a server for its charts, across its lives: whole for a day, condensed before that."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from specmon.analysis.buckets import NONE, SLOT_S, Buckets, Samples, fold, merged
from specmon.analysis.horizon import LIVE
from specmon.monitor.held import HeldSamples
from specmon.monitor.life import Life

HELD_SAMPLES = 200_000  # whole ones: a day of two a second
HELD_BUCKETS = 150_000  # a week and more of two kinds in every slot
FEW_SAMPLES, FEW_BUCKETS = 20_000, 20_000  # of a server of many, that nobody compares
COARSE_S = 600.0  # slots of what is older still
_WAITING = 512  # samples that come singly, before they are taken in together
_MOST_DISORDER_S = 60.0  # of the lines of a log; a larger step back is the clock's
_SLACK = 8  # the eighth part more is held, so that there is seldom something to fold
_COLUMNS = (("at", "f8"), ("tok_s", "f8"), ("cycle_ms", "f8"), ("accept_len", "f8"), ("running", "i4"), ("rule", "u1"))
_ORIGINS = (("owner", "i4"), ("index", "u4"))

Floats = npt.NDArray[np.float64]


class Trace:
    """Bounded: samples older than a day, or beyond a number, become buckets of ten seconds, these of ten minutes."""

    def __init__(
        self, *, samples: int = HELD_SAMPLES, buckets: int = HELD_BUCKETS, whole_s: float = LIVE.seconds
    ) -> None:
        """`whole_s`: how long each sample is held, on the clock of the log."""
        self._most_samples, self._most_buckets, self._whole_s = samples, buckets, whole_s
        self._waiting: list[tuple[Life, int, float, float, float, int, float]] = []
        self._data = {name: np.zeros(256, kind) for name, kind in (*_COLUMNS, *_ORIGINS)}
        self._first = self._end = 0  # of what is held in the columns
        self._owners: dict[int, tuple[Life, int]] = {}  # by number: a life, and the revision that its verdicts are of
        self._newest_owner = -1
        self._fine = self._coarse = self._buckets = NONE
        self._slot = math.nan  # of the newest sample
        self._slot_begins = 0  # the first sample of it
        self._revision = 0
        self._shift_s = 0.0
        self._is_spared = False
        self._changes = 0  # of samples that were there, or of buckets
        self._held: HeldSamples | None = None
        self._slots = _Slots()

    def spare(self, is_spared: bool) -> None:
        """Hold little of a server of many that nobody compares."""
        if is_spared is self._is_spared:
            return
        self._is_spared = is_spared
        if is_spared:
            self.limit(FEW_SAMPLES, FEW_BUCKETS)
        else:
            self.limit(HELD_SAMPLES, HELD_BUCKETS)

    def limit(self, samples: int, buckets: int) -> None:
        """From now on hold so many at most."""
        self._most_samples, self._most_buckets = samples, buckets

    def add(
        self, life: Life, index: int, at: float, tok_s: float, rank_tok_s: float, running: int, accept_len: float
    ) -> None:
        """Note a sample: its place in the life's statistics, the speed of the server and of the rank that wrote it.

        One without a time cannot be drawn.
        """
        if math.isfinite(at):
            self._waiting.append((life, index, at, tok_s, rank_tok_s, running, accept_len))
            if len(self._waiting) >= _WAITING:
                self._take_waiting()

    def extend(
        self,
        life: Life,
        index: npt.NDArray[np.int64],
        at: Floats,
        tok_s: Floats,
        rank_tok_s: Floats,
        running: npt.NDArray[np.int64],
        accept_len: Floats,
    ) -> None:
        """Note many samples of one life, as columns of what `add` takes."""
        self._take_waiting()
        if len(at):
            self._take(life, index, at, tok_s, rank_tok_s, running, accept_len)

    def let_go(self, life: Life) -> None:
        """It is held no more; what was said of its samples stays."""
        self._take_waiting()
        self._look_at_verdicts(life)
        self._owners = {number: known for number, known in self._owners.items() if known[0] is not life}

    def points(self, revision: int, shift_s: float = 0.0) -> HeldSamples:
        """All that is held, moved by `shift_s`; `revision` says whether earlier verdicts have changed."""
        self._take_waiting()
        if shift_s != self._shift_s:
            self._shift_s = shift_s
            self._changes += 1
            self._held = None
        if revision != self._revision:
            self._revision = revision
            self._look_at_verdicts()
        if self._held is None:
            everything, old, changes = self._samples(self._end), self._buckets, self._changes
            if shift_s:
                everything, old = replace(everything, at=everything.at + shift_s), old.copy()
                old["start"] += shift_s
            whole = everything.part(slice(0, self._slot_begins - self._first))
            self._held = HeldSamples(everything, old, lambda: self._slots.of(whole, old, changes))
        return self._held

    def _samples(self, end: int) -> Samples:
        return Samples(**{name: self._data[name][self._first : end] for name, _ in _COLUMNS})

    # -- in ----------------------------------------------------------------------------------------

    def _take_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, part in groupby(waiting, key=lambda sample: id(sample[0])):
            lives, *columns = zip(*part, strict=True)
            self._take(lives[0], *(np.array(column) for column in columns))

    def _take(
        self,
        life: Life,
        index: npt.NDArray[np.int64],
        at: Floats,
        tok_s: Floats,
        rank_tok_s: Floats,
        running: npt.NDArray[np.int64],
        accept_len: Floats,
    ) -> None:
        count = len(at)
        self._make_room(count)
        self._own(life)
        new = slice(self._end, self._end + count)
        data = self._data
        data["at"][new], data["tok_s"][new], data["accept_len"][new] = at, tok_s, accept_len
        data["running"][new], data["owner"][new], data["index"][new] = running, self._newest_owner, index
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # C = 1000 * A * B / R, with A = 1 for a baseline.
            accept = accept_len if life.statistics.is_speculative else 1.0
            data["cycle_ms"][new] = np.where(rank_tok_s > 0, 1000 * accept * running / rank_tok_s, math.nan)
        data["rule"][new] = self._verdicts(life, data["index"][new], data["rule"][new] * 0)
        slots = np.floor(at / SLOT_S)
        if slots[-1] != self._slot or np.any(np.diff(slots)):
            self._slot = float(slots[-1])
            others = np.flatnonzero(slots != slots[-1])
            self._slot_begins = self._end + (int(others[-1]) + 1 if len(others) else 0)
        self._end += count
        self._held = None
        self._fold_old()

    def _own(self, life: Life) -> None:
        known = self._owners.get(self._newest_owner)
        if known is None or known[0] is not life:
            self._newest_owner += 1
            self._owners[self._newest_owner] = life, life.statistics.revision

    def _make_room(self, count: int) -> None:
        """Pictures that were given away keep the old columns."""
        if self._end + count <= len(self._data["at"]):
            return
        held = self._end - self._first
        size = max(256, (held + count) * 5 // 4) if held + count > self._most_samples else 2 * (held + count)
        for name, column in self._data.items():
            self._data[name] = np.zeros(size, column.dtype)
            self._data[name][:held] = column[self._first : self._end]
        self._slot_begins -= self._first
        self._first, self._end = 0, held

    # -- verdicts ----------------------------------------------------------------------------------

    def _look_at_verdicts(self, only: Life | None = None) -> None:
        """Verdicts change after the fact, of all lives or of one. Pictures that were given away keep theirs."""
        held = self._data["owner"][self._first : self._end]
        rules = self._data["rule"]
        is_changed = False
        for number, (life, seen) in self._owners.items():
            if (only is not None and life is not only) or (life.statistics.revision == seen and life.continues is None):
                continue
            self._owners[number] = life, life.statistics.revision
            first, end = self._first + np.searchsorted(held, [number, number + 1])
            before = rules[first:end]
            now = self._verdicts(life, self._data["index"][first:end], before)
            if np.any(now != before):
                if not is_changed:
                    is_changed, rules = True, rules.copy()
                rules[first:end] = now
        if is_changed:
            self._data["rule"] = rules
            self._changes += 1
            self._held = None

    @staticmethod
    def _verdicts(life: Life, index: npt.NDArray[np.int64], known: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """What is said of samples of a life now, else what was known of them."""
        if life.continues is not None:  # its lines were read again as another life's: its places mean nothing
            return np.zeros(len(index), np.uint8)
        return life.statistics.verdicts.numbers(index, known)

    # -- what is old -------------------------------------------------------------------------------

    def _fold_old(self) -> None:
        """Only whole slots are folded, so that each is folded once."""
        at = self._data["at"][self._first : self._end]
        over = len(at) - self._most_samples
        has_too_many = over > self._most_samples // _SLACK
        cut = math.floor((at[-1] - self._whole_s) / SLOT_S) * SLOT_S
        if has_too_many:
            cut = max(cut, math.floor(at[over] / SLOT_S) * SLOT_S)
        elif not at[0] < cut - self._whole_s / _SLACK:
            return
        self._look_at_verdicts()
        is_old = at < cut
        if np.diff(at).min() < -_MOST_DISORDER_S or np.count_nonzero(~is_old) > self._most_samples * (1 + 1 / _SLACK):
            # The clock was put back, or one slot holds very many: then the first that came go.
            newer = np.flatnonzero(~is_old)
            gone = max(over if has_too_many else 0, int(newer[0]) if len(newer) else 0)
            is_old = np.arange(len(at)) < gone
        everything = self._samples(self._end)
        self._put_away(fold(everything.part(is_old)))
        left = slice(self._first, self._end)
        kept = np.flatnonzero(~is_old)
        size = len(kept) + max(256, len(is_old) - len(kept)) + self._most_samples // _SLACK
        for name, column in self._data.items():
            self._data[name] = np.zeros(size, column.dtype)
            self._data[name][: len(kept)] = column[left][kept]
        self._slot_begins = int(np.searchsorted(kept, self._slot_begins - self._first))
        self._first, self._end = 0, len(kept)
        in_use = {*np.unique(self._data["owner"][: self._end]).tolist(), self._newest_owner}
        self._owners = {number: known for number, known in self._owners.items() if number in in_use}
        self._changes += 1
        self._held = None

    def _put_away(self, new: Buckets) -> None:
        fine = np.concatenate([self._fine, new])
        if len(self._fine) and len(new) and new["start"][0] < self._fine["start"][-1] + SLOT_S:
            fine = merged(fine)
        most = self._most_buckets * 3 // 4
        if len(fine) > most:
            limit = math.ceil(fine["start"][len(fine) - most * 3 // 4] / COARSE_S) * COARSE_S
            is_old = fine["start"] < limit
            coarse = np.concatenate([self._coarse, fine[is_old]])
            self._coarse = merged(coarse, COARSE_S)[-(self._most_buckets - most) :]
            fine = fine[~is_old]
        self._fine = fine
        self._buckets = np.concatenate([self._coarse, fine])


class _Slots:
    """The newest samples as buckets too, for windows so long that they need be no more: made when asked for."""

    def __init__(self) -> None:
        self._changes = -1
        self._count = 0  # samples that are in buckets
        self._buckets = NONE
        self._held = HeldSamples.of(())

    def of(self, whole: Samples, old: Buckets, changes: int) -> HeldSamples:
        """`whole`: the samples of slots that are over; `changes` tells whether those of before are still the same."""
        if changes != self._changes or len(whole) < self._count:
            self._changes, self._count, self._buckets = changes, 0, old
        elif len(whole) == self._count:
            return self._held
        new = fold(whole.part(slice(self._count, None)))
        rows = np.concatenate([self._buckets, new])
        if len(self._buckets) and len(new) and new["start"][0] <= self._buckets["start"][-1]:
            rows = merged(rows)
        self._count, self._buckets = len(whole), rows
        self._held = HeldSamples(whole.part(slice(0, 0)), rows)
        return self._held
