"""Which samples count: each rule, their order, and verdicts that change after the fact."""

from __future__ import annotations

import math

import pytest

from specmon.analysis.rules import Cadence, Rule

from .runs import Recorder

CLEAN = Rule.CLEAN


def test_first_sample_of_each_rank_is_left_out() -> None:
    run = Recorder()
    verdicts = [run.sample(tag=tag) for tag in ("DP0", "DP1", "DP0", "DP1")]
    assert verdicts == [Rule.FIRST_AFTER_START, Rule.FIRST_AFTER_START, CLEAN, CLEAN]


def test_prefill_spoils_the_window_of_its_own_rank_only() -> None:
    run = Recorder()
    for tag in ("DP0", "DP1"):
        run.sample(tag=tag)
    run.run.prefill("DP0", 512)
    assert [run.sample(tag="DP0"), run.sample(tag="DP1"), run.sample(tag="DP0")] == [Rule.AFTER_PREFILL, CLEAN, CLEAN]


def test_idle_time_shows_in_the_clock() -> None:
    run = Recorder()
    run.samples(3)
    assert run.sample(idle_s=30) is Rule.AFTER_IDLE
    assert run.sample() is CLEAN


@pytest.mark.parametrize(
    ("before", "at", "rule"),
    [
        (2000.0, 2001.0, CLEAN),  # stamps without a fraction: the gap may be next to nothing
        (2000.0, 2002.0, Rule.AFTER_IDLE),
        (2000.4, 2001.0, CLEAN),  # one of each kind
        (2000.0, 2001.1, CLEAN),
        (2000.0, 2001.2, Rule.AFTER_IDLE),
        (2000.4, 2000.5, CLEAN),
        (2000.4, 2000.6, Rule.AFTER_IDLE),
    ],
)
def test_what_the_two_stamps_cannot_tell_is_taken_off_the_gap(before: float, at: float, rule: Rule) -> None:
    run = Recorder()
    run.samples(3, 1000.0)  # windows of 0.04 s: three of them are 0.12 s
    run.sample(1000.0, at=before)
    assert run.sample(1000.0, at=at) is rule


def test_without_a_clean_sample_no_idle_time_is_judged() -> None:
    run = Recorder()
    run.sample()
    assert run.sample(idle_s=1000) is CLEAN


@pytest.mark.parametrize("busy", [0, 1, 3])
def test_idle_time_before_the_first_clean_sample_is_no_delivery(busy: int) -> None:
    run = Recorder()
    run.sample()
    for idle_s in (*(0.0,) * busy, 90.0):
        run.run.prefill("", 512)
        assert run.sample(idle_s=idle_s) is Rule.AFTER_PREFILL

    def delivered() -> tuple[int, int]:
        level = run.run.figures().levels[0].basis
        return level.windows, level.idle_windows

    assert delivered() == (busy + 1, 0)  # nothing tells yet how long a cycle is
    assert run.sample() is CLEAN
    assert delivered() == (busy + 1, 1)
    run.run.prefill("", 512)
    run.sample(idle_s=90.0)
    assert delivered() == (busy + 1, 2)


def test_logged_interval_widens_the_expected_window() -> None:
    run = Recorder()
    run.run.cadence = Cadence(cycles_per_sample=4000)
    run.samples(3)
    assert run.sample(idle_s=30) is CLEAN


@pytest.mark.parametrize("tag", ["", "TP0"])
def test_gap_counts_as_idle_time(tag: str) -> None:
    run = Recorder()
    run.samples(2, tag="TP0")
    run.run.interrupt(tag)
    assert run.sample(tag="TP0") is Rule.AFTER_IDLE


def test_zero_throughput_is_idle_time() -> None:
    run = Recorder()
    run.samples(2)
    assert run.sample(0.0) is Rule.AFTER_IDLE


@pytest.mark.parametrize(
    ("before", "now", "rule"),
    [
        (1, 2, Rule.BATCH_CHANGED),
        (19, 20, Rule.BATCH_CHANGED),
        (20, 19, CLEAN),
        (24, 23, CLEAN),
        (100, 95, CLEAN),
        (100, 94, Rule.BATCH_CHANGED),
        (1, 0, Rule.BATCH_CHANGED),
    ],
)
def test_batch_may_differ_by_a_twentieth(before: int, now: int, rule: Rule) -> None:
    run = Recorder()
    run.samples(2, running=before)
    assert run.sample(running=now) is rule


