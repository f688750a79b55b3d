"""All samples of one rank at one number of running requests, and which of them count."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from specmon.analysis.clean import CleanColumns, Drafting
from specmon.analysis.delivery import Delivery
from specmon.analysis.median import RunningMedian
from specmon.analysis.rules import CLEAN, CYCLE_OUTLIER, IDLE_FACTOR, MOVED_AFTER, OUTLIER_FACTOR, OUTLIER_NEEDS, Rule
from specmon.analysis.sample import Sample
from specmon.analysis.spread import Ranked, median_of
from specmon.events import Graph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_RECENT = 512
_MOVES = 100  # the newest are held
_MOST_UNDECIDED = 256  # windows before the first clean one; more are the level's nature, and stay
_FADES_BY = 8  # samples are let go when they are one part in so many of their column


@dataclass(frozen=True, slots=True)
class Judgement:
    """A sample's verdict that changed after the fact."""

    index: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Move:
    """A level that became another one: what it was before."""

    running: int
    clean: int
    cycle_ms: float | None
    accept_len: float | None = None
    context_tokens: float | None = None  # per request


class Window(NamedTuple):
    """What one line delivered, and the time that it took."""

    tokens: float
    seconds: float
    cycles: float
    since_s: float  # between its stamp and the one before
    surely_s: float  # what of that the clock is sure of


