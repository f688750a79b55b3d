"""The statistics of one run: its ranks, its samples in order, and what they come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from specmon.analysis.combine import combine_levels
from specmon.analysis.derive import sample_of
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.horizon import Horizon
from specmon.analysis.level import Judgement, RankLevel
from specmon.analysis.load import Band
from specmon.analysis.rank import RankStatistics
from specmon.analysis.rules import Cadence, Rule
from specmon.analysis.runfigures import run_figures, sum_of_known
from specmon.analysis.sample import Reading, Sample
from specmon.analysis.tags import missing_ranks, numbers_of, ranks_that_add_up
from specmon.analysis.verdicts import Verdicts
from specmon.events import Covers

if TYPE_CHECKING:
    from specmon.analysis.lines import Lines

FIGURES_AGE = 100  # a level's figures for the screen may lack one sample in so many while more are coming
_NEWEST_MOMENTS = 500  # of each level
_OFTEN = 4096  # samples between two looks for what is too old to be held
_REPLAYABLE = 512  # records that are kept so that an early line can be read in the light of a later one

# A method and what it was given. No closure: of many servers' first lines these are most of the objects there are.
Replay = tuple[Callable[..., object], *tuple[object, ...]]


class RunStatistics:
    """Judges the samples of one run as they come; `figures()` sums up at any moment.

    A line without an accept length is a baseline's until a line of the same run has one, and a line
    without a tag belongs to the only tagged rank until there are two. Both become clear within the first
    lines, so these are kept and read again when they do.
    """

    def __init__(
        self, cadence: Cadence | None = None, *, is_speculative: bool = False, horizon: Horizon | None = None
    ) -> None:
        """`horizon`: how much of the past is held sample by sample; None: all of it."""
        self.cadence = cadence or Cadence()
        self.is_speculative = is_speculative
        self.is_acceptance_told = True  # False: without an accept length a line is no baseline's, A is unknown
        self.figures_age = FIGURES_AGE
        self._idle: set[str] = set()  # ranks that said they have nothing to do, and are not missing
        self.do_ranks_add_up = False  # ranks without a DP number share the requests (attention DP)
        self.verdicts = Verdicts()
        self.revision = 0  # grows when a verdict changes after the fact
        self._ranks: dict[str, RankStatistics] = {}
        self._tags: list[str] = []  # as logged, in the order of their first line
        self._has_untagged = False  # lines without a tag were given to the only tagged rank
        self._early: list[Replay] | None = []
        self._counted: tuple[str, ...] | None = None
        self._horizon = horizon
        self._next_look = _OFTEN  # the sample with which to look for what lies beyond the horizon
        self._fadings = 0
        self._levels: dict[int, tuple[tuple[object, ...], LevelFigures]] = {}  # as they were told last

    def add(self, tag: str, reading: Reading) -> Rule:
        """Judge one decode line."""
        self._register(tag)
        if self._early is not None:
            self._remember((RunStatistics.add, tag, reading))
        rank = (self._ranks.get(tag) if tag else None) or self._rank(tag)
        sample = self._sample(reading)
        if not rank.samples:
            self._counted = None
        changed: list[Judgement] = []
        rule = rank.add(sample, self.cadence, changed)
        self.verdicts.append(rule)
        rank.verdicts[rule] += 1
        if changed:
            for judgement in changed:
                self._change(rank, judgement)
            self.revision += 1
        if sample.index + 1 >= self._next_look:
            self._look_for_old(reading.at)
        return rule

    def add_many(self, lines: Lines) -> bool:
        """Judge many decode lines and the prefills between them; False, and nothing done, if they must come singly."""
        cadence = self.cadence
        if self._early is not None or cadence.covers is not Covers.WINDOW or cadence.warm_up_s:
            return False
        if lines.has_drafts and not self.is_speculative:
            return False
        decoding = {number: self._known_rank(lines.tags[number]) for number in lines.decode_ranks}
        prefilling = {number: self._known_rank(lines.tags[number]) for number in lines.prefill_ranks}
        if any(rank is None or not rank.samples for rank in decoding.values()) or None in prefilling.values():
            return False
        from specmon.analysis.batch import add_lines

        first = len(self.verdicts)
        if not self.is_speculative:
            lines.take_as_baseline()
        ranks = {number: rank for number, rank in (decoding | prefilling).items() if rank is not None}
        make = partial(self._of_lines, lines, first)
        rules, changed = add_lines(lines, ranks, first, cadence, make)
        self.verdicts.extend(rules)
        for rank, judgement in changed:
            self._change(rank, judgement)
        self.revision += bool(changed)
        self._look_for_old(float(lines.batch.at[-1]))
        return True

    def settle(self) -> None:
        """No more will come, and the figures have been asked for: hold only a few samples of a live run."""
        if self._horizon is not None:
            self._early = None
            self.verdicts.forget(len(self.verdicts) - _OFTEN)  # the charts may still show some of the newest
            for rank in self._ranks.values():
                rank.settle(self._horizon)

    def _look_for_old(self, at: float) -> None:
        """Let go what lies beyond the horizon."""
        horizon, count = self._horizon, len(self.verdicts)
        if horizon is None or count < self._next_look:
            return
        self._next_look = count + _OFTEN
        first = count - horizon.samples
        self.verdicts.forget(first)
        faded = [rank.fade(first, at - horizon.seconds, horizon) for rank in self._ranks.values()]
        self._fadings += any(faded)

    def _of_lines(self, lines: Lines, first: int, position: int) -> Sample:
        sample = self._sample(lines.reading(position))
        sample.index = first + position
        return sample

    def _change(self, rank: RankStatistics, judgement: Judgement) -> None:
        before = self.verdicts.of(judgement.index)
        if before is None:  # it counted, unless it does so only now
            before = Rule.CYCLE_OUTLIER if judgement.rule is Rule.CLEAN else Rule.CLEAN
        rank.verdicts[before] -= 1
        rank.verdicts[judgement.rule] += 1
        self.verdicts.change(judgement.index, judgement.rule)

    def totals(self, lines: Lines) -> Iterator[float | None]:
        """For each of the lines that will be added: what `newest_tok_s` would then answer."""
        counted = self.counted_ranks
        newest = {tag: self._ranks[tag].last_tok_s for tag in counted if self._ranks[tag].samples}
        tags = {number: rank.tag for number in lines.decode_ranks if (rank := self._known_rank(lines.tags[number]))}
        for number, tok_s in zip(lines.rank.tolist(), lines.batch.tok_s.tolist(), strict=True):
            tag = tags.get(number)
            if tag in counted:
                newest[tag] = tok_s
            yield sum_of_known(list(newest.values())) if tag in counted else None

    def _known_rank(self, tag: str) -> RankStatistics | None:
        if tag and tag not in self._tags:
            return None
        if not tag and len(self._tags) == 1:
            tag = self._tags[0]
        return self._ranks.get(tag)

    def prefill(self, tag: str, new_tokens: float) -> None:
        """A prefill batch of one rank."""
        self._register(tag)
        if self._early is not None:
            self._remember((RunStatistics.prefill, tag, new_tokens))
        self._rank(tag).prefill(new_tokens)

    def draft(self, tag: str, rounds: float, accept_len: float) -> None:
        """Draft rounds of one rank that no decode line of it covers."""
        self._register(tag)
        if self._early is not None:
            self._remember((RunStatistics.draft, tag, rounds, accept_len))
        self._rank(tag).draft(rounds, accept_len)
        self.revision += 1

    def went_idle(self, tag: str) -> None:
        """A rank says that it serves nothing: it is there, though it may give no line else."""
        if tag and tag not in self._idle:
            self._idle.add(tag)
            self.revision += 1

    def interrupt(self, tag: str = "") -> None:
        """A flush of one rank, or a gap in the whole stream."""
        if self._early is not None:
            self._remember((RunStatistics.interrupt, tag))
        for rank in self._touched(tag):
            rank.interrupt()

    def retract(self, tag: str = "") -> None:
        """A retraction, abort or crash of one rank, or of all when no rank is named."""
        if self._early is not None:
            self._remember((RunStatistics.retract, tag))
        for rank in self._touched(tag):
            rank.retract()

    def turn_speculative(self) -> None:
        """From the first line with a draft figure on: a line without an accept length lacks it."""
        if not self.is_speculative:
            self.is_speculative = True
            self._read_again()

    def take_over(self, later: RunStatistics) -> bool:
        """Read another run's lines as the continuation of this one; False when they are no longer held."""
        if later._early is None:
            return False
        if later.is_speculative:
            self.turn_speculative()
        for call, *given in later._early:
            call(self, *given)
        self.revision += 1
        return True

    @property
    def samples(self) -> int:
        """Decode lines so far, all ranks."""
        return len(self.verdicts)

    @property
    def prefill_lines(self) -> int:
        """Prefill lines so far, all ranks."""
        return sum(rank.prefill_batches for rank in self._ranks.values())

    @property
    def cycles(self) -> float:
        """Decode passes of all samples whose accept length is known."""
        return math.fsum(level.accept_cycles for level in self._every_level())

    @property
    def mean_cycle_ms(self) -> float | None:
        """The mean C over the passes of all samples, clean or not."""
        levels = list(self._every_level())
        timed = math.fsum(level.timed_cycles for level in levels)
        return math.fsum(level.timed_ms for level in levels) / timed if timed > 0 else None

    def _every_level(self) -> Iterator[RankLevel]:
        return (level for rank in self._ranks.values() for level in rank.levels.values())

    @property
    def tags(self) -> tuple[str, ...]:
        """Rank tags as logged, of ranks that gave decode or prefill lines."""
        return tuple(tag for tag in self._tags if tag)

    def level_of(self, tag: str, running: int) -> RankLevel | None:
        """One rank's samples at one B."""
        rank = self._ranks.get(tag)
        return None if rank is None else rank.levels.get(running)

    @property
    def superseded(self) -> int:
        """Samples of the ranks that add up which counted until their level moved."""
        ranks = [self._ranks[tag] for tag in self.counted_ranks]
        held = sum(rank.verdicts[Rule.SUPERSEDED] for rank in ranks)
        return held + sum(level.left_behind for rank in ranks for level in rank.levels.values())

    def has_faded(self, running: int) -> bool:
        """Whether some rank no longer holds all that it measured at one B."""
        levels = (rank.levels.get(running) for rank in self._ranks.values())
        return any(level is not None and level.has_faded for level in levels)

    @property
    def _windows_hold_prefill(self) -> bool:
        """The time of a request or of a step holds no prompt, so what lies beyond the median cycle is noise."""
        return self.cadence.covers is Covers.WINDOW

    @property
    def knows_acceptance(self) -> bool:
        """The log tells A, or that there is no speculation."""
        return self.is_speculative or self.is_acceptance_told

    @property
    def counted_ranks(self) -> tuple[str, ...]:
        """The ranks whose figures make up the server's: of each group one that decodes, else one that prefills.

        Lines without a tag beside several tagged ranks are some of theirs, so they are no rank more.
        """
        if self.do_ranks_add_up:
            return tuple(self._ranks)
        if self._counted is None:  # asked for with every sample, but new only with another rank
            self._counted = self._choose_ranks()
        return self._counted

    def _choose_ranks(self) -> tuple[str, ...]:
        decoding = [tag for tag, rank in self._ranks.items() if rank.samples]
        chosen = ranks_that_add_up([tag for tag in decoding if tag] or decoding)
        if len(decoding) == len(self._ranks):
            return chosen
        groups = {numbers_of(tag).get("DP") for tag in chosen}
        silent = [tag for tag in self._ranks if tag not in decoding and numbers_of(tag).get("DP") not in groups]
        return chosen + ranks_that_add_up([tag for tag in silent if tag] or ([] if chosen else silent))

    def newest_tok_s(self, tag: str) -> float | None:
        """The server's speed with the newest line of every rank that adds up; None when `tag` is a duplicate's."""
        counted, ranks = self.counted_ranks, self._ranks
        if len(ranks) > 1 and tag not in counted:
            return None
        known = [tok_s for each in counted if (tok_s := ranks[each].last_tok_s) is not None]  # None before its first
        return math.fsum(known) if known else None

    def figures(self, *, is_exact: bool = True) -> RunFigures:
        """All that the samples so far come to. For the screen a level may lag by a sample in a hundred."""
        counted = [self._ranks[tag] for tag in self.counted_ranks]
        # A tagged rank that only prefills is one of the run's: it decodes in no line, so no sum is whole.
        levels = [
            self._level(running, samples, counted, is_exact=is_exact)
            for running, samples in self.samples_by_level.items()
        ]
        return run_figures(
            counted,
            tuple(levels),
            samples=self.samples,
            ranks=self.tags,
            ranks_missing=missing_ranks({*self._ranks, *self._idle}, are_all_wanted=self.do_ranks_add_up),
            is_speculative=self.is_speculative,
            knows_acceptance=self.knows_acceptance,
            windows_hold_prefill=self._windows_hold_prefill,
        )

    def band(self, band: Band) -> LevelFigures:
        """All levels of a band as one, with figures per request."""
        from specmon.analysis.band import combine_band  # numpy, for those who need a band

        counted = [self._ranks[tag] for tag in self.counted_ranks]
        ranks = [
            [level for running, level in sorted(rank.levels.items()) if max(band.low, 1) <= running <= band.high]
            for rank in counted
        ]
        samples = sum(
            level.samples
            for rank in self._ranks.values()
            for running, level in rank.levels.items()
            if band.low <= running <= band.high
        )
        return self._as_known(combine_band(band, ranks, samples=samples))

    def moments(self, low: int = 1, high: int | None = None) -> list[float]:
        """When the newest clean samples came, of all levels from `low` to `high` requests; in order, s."""
        found: list[float] = []
        for tag in self.counted_ranks:
            for running, level in self._ranks[tag].levels.items():
                if low <= running and (high is None or running <= high):
                    at = level.clean.at
                    found += (at[place] for place in range(max(0, len(at) - _NEWEST_MOMENTS), len(at)))
        return sorted(each for each in found if each == each)

    @property
    def is_lagging(self) -> bool:
        """Whether the figures that were asked for last lack samples of some level."""
        return any(
            running in self._levels and self._levels[running][1].samples != samples
            for running, samples in self.samples_by_level.items()
        )

    @property
    def samples_by_level(self) -> dict[int, int]:
        """How many decode lines of all ranks came at each B, lowest first."""
        found: Counter[int] = Counter()
        for rank in self._ranks.values():
            found.update({running: level.samples for running, level in rank.levels.items() if running > 0})
        return dict(sorted(found.items()))

    def _level(self, running: int, samples: int, adding: list[RankStatistics], *, is_exact: bool) -> LevelFigures:
        """Worked out anew only where something has come: a level changes with its own samples alone."""
        tags = tuple(rank.tag for rank in adding)
        key = (self.revision, self._fadings, tags, self.knows_acceptance, self._windows_hold_prefill)
        held = self._levels.get(running)
        if held is not None and held[0] == key:
            new = samples - held[1].samples
            if not new or (not is_exact and 0 < new < held[1].samples // self.figures_age):
                return held[1]
        parts = [(rank.tag, rank.levels.get(running)) for rank in adding]
        level = self._as_known(combine_levels(running, parts, samples=samples))
        self._levels[running] = key, level
        return level

    def _as_known(self, level: LevelFigures) -> LevelFigures:
        """Without what this kind of log cannot tell."""
        if not self._windows_hold_prefill:
            level = replace(level, prefill_share=None)
        return level if self.knows_acceptance else replace(level, accept_len=None)

    def _remember(self, record: Replay) -> None:
        if self._early is not None:
            self._early.append(record)
            if len(self._early) > _REPLAYABLE:
                self._early = None

    def _sample(self, reading: Reading) -> Sample:
        index, is_told = len(self.verdicts), self.is_acceptance_told
        return sample_of(reading, index, self.cadence, is_speculative=self.is_speculative, is_acceptance_told=is_told)

    def _rank(self, tag: str) -> RankStatistics:
        if not tag and len(self._tags) == 1:
            tag = self._tags[0]
            self._has_untagged = True
        rank = self._ranks.get(tag)
        if rank is None:
            rank = self._ranks[tag] = RankStatistics(tag)
            self._counted = None
        return rank

    def _register(self, tag: str) -> None:
        """Learn a tag, and read the lines without one again if that changes whose they are."""
        if not tag or tag in self._tags:
            return
        self._tags.append(tag)
        if len(self._tags) == 1 and "" in self._ranks:
            rank = self._ranks.pop("")
            rank.tag = tag
            self._ranks[tag] = rank
            self._counted = None
            self._has_untagged = True
        elif len(self._tags) == 2 and self._has_untagged:
            self._read_again()

    def _touched(self, tag: str) -> list[RankStatistics]:
        """The ranks that an event of one rank concerns: itself, else all of its data-parallel rank."""
        if tag and tag in self._ranks:
            return [self._ranks[tag]]
        group = numbers_of(tag).get("DP")
        if group is None:
            return list(self._ranks.values())
        return [rank for rank in self._ranks.values() if numbers_of(rank.tag).get("DP") == group]

    def _read_again(self) -> None:
        if self._early is None:
            return
        records, self._early = self._early, []
        self._ranks.clear()
        self._counted = None
        self.verdicts.clear()
        self._has_untagged = False
        for call, *given in records:
            call(self, *given)
        self.revision += 1