def test_retraction_spoils_the_window() -> None:
    run = Recorder()
    run.samples(2, tag="TP0")
    run.run.retract("TP0")
    assert [run.sample(tag="TP0"), run.sample(tag="TP0")] == [Rule.RETRACTION, CLEAN]


def test_crash_of_an_unseen_rank_concerns_its_scheduler() -> None:
    run = Recorder()
    for tag in ("DP0 TP0", "DP1 TP4"):
        run.samples(2, tag=tag)
    run.run.retract("DP1 TP5")
    assert [run.sample(tag="DP0 TP0"), run.sample(tag="DP1 TP4")] == [CLEAN, Rule.RETRACTION]


def test_first_rule_that_holds_counts() -> None:
    run = Recorder()
    run.samples(2)
    run.run.prefill("", 8)
    run.run.retract()
    assert run.sample(running=5, idle_s=100) is Rule.AFTER_PREFILL


def test_warm_up_is_left_out_when_asked() -> None:
    run = Recorder()
    run.run.cadence = Cadence(ready_at=run.at, warm_up_s=1.0)
    assert run.samples(4) == [Rule.FIRST_AFTER_START, Rule.WARM_UP, CLEAN, CLEAN]


def test_outlier_needs_five_clean_samples() -> None:
    run = Recorder()
    run.samples(4)
    assert run.sample(50.0) is CLEAN
    run.samples(1)  # the fifth clean sample: now there is a median to judge the earlier ones by
    assert run.verdicts[4] is Rule.CYCLE_OUTLIER
    assert run.run.figures().excluded["cycle_outlier"] == 1
    run.samples(2)
    assert run.sample(60.0) is Rule.CYCLE_OUTLIER
    assert run.sample(500.0) is CLEAN  # one-sided: a window can only be diluted


def test_fifth_sample_can_be_the_outlier_itself() -> None:
    run = Recorder()
    run.samples(5)
    assert run.sample(50.0) is Rule.CYCLE_OUTLIER


def test_five_outliers_in_a_row_move_the_level() -> None:
    run = Recorder()
    run.samples(11)
    assert run.samples(4, 50.0) == [Rule.CYCLE_OUTLIER] * 4
    assert run.sample(50.0) is CLEAN
    level = run.run.figures().levels[0]
    assert (level.clean, level.tok_s.median) == (5, 50.0)
    assert level.moves[0].clean == 10
    assert level.moves[0].cycle_ms == pytest.approx(10.0)
    assert run.run.figures().excluded["cycle_outlier"] == 0
    assert run.verdicts[1:11] == [Rule.SUPERSEDED] * 10
    assert run.sample(50.0) is CLEAN


def test_level_moves_although_it_never_had_five_clean_samples() -> None:
    run = Recorder()
    run.samples(5)  # four of them are clean
    assert run.samples(4, 50.0) == [Rule.CYCLE_OUTLIER] * 4
    assert run.sample(50.0) is CLEAN
    level = run.run.figures().levels[0]
    assert (level.clean, level.tok_s.median) == (5, 50.0)
    assert run.run.figures().excluded["cycle_outlier"] == 0


def test_a_usual_sample_breaks_the_row() -> None:
    run = Recorder()
    run.samples(11)
    run.samples(4, 50.0)
    run.sample(100.0)
    assert run.samples(4, 50.0) == [Rule.CYCLE_OUTLIER] * 4


def test_line_without_accept_length_is_read_again_once_another_has_one() -> None:
    run = Recorder()
    run.samples(2)
    run.run.turn_speculative()
    run.sample(200.0, accept=2.0)
    figures = run.run.figures()
    assert figures.accept_len == 2.0
    assert figures.drafts == 40
    cycles = [level.cycle_ms for level in figures.levels]
    assert cycles == [pytest.approx(10.0)]  # of the one line that has an accept length


def test_lines_without_a_tag_belong_to_the_only_rank() -> None:
    run = Recorder()
    run.sample(tag="TP0")
    assert run.sample(tag="") is CLEAN
    assert run.run.figures().ranks == ("TP0",)


def test_lines_without_a_tag_stay_alone_among_several_ranks() -> None:
    run = Recorder()
    run.sample(tag="DP0")
    run.sample(tag="")
    run.sample(tag="DP1")
    assert run.verdicts == [Rule.FIRST_AFTER_START] * 3


def test_missing_time_judges_no_gap() -> None:
    run = Recorder()
    run.samples(3)
    assert run.sample(at=math.nan) is CLEAN
