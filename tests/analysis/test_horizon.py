"""What a run of days still holds, and what its figures then rest on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import pytest

from specmon.analysis import rank
from specmon.analysis.figures import RunFigures
from specmon.analysis.horizon import LIVE, Horizon
from specmon.analysis.rules import Cadence, Rule
from specmon.analysis.run import RunStatistics
from specmon.analysis.sample import Reading
from specmon.events import Covers

HOUR = Horizon(seconds=3600.0, samples=1_000_000, level_samples=500, settled_samples=50)
_CYCLES = 40


def readings(
    seed: int, count: int, *, running: int = 1, at: float = 1e6, cycle_ms: float = 12.0, step_s: float | None = None
) -> Iterator[Reading]:
    """Decode lines of a speculative server that runs steadily; `step_s`: so far apart, whatever their window."""
    chance = random.Random(seed)
    for _ in range(count):
        accept = round(chance.gauss(2.4, 0.1), 2)
        tok_s = round(1000 * accept * running / chance.gauss(cycle_ms, 0.1), 2)
        at += step_s if step_s is not None else _CYCLES * accept * running / tok_s
        yield Reading(at, running, tok_s, accept, context_tokens=chance.uniform(100, 900), graph=1)


def fed(run: RunStatistics, *parts: Iterator[Reading], prefill_every: int = 50) -> RunStatistics:
    for part in parts:
        for number, reading in enumerate(part):
            if number % prefill_every == prefill_every - 1:
                run.prefill("TP0", 80)
            run.add("TP0", reading)
    return run


def judged(run: RunStatistics) -> RunFigures:
    figures = run.figures()
    assert figures.samples == figures.clean + sum(figures.excluded.values()) + run.superseded
    return figures


@pytest.mark.parametrize("seed", range(2))
def test_within_a_day_nothing_changes_to_the_last_bit(seed: int) -> None:
    chance = random.Random(seed)
    whole, live = RunStatistics(is_speculative=True), RunStatistics(is_speculative=True, horizon=LIVE)
    at = 1e6
    for part in range(7):
        running, cycle_ms = chance.choice([1, 2, 2, 16]), chance.choice([12.0, 12.0, 30.0])
        for run in (whole, live):
            fed(run, readings(part, 1200, running=running, at=at, cycle_ms=cycle_ms))
        assert run.figures() == whole.figures()
        at += 12_000.0
    assert at - 1e6 < LIVE.seconds
    assert list(live.verdicts) == list(whole.verdicts)
    assert live.figures() == whole.figures()


def test_a_steady_run_of_days_comes_to_the_same() -> None:
    """24,000 samples: over three times the horizon."""
    whole = fed(RunStatistics(is_speculative=True), readings(1, 24_000))
    live = fed(RunStatistics(is_speculative=True, horizon=HOUR), readings(1, 24_000))
    before, after = judged(whole), judged(live)
    level, held = before.levels[0], after.levels[0]
    for name in ("samples", "clean", "excluded", "accept_len", "drafts", "delivered_tok_s", "prefill_tokens"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("samples", "clean", "outliers", "delivered_tok_s", "delivered_tok_s_ci95", "cuda_graph"):
        assert getattr(held, name) == getattr(level, name)
    assert held.decode_tok_s == pytest.approx(level.decode_tok_s, rel=0.002)
    assert held.cycle_ms == pytest.approx(level.cycle_ms, rel=0.001)
    assert held.accept_len == pytest.approx(level.accept_len, rel=0.002)
    assert held.tok_s.median == pytest.approx(level.tok_s.median, rel=0.002)
    assert held.tok_s.mad == pytest.approx(level.tok_s.mad, rel=0.05)
    assert held.prefill_share == pytest.approx(level.prefill_share, abs=0.001)
    assert held.decode_tok_s_ci95 is not None
    assert level.decode_tok_s is not None
    assert held.decode_tok_s_ci95[0] < level.decode_tok_s < held.decode_tok_s_ci95[1]


def test_figures_of_a_level_rest_on_what_is_held() -> None:
    lines = list(readings(1, 24_000))
    run = fed(RunStatistics(is_speculative=True, horizon=HOUR), iter(lines))
    level = run.level_of("TP0", 1)
    assert level is not None
    newest = level.clean.index[len(level.clean) - 1]
    oldest = level.clean.index[0]
    span = lines[newest].at - lines[oldest].at
    # A look every 4096 samples, and a seventh more before a column is shortened.
    a_look = 4096 * 0.48
    assert HOUR.seconds - a_look < span < HOUR.seconds * 8 / 7 + a_look
    held = [lines[index] for index in level.clean.index]
    figures = run.figures().levels[0]
    assert figures.tok_s.median == median(reading.tok_s for reading in held)
    assert figures.cycle_ms == pytest.approx(median(1000 * each.accept_len / each.tok_s for each in held))


def test_a_level_that_is_not_run_any_more_keeps_its_newest() -> None:
    run = fed(
        RunStatistics(is_speculative=True, horizon=HOUR),
        readings(1, 4000, running=4),
        readings(2, 20_000, at=2e6),
    )
    old = run.level_of("TP0", 4)
    assert old is not None
    assert len(old.clean) == 500
    figures = judged(run).level_at(4)
    assert figures is not None
    assert figures.clean > 3900
    assert figures.decode_tok_s == pytest.approx(1000 * 2.4 * 4 / 12, rel=0.01)


def test_a_busy_day_is_bounded_by_number() -> None:
    run = fed(
        RunStatistics(is_speculative=True, horizon=replace(LIVE, samples=10_000)), readings(1, 30_000, step_s=0.3)
    )
    level = run.level_of("TP0", 1)
    assert level is not None
    assert len(level.clean) < 10_000 * 8 / 7 + 4096
    assert len(list(run.verdicts)) <= 10_000 + 4096
    assert judged(run).samples == 30_000


def test_a_move_leaves_all_behind_held_or_not() -> None:
    run = fed(
        RunStatistics(is_speculative=True, horizon=replace(HOUR, samples=2000)),
        readings(1, 30_000),
        readings(2, 1000, at=1e6 + 30_000 * 0.48, cycle_ms=30.0),
    )
    figures = judged(run).levels[0]
    assert figures.cycle_ms == pytest.approx(30.0, rel=0.01)
    assert len(figures.moves) == 1
    assert figures.moves[0].clean > 29_000
    assert 900 < figures.clean <= 1000
    assert figures.moves[0].clean == run.superseded


def test_samples_whose_verdict_is_forgotten_are_still_counted_right() -> None:
    """A level with four outliers in a row is left for long, and moves when it is run again."""
    run = fed(
        RunStatistics(is_speculative=True, horizon=replace(HOUR, samples=2000)),
        readings(1, 200, running=4, step_s=1.0),
        readings(2, 4, running=4, at=1e6 + 200, cycle_ms=40.0, step_s=1.0),
        readings(3, 20_000, at=1e6 + 204, step_s=1.0),
        readings(4, 60, running=4, at=1e6 + 21_000, cycle_ms=40.0, step_s=1.0),
    )
    figures = judged(run)
    level = figures.level_at(4)
    assert level is not None
    assert len(level.moves) == 1
    assert level.cycle_ms == pytest.approx(40.0, rel=0.02)
    assert run.verdicts.of(10) is None
    assert figures.excluded["cycle_outlier"] == level.outliers == 0


def test_the_usual_gap_of_lines_by_the_clock_outlives_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank, "_MOST_GAPS", 2000)
    run = RunStatistics(Cadence(covers=Covers.TICK), is_speculative=True, horizon=replace(HOUR, samples=5000))
    for number in range(10_000):
        run.add("", Reading(10.0 * number, 1, 100.0, 2.0))
    assert run.add("", Reading(10.0 * 10_000 + 31, 1, 100.0, 2.0)) is Rule.AFTER_IDLE


def test_a_settled_run_holds_little_and_counts_the_same() -> None:
    run = fed(RunStatistics(is_speculative=True, horizon=HOUR), readings(1, 3000))
    before = run.figures()
    run.settle()
    level = run.level_of("TP0", 1)
    assert level is not None
    assert len(level.clean) == 50
    after = run.figures()
    assert after.levels == before.levels
    assert (after.samples, after.clean, after.excluded) == (before.samples, before.clean, before.excluded)


def test_a_run_without_a_horizon_does_not_settle() -> None:
    run = fed(RunStatistics(is_speculative=True), readings(1, 1000))
    run.settle()
    level = run.level_of("TP0", 1)
    assert level is not None
    assert len(level.clean) > 900
