"""One rank of a run: judges its samples one by one by the clean-sample rules 1 to 7."""

from __future__ import annotations

import math
from collections import Counter

from specmon.analysis.horizon import Horizon
from specmon.analysis.level import Judgement, RankLevel
from specmon.analysis.median import RunningMedian
from specmon.analysis.rules import CLEAN, IDLE_FACTOR, REQUEST, STEP, WINDOW, Cadence, Rule, changes_batch, resolution_s
from specmon.analysis.sample import Sample

_MOST_GAPS = 1 << 17  # of which the usual one is the median: two weeks of lines every ten seconds


class RankStatistics:
    """What one rank measured, level by level, and what lay in its open window."""

    __slots__ = (
        "_gaps",
        "accept_cycles",
        "accept_sum",
        "after_prefill",
        "first_tok_s",
        "gap_in_window",
        "last_at",
        "last_running",
        "last_tok_s",
        "levels",
        "prefill_batches",
        "prefill_in_window",
        "prefill_tokens",
        "retraction_in_window",
        "samples",
        "tag",
        "verdicts",
    )

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.samples = 0
        self.verdicts: Counter[int] = Counter()
        self.first_tok_s: float | None = None
        self.last_tok_s: float | None = None
        self.levels: dict[int, RankLevel] = {}
        self.accept_sum = 0.0  # of A x draft rounds, over samples that have an A
        self.accept_cycles = 0.0  # draft rounds
        self.after_prefill = 0  # samples with a prefill since the previous one (or the start)
        self.prefill_batches = 0
        self.prefill_tokens = 0.0
        self.last_at = math.nan
        self.last_running = 0
        self._gaps = RunningMedian()  # s between samples, of an engine whose lines come by the clock
        self.prefill_in_window = False
        self.gap_in_window = False
        self.retraction_in_window = False

    def level(self, running: int) -> RankLevel:
        """The samples at one B."""
        found = self.levels.get(running)
        if found is None:
            found = self.levels[running] = RankLevel(running)
        return found

    def prefill(self, new_tokens: float) -> None:
        """A prefill batch ran since the last sample."""
        self.prefill_in_window = True
        self.prefill_batches += 1
        if new_tokens == new_tokens:
            self.prefill_tokens += new_tokens

    def draft(self, rounds: float, accept_len: float) -> None:
        """Draft rounds that no sample covers: they enter the pooled accept length alone."""
        if rounds > 0 and accept_len == accept_len:
            self.accept_sum += accept_len * rounds
            self.accept_cycles += rounds

    def interrupt(self) -> None:
        """A flush or a gap in the stream lies in the open window."""
        self.gap_in_window = True

    def retract(self) -> None:
        """A retraction, an abort or a crash lies in the open window."""
        self.retraction_in_window = True

    def add(self, sample: Sample, cadence: Cadence, changed: list[Judgement]) -> Rule:
        """Judge a sample; verdicts of earlier ones that change with it are appended to `changed`."""
        level = self.levels.get(sample.running) or self.level(sample.running)
        level.count(sample)
        covers, is_by_clock = cadence.covers, cadence.is_by_clock
        # Such an engine logs no prefill: its lines tell how much of both was done. A window without a single
        # token, though requests run, is a prompt that takes longer than that.
        if sample.prompt_tok_s > sample.tok_s or (is_by_clock and sample.tok_s <= 0):
            self.prefill_in_window = True
        if sample.accept_len == sample.accept_len:
            self.accept_sum += sample.accept_len * sample.rounds
            self.accept_cycles += sample.rounds
        self.samples += 1
        if covers is REQUEST:
            # The server times each answer by itself: what lies between two of them is in neither.
            self.prefill_in_window = self.gap_in_window = False
        self.after_prefill += self.prefill_in_window
        is_first = self.samples == 1
        gap_s = sample.at - self.last_at
        surely_s = gap_s - resolution_s(self.last_at, sample.at)  # what of that the clock is sure of
        is_idle = not is_first and self._spans_idle_time(sample, level, cadence, surely_s)
        if is_by_clock:
            self._measure_window(sample, gap_s)
        if is_idle:
            level.idle_windows += 1
        elif not is_first:
            level.deliver(sample, gap_s, surely_s)
        rule = self._first_rule(sample, is_first, is_idle, cadence)
        if rule is CLEAN:
            rule = level.admit(sample, changed, can_move=covers is not REQUEST)
            if level.undecided is not None and covers is WINDOW:
                level.decide()
        if is_first:
            self.first_tok_s = sample.tok_s
        self.last_tok_s = sample.tok_s
        self.last_at = sample.at
        self.last_running = sample.running
        self.prefill_in_window = self.gap_in_window = self.retraction_in_window = False
        return rule

    def _first_rule(self, sample: Sample, is_first: bool, is_idle: bool, cadence: Cadence) -> Rule:
        """Rules 1 to 5 and 7: what one sample and its window tell by themselves."""
        if is_first:
            return Rule.FIRST_AFTER_START
        if self.prefill_in_window:
            return Rule.AFTER_PREFILL
        if is_idle:
            return Rule.AFTER_IDLE
        if changes_batch(sample.running, self.last_running):
            return Rule.BATCH_CHANGED
        if self.retraction_in_window:
            return Rule.RETRACTION
        if cadence.warm_up_s and cadence.ready_at is not None and sample.at < cadence.ready_at + cadence.warm_up_s:
            return Rule.WARM_UP
        return CLEAN

    def _spans_idle_time(self, sample: Sample, level: RankLevel, cadence: Cadence, surely_s: float) -> bool:
        """Rule 3, by the clock: the throughput itself cannot tell, it already contains the idle time."""
        if self.gap_in_window:
            return True
        if cadence.is_by_clock:
            usual = self._gaps.value
            return usual is not None and surely_s > IDLE_FACTOR * usual
        if sample.tok_s <= 0:
            return True
        if cadence.covers in (REQUEST, STEP):
            return False  # timed by the server itself, whatever its clock showed in between
        middle = level.median_cycle_ms
        if middle is None:
            return False
        # A line that tells how many cycles it covers is held to those.
        cycles = sample.cycles if sample.cycles > 0 else cadence.cycles_per_sample
        expected_s = cycles * middle / 1000
        return surely_s > IDLE_FACTOR * expected_s

    def fade(self, first_index: int, first_at: float, horizon: Horizon) -> bool:
        """Let go what is older in every level; whether there was anything."""
        if len(self._gaps) > _MOST_GAPS:
            self._gaps = self._gaps.thinned()
        faded = [level.fade(first_index, first_at, horizon.level_samples) for level in self.levels.values()]
        return any(faded)

    def settle(self, horizon: Horizon) -> None:
        """No more will come, and the figures have been worked out."""
        for level in self.levels.values():
            level.settle(horizon.settled_samples)
        self._gaps = RunningMedian()

    def _measure_window(self, sample: Sample, gap: float) -> None:
        """What time a line covers that comes by the clock, and what was done in it."""
        usual = self._gaps.value
        if (longest := sample.window_s) == longest:
            # After an idle time the line covers one turn of the clock all the same.
            lines_apart = gap if usual is None else usual
            sample.window_s = min(longest, lines_apart) if lines_apart > 0 else longest
        else:
            sample.window_s = gap if usual is None else min(gap, IDLE_FACTOR * usual)
        sample.tokens = sample.tok_s * sample.window_s
        if sample.running > 0:
            sample.window_cycles = sample.tokens / (sample.accept_len * sample.running)
        else:
            sample.window_cycles = 0.0
        if gap > 0:
            self._gaps.add(gap)
