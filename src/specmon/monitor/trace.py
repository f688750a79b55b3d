"""The samples of a server for its charts, across its lives: whole for a day, condensed before that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from specmon.analysis.buckets import NONE, SLOT_S, Buckets, Samples, fold, merged
from specmon.analysis.horizon import LIVE
from specmon.monitor.bucketrows import BucketRows, joined
from specmon.monitor.held import HeldSamples, samples_of
from specmon.monitor.life import Life
from specmon.monitor.pieces import PIECE, Pieces, View

HELD_SAMPLES = 200_000  # whole ones: a day of two a second
HELD_BUCKETS = 150_000  # a week and more of two kinds in every slot
FEW_SAMPLES, FEW_BUCKETS = 20_000, 20_000  # of a server of many, that nobody compares
COARSE_S = 600.0  # slots of what is older still
_WAITING = 512  # samples that come singly, before they are taken in together
_MOST_DISORDER_S = 60.0  # of the lines of a log; a larger step back is the clock's
_SLACK = 8  # the eighth part more is held, but no more than a piece, so that there is seldom something to fold
_COLUMNS = (
    ("at", "f8"),
    ("tok_s", "f8"),
    ("cycle_ms", "f8"),
    ("accept_len", "f8"),
    ("running", "i4"),
    ("rule", "u1"),
    ("index", "u4"),  # in the statistics of its life
)
_FOLDED_AT_ONCE = 2 * PIECE  # samples

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class _Owner:
    """Consecutive samples of one life."""

    life: Life | None  # None: it is held no more
    begin: int  # the place of its first sample, counted over all that ever came
    revision: int  # that its verdicts are of


class Trace:
    """Bounded: samples older than a day, or beyond a number, become buckets of ten seconds, these of ten minutes."""

    def __init__(
        self, *, samples: int = HELD_SAMPLES, buckets: int = HELD_BUCKETS, whole_s: float = LIVE.seconds
    ) -> None:
        """`whole_s`: how long each sample is held, on the clock of the log."""
        self._most_samples, self._most_buckets, self._whole_s = samples, buckets, whole_s
        self._waiting: list[tuple[Life, int, float, float, float, int, float]] = []
        self._data = Pieces(_COLUMNS)
        self._gone = 0  # samples that are held no more
        self._owners: list[_Owner] = []
        self._fine = BucketRows()
        self._coarse = NONE
        self._cut = -math.inf  # before this moment samples were put away last
        self._slot = math.nan  # of the newest sample
        self._slot_begins = 0  # the first sample of it, counted over all that ever came
        self._revision = 0
        self._shift_s = 0.0
        self._is_spared = False
        self._changes = 0  # of samples that were there
        self._held: HeldSamples | None = None
        self._slots = _Slots()

    @property
    def nbytes(self) -> int:
        """The memory of its columns."""
        return self._data.nbytes + self._fine.nbytes + self._coarse.nbytes + self._slots.nbytes

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
        for owner in self._owners:
            owner.life = None if owner.life is life else owner.life

    def points(self, revision: int, shift_s: float = 0.0) -> HeldSamples:
        """All that is held, moved by `shift_s`; `revision` says whether earlier verdicts have changed."""
        self._take_waiting()
        if shift_s != self._shift_s:
            self._shift_s = shift_s
            self._held = None
        if revision != self._revision:
            self._revision = revision
            self._look_at_verdicts()
        if self._held is None:
            everything, old = self._data.view(), self._buckets
            whole = everything.part(slice(0, self._slot_begins - self._gone))
            asked = _Asked(whole, old, self._gone, self._cut, self._changes, shift_s)
            self._held = HeldSamples(everything, old, lambda: self._slots.of(asked), shift_s=shift_s)
        return self._held

    @property
    def _buckets(self) -> tuple[Buckets, ...]:
        return (self._coarse, *self._fine.parts) if len(self._coarse) else self._fine.parts

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
        self._own(life)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # C = 1000 * A * B / R, with A = 1 for a baseline.
            accept = accept_len if life.statistics.is_speculative else 1.0
            cycle_ms = np.where(rank_tok_s > 0, 1000 * accept * running / rank_tok_s, math.nan)
        places = index.astype(np.uint32)
        rule = self._verdicts(life, places, np.zeros(len(index), np.uint8))
        slots = np.floor(at / SLOT_S)
        if slots[-1] != self._slot or np.any(np.diff(slots)):
            self._slot = float(slots[-1])
            others = np.flatnonzero(slots != slots[-1])
            self._slot_begins = self._gone + len(self._data) + (int(others[-1]) + 1 if len(others) else 0)
        self._data.extend(
            {
                "at": at,
                "tok_s": tok_s,
                "cycle_ms": cycle_ms,
                "accept_len": accept_len,
                "running": running,
                "rule": rule,
                "index": places,
            }
        )
        self._held = None
        self._fold_old()

    def _own(self, life: Life) -> None:
        if not self._owners or self._owners[-1].life is not life:
            self._owners.append(_Owner(life, self._gone + len(self._data), life.statistics.revision))

    # -- verdicts ----------------------------------------------------------------------------------

    def _look_at_verdicts(self, only: Life | None = None) -> None:
        """Verdicts change after the fact, of all lives or of one. Pictures that were given away keep theirs."""
        ends = [next_owner.begin - self._gone for next_owner in self._owners[1:]] + [len(self._data)]
        for owner, end in zip(self._owners, ends, strict=False):  # without samples there is no owner, but an end
            life, begin = owner.life, owner.begin - self._gone
            if life is None or (only is not None and life is not only):
                continue
            if life.statistics.revision == owner.revision and life.continues is None:
                continue
            owner.revision = life.statistics.revision
            self._look_at_some(life, begin, end)

    def _look_at_some(self, life: Life, begin: int, end: int) -> None:
        for piece, part in self._data.view().part(slice(begin, end)).parts():
            before = piece.columns["rule"][part].astype(np.uint8, copy=False)
            now = self._verdicts(life, piece.columns["index"][part].astype(np.uint32, copy=False), before)
            if np.any(now != before):
                self._data.put(begin, {"rule": now})
                self._changes += 1
                self._held = None
            begin += len(before)

    @staticmethod
    def _verdicts(life: Life, index: npt.NDArray[np.uint32], known: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """What is said of samples of a life now, else what was known of them."""
        if life.continues is not None:  # its lines were read again as another life's: its places mean nothing
            return np.zeros(len(index), np.uint8)
        return life.statistics.verdicts.numbers(index, known)

    # -- what is old -------------------------------------------------------------------------------

    def _fold_old(self) -> None:
        """Only whole slots are folded, so that each is folded once."""
        data, most = self._data.view(), self._most_samples
        over = len(data) - most
        has_too_many = over > min(most // _SLACK, PIECE)
        cut = math.floor((_time(data, -1) - self._whole_s) / SLOT_S) * SLOT_S
        if has_too_many:
            cut = max(cut, math.floor(_time(data, over) / SLOT_S) * SLOT_S)
        elif not (
            _time(data, 0) < cut - self._whole_s / _SLACK or (len(data) > 2 * PIECE and _time(data, PIECE) < cut)
        ):
            return
        self._look_at_verdicts()
        data = self._data.view()
        at = data.numbers("at").astype(np.float64, copy=False)
        is_old = at < cut
        if np.diff(at).min() < -_MOST_DISORDER_S or np.count_nonzero(~is_old) > most * (1 + 1 / _SLACK):
            # The clock was put back, or one slot holds very many: then the first that came go.
            newer = np.flatnonzero(~is_old)
            gone = max(over if has_too_many else 0, int(newer[0]) if len(newer) else 0)
            is_old = np.arange(len(at)) < gone
            self._changes += 1  # for what goes may end within a slot
        else:
            self._cut = cut
        if not is_old.any():
            return
        self._put_away(is_old, int(np.flatnonzero(is_old)[-1]) + 1)
        self._held = None

    def _put_away(self, is_old: npt.NDArray[np.bool_], end: int) -> None:
        """Make buckets of some samples, all before `end`; of those before it, some newer ones may stay."""
        oldest = self._data.view().part(slice(0, end))
        is_old = is_old[:end]
        self._condense(fold(samples_of(oldest).part(is_old)))
        staying = np.flatnonzero(~is_old)
        for owner in self._owners:  # what stays of an owner keeps its place behind that of those before it
            begin = owner.begin - self._gone
            if begin < end:
                owner.begin = self._gone + end - len(staying) + int(np.searchsorted(staying, begin))
        if (slot := self._slot_begins - self._gone) < end:
            self._slot_begins = self._gone + end - len(staying) + int(np.searchsorted(staying, slot))
        kept = {name: oldest.numbers(name)[staying] for name, _ in _COLUMNS} if len(staying) else {}
        self._data.forget(end - len(staying))
        self._gone += end - len(staying)
        if kept:
            self._data.put(0, kept)
            self._changes += 1
        ends = [owner.begin for owner in self._owners[1:]]
        self._owners = [
            owner
            for owner, next_begin in zip(self._owners, [*ends, math.inf], strict=True)
            if next_begin > max(owner.begin, self._gone)
        ]

    def _condense(self, new: Buckets) -> None:
        self._fine.add(new)
        most = self._most_buckets * 3 // 4
        if len(self._fine) > most:
            left = max(most * 3 // 4, most - PIECE)
            limit = math.ceil(self._fine.start_of(len(self._fine) - left) / COARSE_S) * COARSE_S
            coarse = merged(np.concatenate([self._coarse, self._fine.take_before(limit)]), COARSE_S)
            self._coarse = coarse[-(self._most_buckets - most) :].copy()


def _time(data: View, index: int) -> float:
    return float(data.at("at", index))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a picture holds that is to be shown in buckets alone."""

    whole: View  # the samples of slots that are over
    old: tuple[Buckets, ...]
    gone: int  # samples that are in these, counted over all that ever came
    cut: float  # before this moment they were put away last
    changes: int  # tells whether samples of before are still the same
    shift_s: float


