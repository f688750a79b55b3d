"""What counts in a log of whole requests: which samples are clean, how they add up, and what the drafters took."""

from __future__ import annotations

import pytest

from specmon.analysis.drafttimes import DraftTimes
from specmon.analysis.rules import Cadence, Rule
from specmon.analysis.run import RunStatistics
from specmon.analysis.sample import Reading
from specmon.events import Covers, DraftsTimed


def _run(*, is_speculative: bool = False) -> RunStatistics:
    return RunStatistics(Cadence(covers=Covers.REQUEST), is_speculative=is_speculative)


def _request(at: float, seconds: float, tokens: int, *, running: int = 1, accepted: int | None = None) -> Reading:
    rounds = tokens - (accepted or 0)
    return Reading(
        at=at,
        running=running,
        tok_s=tokens / seconds,
        accept_len=float("nan") if accepted is None else tokens / rounds,
        window_s=seconds,
        tokens=tokens,
        drafts=float("nan") if accepted is None else rounds,
    )


def test_prompts_and_pauses_between_requests_leave_out_nothing() -> None:
    run = _run()
    rules = []
    for number in range(8):
        run.prefill("", 50)
        rules.append(run.add("", _request(100.0 * number, 1.0, 100)))
    assert rules == [Rule.FIRST_AFTER_START, *[Rule.CLEAN] * 7]
    assert run.figures().after_prefill == 0


def test_level_is_as_fast_as_its_requests_together() -> None:
    run = _run()
    for number in range(8):
        run.add("", _request(number, 2.0, 100, running=4))
    (level,) = run.figures().levels
    assert level.tok_s.median == 4 * 50.0
    assert level.decode_tok_s == pytest.approx(200.0)
    assert level.delivered_tok_s == pytest.approx(200.0)
    assert level.cycle_ms == pytest.approx(20.0)
    assert run.figures().last_tok_s == 50.0  # as printed


def test_accept_length_is_pooled_by_cycles() -> None:
    run = _run(is_speculative=True)
    for accepted, tokens in ((0, 100), (50, 100), (150, 200)):
        run.add("", _request(1.0, 1.0, tokens, accepted=accepted))
    figures = run.figures()
    assert figures.drafts == 100 + 50 + 50
    assert figures.accept_len == pytest.approx(400 / 200)
    assert figures.levels[0].accept_len == pytest.approx(300 / 100)  # the first request is not clean


def test_request_without_a_draft_enters_the_speed_but_no_draft_count() -> None:
    run = _run(is_speculative=True)
    for accepted in (50, 50, None, None):
        run.add("", _request(1.0, 1.0, 100, accepted=accepted))
    figures = run.figures()
    assert figures.drafts == 100
    assert figures.accept_len == pytest.approx(2.0)
    assert figures.levels[0].clean == 3


def test_slow_requests_in_a_row_join_their_level() -> None:
    run = _run()
    for seconds in [1.0] * 7 + [2.0] * 5:
        run.add("", _request(1.0, seconds, 100))
    (level,) = run.figures().levels
    assert (level.clean, level.moves) == (11, ())


def test_build_that_never_tells_acceptance_has_none() -> None:
    run = _run()
    run.is_acceptance_told = False
    for _ in range(4):
        run.add("", _request(1.0, 1.0, 100))
    figures = run.figures()
    assert figures.accept_len is None
    assert figures.levels[0].accept_len is None
    assert figures.levels[0].tok_s.median == 100.0


def _line(requests: int, calls: int, slots: int, draft_ms: float, drafter: str = "draft-simple") -> DraftsTimed:
    return DraftsTimed(0, drafter=drafter, requests=requests, draft_calls=calls, accept_calls=slots, draft_ms=draft_ms)


def test_counters_of_seen_requests_count_from_zero() -> None:
    times = DraftTimes()
    times.add(_line(1, 87, 87, 335.322), requests=1, cycles=89)
    phases = times.figures(26.6, None)
    assert phases is not None
    assert phases.ms == {"draft": pytest.approx(335.322 / 89)}
    assert phases.residual_ms == pytest.approx(26.6 - 335.322 / 89)


def test_counters_older_than_the_log_count_by_their_difference() -> None:
    times = DraftTimes()
    times.add(_line(50, 5000, 5000, 10_000.0), requests=1, cycles=100)
    times.add(_line(52, 5200, 5200, 10_400.0), requests=3, cycles=300)
    phases = times.figures(None, None)
    assert phases is not None
    assert phases.ms == {"draft": pytest.approx(2.0)}


def test_one_look_at_older_counters_goes_by_their_own_calls() -> None:
    times = DraftTimes()
    times.add(_line(10, 730, 3, 1.847, "ngram-mod"), requests=1, cycles=74)
    times.add(_line(10, 727, 727, 29_473.328, "draft-mtp"), requests=1, cycles=74)
    phases = times.figures(None, None)
    assert phases is not None
    assert phases.ms == {"draft": pytest.approx((1.847 + 29_473.328) / 730)}


def test_slots_that_are_drafted_for_together_share_the_time() -> None:
    times = DraftTimes()
    times.add(_line(2, 100, 200, 400.0), requests=2, cycles=200)
    phases = times.figures(None, None)
    assert phases is not None
    assert (phases.cycles, phases.ms) == (100, {"draft": 4.0})
