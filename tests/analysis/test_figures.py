"""What the samples of a run come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.figures import RunFigures

from .runs import Recorder


def test_decode_throughput_pools_accept_length_and_takes_the_median_cycle() -> None:
    run = Recorder(is_speculative=True)
    run.sample(100.0, accept=2.0)
    for accept in (1.5, 2.0, 4.0):
        run.sample(1000 * accept / 20.0, accept=accept)  # every cycle takes 20 ms
    level = run.run.figures().levels[0]
    assert level.cycle_ms == pytest.approx(20.0)
    assert level.accept_len == pytest.approx(2.5)
    assert level.decode_tok_s == pytest.approx(125.0)
    assert level.tok_s.median == pytest.approx(100.0)  # the median of the lines is biased; the estimate is not


def test_delivered_throughput_weighs_each_line_by_its_time() -> None:
    run = Recorder()
    run.sample(1.0)  # the first one counts nowhere
    run.sample(100.0)
    run.run.prefill("", 100)
    run.sample(50.0)
    figures = run.run.figures()
    assert figures.delivered_tok_s == pytest.approx(80 / (40 / 100 + 40 / 50))
    assert figures.levels[0].delivered_tok_s == pytest.approx(figures.delivered_tok_s)
    assert figures.prefill_share == pytest.approx(1 - 0.8 / 1.2)


def test_idle_windows_are_not_delivered_whatever_else_they_are() -> None:
    run = Recorder()
    run.samples(3)
    run.run.prefill("", 100)
    run.sample(1.0, idle_s=100)
    assert run.run.figures().excluded["after_prefill"] == 1
    assert run.run.figures().delivered_tok_s == pytest.approx(100.0)


def test_level_without_clean_sample_keeps_only_its_accept_length() -> None:
    run = Recorder(is_speculative=True)
    run.sample(100.0, accept=2.0, running=4)
    level = run.run.figures().levels[0]
    assert (level.accept_len, level.decode_tok_s, level.cycle_ms, level.delivered_tok_s) == (2.0, None, None, None)
    assert level.tok_s.median is None
    assert level.ranks_without_clean == ("",)


def _ranks(tags: list[str], speeds: list[float], rounds: int = 3) -> RunFigures:
    run = Recorder()
    for _ in range(rounds):
        for tag, tok_s in zip(tags, speeds, strict=True):
            run.sample(tok_s, tag=tag, at=run.at)
        run.at += 1
    return run.run.figures()


def test_data_parallel_ranks_add_up() -> None:
    figures = _ranks(["DP0 TP0", "DP1 TP4"], [100.0, 80.0])
    level = figures.levels[0]
    assert level.tok_s.median == pytest.approx(180.0)
    assert level.decode_tok_s == pytest.approx(180.0)
    assert level.delivered_tok_s == pytest.approx(180.0)
    assert (figures.first_tok_s, figures.last_tok_s) == (180.0, 180.0)
    assert level.tok_s.mad == 0.0  # the ranks share their instants
    assert figures.ranks == ("DP0 TP0", "DP1 TP4")


def test_ranks_with_their_own_instants_have_no_common_spread() -> None:
    run = Recorder()
    for tag in ("DP0", "DP1") * 4:
        run.sample(tag=tag)
    spread = run.run.figures().levels[0].tok_s
    assert spread.median == 200.0
    assert (spread.mad, spread.ci95) == (None, None)


def test_a_rank_without_a_clean_sample_leaves_the_sum_unknown() -> None:
    run = Recorder()
    for tag in ("DP0", "DP1", "DP0", "DP0"):
        run.sample(tag=tag)
    level = run.run.figures().levels[0]
    assert (level.clean, level.samples) == (2, 4)
    assert level.decode_tok_s is None
    assert level.ranks_without_clean == ("DP1",)


def test_a_rank_that_only_prefills_leaves_the_sum_unknown() -> None:
    run = Recorder()
    run.samples(3, tag="DP0")
    run.run.prefill("DP1", 1)
    level = run.run.figures().levels[0]
    assert (level.clean, level.decode_tok_s, level.ranks_without_clean) == (2, None, ("DP1",))


def test_untagged_lines_beside_several_ranks_are_no_rank_more() -> None:
    run = Recorder()
    for tag in ("DP0", "DP1", "") * 3:
        run.sample(tag=tag, at=run.at)
    figures = run.run.figures()
    assert figures.last_tok_s == 200.0
    assert figures.levels[0].decode_tok_s == pytest.approx(200.0)


def test_a_rank_that_decodes_counts_before_one_that_only_prefills() -> None:
    run = Recorder()
    run.run.prefill("TP0", 1)
    run.run.prefill("", 1)
    run.samples(3, tag="TP1")
    run.samples(3, tag="TP2")
    assert run.run.figures().levels[0].decode_tok_s == pytest.approx(100.0)


def test_a_gap_in_the_stream_is_every_ranks() -> None:
    run = Recorder()
    for tag in ("", "TP0", "TP1") * 2:
        run.sample(tag=tag)
    run.run.interrupt()
    assert [run.sample(tag=tag).word for tag in ("", "TP0", "TP1")] == ["after_idle"] * 3


@pytest.mark.parametrize(
    ("tags", "counted"),
    [
        (["PP0", "PP1", "PP2"], 70.0),  # stages report the same work: the last one counts
        (["TP1", "TP0", "TP2"], 90.0),  # so do tensor-parallel ranks: the lowest one counts
    ],
)
def test_duplicates_are_not_summed(tags: list[str], counted: float) -> None:
    figures = _ranks(tags, [100.0, 90.0, 70.0])
    assert figures.last_tok_s == counted
    assert figures.levels[0].decode_tok_s == pytest.approx(counted)
    assert figures.samples == 9
    assert figures.clean == 2
    assert figures.excluded["first_after_start"] == 1


def test_prefill_is_not_counted_twice_for_duplicates() -> None:
    run = Recorder()
    for tag in ("TP0", "TP1"):
        run.run.prefill(tag, 100)
    assert run.run.figures().prefill_tokens == 100


def test_missing_data_parallel_ranks_are_named() -> None:
    assert _ranks(["DP2 TP2", "DP3 TP3"], [1.0, 1.0]).ranks_missing == ("DP0", "DP1")
    assert _ranks(["TP3"], [1.0]).ranks_missing == ()
    assert _ranks(["MOE_DP3 TP3"], [1.0]).ranks_missing == ()


def test_an_expert_rank_is_no_data_parallel_rank() -> None:
    figures = _ranks(["DP0 MOE_DP0 TP0", "DP1 MOE_DP0 TP4"], [100.0, 80.0])
    assert figures.levels[0].decode_tok_s == pytest.approx(180.0)


def test_no_level_is_listed_for_an_empty_batch() -> None:
    run = Recorder()
    run.samples(2)
    run.sample(running=0)
    assert [level.running for level in run.run.figures().levels] == [1]


def test_interval_of_decode_throughput_is_unknown_below_six() -> None:
    run = Recorder()
    run.samples(6)
    assert run.run.figures().levels[0].decode_tok_s_ci95 is None
    run.samples(1)
    interval = run.run.figures().levels[0].decode_tok_s_ci95
    assert interval is not None
    assert interval[0] <= 100.0 <= interval[1]


def test_correlated_samples_widen_the_interval() -> None:
    def width(speeds: list[float]) -> float:
        run = Recorder()
        for tok_s in [100.0, *speeds]:
            run.sample(tok_s)
        interval = run.run.figures().levels[0].decode_tok_s_ci95
        assert interval is not None
        return interval[1] - interval[0]

    trend = [90.0 + step / 2 for step in range(40)]
    shuffled = [trend[17 * step % 40] for step in range(40)]
    assert width(trend) > 1.5 * width(shuffled)


@given(st.lists(st.floats(20.0, 200.0), min_size=2, max_size=40))
def test_every_sample_is_clean_or_counted_once(speeds: list[float]) -> None:
    run = Recorder()
    for tok_s in speeds:
        run.sample(tok_s)
    figures = run.run.figures()
    superseded = sum(move.clean for level in figures.levels for move in level.moves)
    assert figures.clean + sum(figures.excluded.values()) + superseded == len(speeds)
    assert figures.clean == len([verdict for verdict in run.verdicts if verdict == 0])
