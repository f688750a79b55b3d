"""Several recordings of one reference: each counts once, and their differences are the spread."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.references.model import Reference, ReferenceLevel
from specmon.references.pooling import overlapping, with_session
from tests.references.forms import level, reference, session


def pooled(*speeds: float, n: int = 100) -> ReferenceLevel:
    """What sessions of these speeds come to at one running request."""
    found = reference(session(level(speeds[0], n=n, cycle_ms=1000 / speeds[0]), day=1))
    for day, tok_s in enumerate(speeds[1:], start=2):
        found = with_session(found, session(level(tok_s, n=n, cycle_ms=1000 / tok_s), day=day))
    (one,) = found.levels
    return one


def test_each_session_counts_once_however_long_it_is() -> None:
    found = reference(session(level(80.0, n=10_000), day=1))
    for day, tok_s in ((2, 90.0), (3, 100.0)):
        found = with_session(found, session(level(tok_s, n=10), day=day))
    assert found.levels[0].tok_s == 90.0
    assert found.levels[0].n == 10_020


def test_one_bad_day_does_not_move_the_speed_far() -> None:
    assert pooled(88.0, 89.0, 40.0).tok_s == 88.0


@given(st.lists(st.floats(10, 1000), min_size=1, max_size=6))
def test_step_time_and_speed_keep_to_the_identity(speeds: list[float]) -> None:
    one = pooled(*speeds)
    assert one.cycle_ms == pytest.approx(1000 / one.tok_s, rel=1e-5)


@given(st.lists(st.floats(50, 100), min_size=2, max_size=6))
def test_spread_is_the_standard_deviation_of_the_sessions_and_widens_the_tolerance(speeds: list[float]) -> None:
    found = reference(session(level(speeds[0]), day=1))
    assert found.spread_at(1) is None
    for day, tok_s in enumerate(speeds[1:], start=2):
        found = with_session(found, session(level(tok_s), day=day))
    logarithms = [math.log(tok_s) for tok_s in speeds]
    mean = sum(logarithms) / len(speeds)
    spread = math.sqrt(sum((value - mean) ** 2 for value in logarithms) / (len(speeds) - 1))
    assert found.spread_at(1) == pytest.approx(spread, abs=1e-12)
    assert found.tolerance_at(1) == pytest.approx(max(0.05, 3 * spread))


def test_interval_of_one_recording_is_dropped_when_there_are_two() -> None:
    found = reference(session(level(88.0, tok_s_ci95=[87.0, 89.0]), day=1))
    assert found.levels[0].tok_s_ci95 == (87.0, 89.0)
    assert with_session(found, session(level(89.0, tok_s_ci95=[88.0, 90.0]), day=2)).levels[0].tok_s_ci95 is None


def test_sigma_is_pooled_over_the_samples_and_context_covers_all() -> None:
    found = reference(session(level(88.0, n=300, sigma=0.01, context_tokens=[300, 700]), day=1))
    (one,) = with_session(found, session(level(89.0, n=100, sigma=0.03, context_tokens=[200, 600]), day=2)).levels
    assert one.sigma == pytest.approx(math.sqrt((300 * 0.01**2 + 100 * 0.03**2) / 400), rel=1e-5)
    assert one.context_tokens == (200, 700)


def test_level_that_was_not_measured_again_stays_and_a_new_one_joins() -> None:
    found = reference(session(level(88.0), level(640.0, 8), day=1))
    joined = with_session(found, session(level(90.0), level(1200.0, 16), day=2))
    assert [(one.running, one.tok_s) for one in joined.levels] == [
        (1, pytest.approx(math.sqrt(88.0 * 90.0), rel=1e-5)),
        (8, 640.0),
        (16, 1200.0),
    ]


def test_number_written_by_hand_counts_as_a_session_of_its_own() -> None:
    by_hand = Reference(name="tuned", levels=(level(80.0), level(640.0, 8)))
    joined = with_session(by_hand, session(level(90.0), day=2))
    assert [[one.tok_s for one in each.level] for each in joined.sessions] == [[80.0], [90.0]]
    assert joined.levels[0].tok_s == pytest.approx(math.sqrt(80.0 * 90.0), rel=1e-5)
    assert joined.spread_at(1) == pytest.approx(math.log(90 / 80) / math.sqrt(2))


def test_reference_is_as_old_as_its_newest_session() -> None:
    found = with_session(reference(session(level(80.0), day=9)), session(level(81.0), day=3))
    assert found.recorded_at is not None
    assert found.recorded_at.day == 9


@pytest.mark.parametrize(
    ("new", "is_known"),
    [
        (session(level(91.0), day=1), True),  # the same life, looked at later
        (session(level(88.0), day=2), False),
        (session(level(88.0), day=1).model_copy(update={"started_at": None}), True),  # the very same figures
        (session(level(91.0), day=1).model_copy(update={"started_at": None}), False),
    ],
)
def test_second_look_at_one_life_is_no_second_session(new: object, is_known: bool) -> None:
    known = session(level(88.0), day=1)
    assert (overlapping([known], new) is known) == is_known  # type: ignore[arg-type]  # the table holds sessions


def test_another_level_of_the_same_life_may_be_added() -> None:
    assert overlapping([session(level(88.0), day=1)], session(level(640.0, 8), day=1)) is None


def test_on_another_host_only_the_same_figures_are_the_same_life() -> None:
    known = session(level(88.0), day=1)
    assert overlapping([known], session(level(91.0), day=1), is_other_host=True) is None
    assert overlapping([known], session(level(88.0), day=1), is_other_host=True) is known


def test_spans_that_meet_are_one_life_unless_their_clocks_cannot_be_compared() -> None:
    known = session(level(88.0), day=1)
    assert known.started_at is not None
    inside = session(level(91.0), day=1).model_copy(update={"started_at": known.started_at.replace(minute=5)})
    assert overlapping([known], inside) is known
    zoneless = inside.model_copy(
        update={"started_at": known.started_at.replace(minute=5, tzinfo=None), "recorded_at": None}
    )
    assert overlapping([known], zoneless) is None