class _Slots:
    """The newest samples as buckets too, for windows so long that they need be no more: made when asked for."""

    def __init__(self) -> None:
        self._changes = -1
        self._cut = -math.inf
        self._rows = BucketRows()
        self._end = 0  # of the samples that are in buckets, counted over all that ever came
        self._held = HeldSamples.of(())
        self._held_of: tuple[object, ...] = ()

    @property
    def nbytes(self) -> int:
        """The memory of its buckets."""
        return self._rows.nbytes

    def of(self, asked: _Asked) -> HeldSamples:
        """The same object as long as no slot is over and nothing old has changed."""
        end = asked.gone + len(asked.whole)
        if (asked.changes, end) < (self._changes, self._end):
            return _Slots().of(asked)  # of an earlier picture
        held_of = (asked.changes, end, asked.shift_s)
        if held_of == self._held_of:
            return self._held
        if asked.changes != self._changes:
            self._changes, self._cut, self._rows, self._end = asked.changes, asked.cut, BucketRows(), asked.gone
        if asked.cut != self._cut:
            self._cut = asked.cut
            self._rows.forget_before(asked.cut)
        for part in _by_slots(asked.whole.part(slice(max(self._end - asked.gone, 0), None))):
            self._rows.add(fold(part))
        self._end, self._held_of = end, held_of
        rows = (*asked.old, *self._rows.parts)
        if asked.old and len(self._rows) and self._rows.start_of(0) <= asked.old[-1]["start"][-1]:
            rows = (merged(joined(rows)),)  # the clock was put back
        self._held = HeldSamples(asked.whole.part(slice(0, 0)), rows, shift_s=asked.shift_s)
        return self._held


def _by_slots(view: View) -> Iterator[Samples]:
    """Samples in parts of some thousands, none of which ends within a slot, unless it goes on for longer than that."""
    while len(view):
        count = min(_FOLDED_AT_ONCE, len(view))
        part = samples_of(view.part(slice(0, count)))
        if count < len(view):
            steps = np.flatnonzero(np.diff(np.floor(part.at / SLOT_S)))
            count = int(steps[-1]) + 1 if len(steps) else count
        yield part.part(slice(0, count))
        view = view.part(slice(count, None))