class RankLevel:
    """Figures that grow with each sample of one rank at one B.

    Pooled sums hold every sample of the level, the columns only those that count.
    """

    __slots__ = (
        "_can_move",
        "accept_cycles",
        "accept_sum",
        "accepted",
        "clean",
        "delivery",
        "drafted",
        "faded",
        "faded_cycles",
        "faded_decode_s",
        "graphs",
        "idle_windows",
        "left_behind",
        "median",
        "moves",
        "outliers",
        "recent_context",
        "recent_drafting",
        "recent_prompt_tok_s",
        "recent_queue",
        "running",
        "samples",
        "stamped_s",
        "streak",
        "timed_cycles",
        "timed_ms",
        "undecided",
    )

    def __init__(self, running: int) -> None:
        self.running = running
        self.samples = 0
        self.outliers = 0
        self.clean = CleanColumns(running)
        self.moves: list[Move] = []
        self.faded = 0  # clean samples that the columns no longer hold
        self.left_behind = 0  # those of them that a move of the level has superseded
        self.faded_cycles = 0.0  # about so many of the delivered cycles are as old as they are
        self.faded_decode_s = 0.0  # and took so long, but for prefills
        self.accept_sum = 0.0  # of A x cycles over all samples that have an A
        self.accept_cycles = 0.0
        self.timed_ms = 0.0  # C x cycles over all samples that have a C
        self.timed_cycles = 0.0
        self.drafted = 0.0  # draft tokens that were proposed, where the log counts them
        self.accepted = 0.0
        self.delivery = Delivery()
        self.stamped_s = 0.0  # between the stamps of the delivered windows: their time without the throughput
        self.idle_windows = 0
        self.undecided: list[Window] | None = []  # all delivered ones, while no clean cycle tells which hold idle time
        self.graphs: Counter[int] = Counter()
        self.recent_context: deque[float] = deque(maxlen=_RECENT)  # of all samples: for a level without a clean one
        self.recent_queue: deque[float] = deque(maxlen=_RECENT)
        self.recent_prompt_tok_s: deque[tuple[float, float]] = deque(maxlen=_RECENT)  # with the decoded tok/s
        self.recent_drafting: deque[Drafting] = deque(maxlen=_RECENT)
        self._can_move = True
        self.median = RunningMedian(everything=self._known_cycles_ms)
        self.streak: list[Sample] = []  # outliers since the last sample that was none

    @property
    def clean_count(self) -> int:
        """Samples that count, held or not."""
        return self.faded + len(self.clean)

    @property
    def has_faded(self) -> bool:
        """The columns once held more than they do."""
        return self.faded + self.left_behind > 0

    @property
    def median_cycle_ms(self) -> float | None:
        """The median C of the clean samples so far."""
        return self.median.value

    @property
    def ordered_cycles_ms(self) -> Ranked | None:
        """C of the clean samples that have A, C and cycles; None when the running median does not hold just these."""
        if self.clean.has_own_cycles or not (self.clean.cycles.only or 0) > 0:
            return None
        return self.median.in_order

    def count(self, sample: Sample) -> None:
        """Note a sample whatever its verdict."""
        self.samples += 1
        self.graphs[sample.graph] += 1
        self.recent_context.append(sample.context_tokens)
        self.recent_queue.append(sample.queue)
        if sample.prompt_tok_s == sample.prompt_tok_s:
            self.recent_prompt_tok_s.append((sample.prompt_tok_s, sample.tok_s))
        if sample.by_position:
            self.recent_drafting.append(Drafting.of(sample))
        if sample.accept_len == sample.accept_len:  # not NaN
            self.accept_sum += sample.accept_len * sample.cycles
            self.accept_cycles += sample.cycles
        if sample.cycle_ms == sample.cycle_ms:
            self.timed_ms += sample.cycle_ms * sample.cycles
            self.timed_cycles += sample.cycles
        if sample.drafted == sample.drafted and sample.accepted == sample.accepted:
            self.drafted += sample.drafted
            self.accepted += sample.accepted

    def deliver(self, sample: Sample, since_s: float, surely_s: float) -> None:
        """Count a window into the delivered throughput.

        `since_s` lies between its stamp and the one before, `surely_s` is what of that the clock is sure of.
        """
        if not sample.window_s > 0 or sample.tokens != sample.tokens:
            return
        self.delivery.add(sample.tokens, sample.window_s, sample.window_cycles)
        if since_s == since_s:
            self.stamped_s += since_s
        if self.undecided is not None:
            self.undecided.append(Window(sample.tokens, sample.window_s, sample.window_cycles, since_s, surely_s))
            if len(self.undecided) > _MOST_UNDECIDED:
                self.undecided = None

    def decide(self) -> None:
        """The first clean cycle tells which of the windows so far held idle time, as rule 3 does from here on."""
        middle, windows = self.median.value, self.undecided
        if middle is None or windows is None:
            return
        self.undecided = None
        # The newest is the one whose cycle it is.
        longest_s = IDLE_FACTOR * middle / 1000  # for each cycle
        busy = [each for each in windows[:-1] if not (each.cycles > 0 and each.surely_s > each.cycles * longest_s)]
        if len(busy) == len(windows[:-1]):
            return
        self.idle_windows += len(windows) - 1 - len(busy)
        self.delivery, self.stamped_s = Delivery(), 0.0
        for window in [*busy, windows[-1]]:
            self.delivery.add(window.tokens, window.seconds, window.cycles)
            if window.since_s == window.since_s:
                self.stamped_s += window.since_s

    def admit(self, sample: Sample, changed: list[Judgement], *, can_move: bool = True) -> Rule:
        """Rule 6 on a sample that passed the others; verdicts that change with it go to `changed`.

        `can_move`: five outliers in a row are another level of speed, and what was before no longer counts.
        Else they join the others: the cycle of a whole request also holds the prompts of its neighbours, which
        no rule keeps out, so some slow ones in a row are the load and no other speed.
        """
        self._can_move = can_move
        middle, before = self.median.value, len(self.clean)
        if middle is not None and before >= OUTLIER_NEEDS and sample.cycle_ms > OUTLIER_FACTOR * middle:
            return self._set_aside(sample, changed)
        self._take(sample)
        # The fifth sample may be the first to show that it does not belong to the other four.
        if before + 1 == OUTLIER_NEEDS and self._judge_again(sample, changed) is CYCLE_OUTLIER:
            return self._set_aside(sample, changed)
        self.streak.clear()
        return CLEAN

    def decode_s(self, cycle_ms: float) -> float:
        """The time that the delivered cycles take at this cycle time, or at that of their own day."""
        return self.faded_decode_s + (self.delivery.cycles - self.faded_cycles) * cycle_ms / 1000

    def fade(self, first_index: int, first_at: float, least: int) -> bool:
        """Let go of the clean samples before this index or this time, but for the newest `least`; whether any went."""
        clean = self.clean
        if len(self.moves) > _MOVES:
            del self.moves[:-_MOVES]
        old = max(bisect_left(clean.index, first_index), bisect_left(clean.at, first_at))
        count = min(old, len(clean) - least)
        # Columns are moved to be shortened: rarely, then.
        if count <= 0 or count * _FADES_BY < len(clean):
            return False
        self._forget(count)
        return True

    def settle(self, least: int) -> None:
        """No more will come: hold the newest few."""
        for recent in (self.recent_context, self.recent_queue, self.recent_prompt_tok_s, self.recent_drafting):
            if len(self.clean):
                recent.clear()
        if (count := len(self.clean) - least) > 0:
            self._forget(count)

    def _forget(self, count: int) -> None:
        middle = self.median.value
        if middle is not None:
            cycles = (self.delivery.cycles - self.faded_cycles) * count / len(self.clean)
            self.faded_cycles += cycles
            self.faded_decode_s += cycles * middle / 1000
        self.faded += count
        self.clean.forget(count)
        self.median = self.median.of_fewer(self._known_cycles_ms())

    def _known_cycles_ms(self) -> npt.NDArray[np.float64]:
        cycles = self.clean.cycles_ms(slice(None))
        known: npt.NDArray[np.float64] = cycles[cycles == cycles]
        return known

    def _clean_accept_len(self) -> float | None:
        """A of the samples that count, weighted by cycles."""
        if (only := self.clean.accept_len.only) is not None:
            return only if only == only and len(self.clean) else None
        told = [(a, n) for a, n in zip(self.clean.accept_len, self.clean.cycles, strict=True) if a == a and n > 0]
        cycles = math.fsum(n for _, n in told)
        return math.fsum(a * n for a, n in told) / cycles if cycles > 0 else None

    def _set_aside(self, sample: Sample, changed: list[Judgement]) -> Rule:
        """Note an outlier; the last of five in a row moves the level."""
        self.streak.append(sample)
        self.outliers += 1
        return Rule.CYCLE_OUTLIER if len(self.streak) < MOVED_AFTER else self._move(sample, changed)

    def _take(self, sample: Sample) -> None:
        self.clean.append(sample)
        if sample.cycle_ms == sample.cycle_ms:
            self.median.add(sample.cycle_ms)

    def _judge_again(self, newest: Sample, changed: list[Judgement]) -> Rule:
        """With a fifth sample there is a median to judge all five by; the verdict on the newest is returned."""
        middle = self.median.value
        verdict = Rule.CLEAN
        if middle is None:
            return verdict
        for position in reversed(range(len(self.clean))):
            if not self.clean.cycle_ms(position) > OUTLIER_FACTOR * middle:
                continue
            index = self.clean.index[position]
            if index == newest.index:
                verdict = Rule.CYCLE_OUTLIER
            else:
                self.outliers += 1
                changed.append(Judgement(index, Rule.CYCLE_OUTLIER))
            self.clean.drop(position)
        self.median = RunningMedian(
            (value for value in self.clean.every_cycle_ms() if value == value), everything=self._known_cycles_ms
        )
        return verdict

    def _move(self, newest: Sample, changed: list[Judgement]) -> Rule:
        """Five outliers in a row are a new level of speed: only what comes from there on counts."""
        if not self._can_move:
            return self._join(newest, changed)
        context = median_of(sorted(tokens for tokens in self.clean.context_tokens if tokens == tokens))
        self.moves.append(Move(self.running, self.clean_count, self.median.value, self._clean_accept_len(), context))
        changed.extend(Judgement(index, Rule.SUPERSEDED) for index in self.clean.index)
        self.left_behind += self.faded
        self.faded = 0
        streak, self.streak = self.streak, []
        self.clean = CleanColumns(self.running)
        self.median = RunningMedian(everything=self._known_cycles_ms)
        self.outliers -= len(streak)
        for sample in streak:
            self._take(sample)
        again: list[Judgement] = []  # those were outliers already, so that nothing changes with it
        verdict = self._judge_again(newest, again)
        if verdict is Rule.CYCLE_OUTLIER:
            self.streak.append(newest)
            self.outliers += 1
        left_out = {judgement.index for judgement in again}
        changed.extend(
            Judgement(sample.index, Rule.CLEAN)
            for sample in streak
            if sample.index not in left_out and sample.index != newest.index
        )
        return verdict

    def _join(self, newest: Sample, changed: list[Judgement]) -> Rule:
        """The outliers count beside the others, but for those that are too slow even among themselves."""
        streak, self.streak = self.streak, []
        middle = RunningMedian(sample.cycle_ms for sample in streak).value or 0.0
        self.outliers -= len(streak)
        verdict = Rule.CLEAN
        for sample in streak:
            if sample.cycle_ms > OUTLIER_FACTOR * middle:
                self.outliers += 1
                if sample is newest:
                    verdict = Rule.CYCLE_OUTLIER
                continue
            self._take(sample)
            if sample is not newest:
                changed.append(Judgement(sample.index, Rule.CLEAN))
        return verdict

    @property
    def cuda_graph(self) -> str:
        """Graph state of the clean samples (of all, when none is clean): true, false, mixed or unknown."""
        return graph_word(set(self.clean.graph) if len(self.clean) else set(self.graphs))


def graph_word(seen: set[int]) -> str:
    """One word for what a set of samples says about their graphs."""
    told = seen - {Graph.UNKNOWN}
    if len(told) > 1:
        return "mixed"
    if not told:
        return "unknown"
    return "true" if Graph.TRUE in told else "false"
