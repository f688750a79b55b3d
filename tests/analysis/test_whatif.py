"""What if: the formulas hold for all inputs, and unmoved inputs give what was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.comparison import compare_levels
from specmon.analysis.figures import LevelFigures
from specmon.analysis.whatif import WhatIf

# The story: 5 steps, verify 28.7 of 29.9 ms, against 15.9 ms a step and a reference of 88.8 tok/s.
STORY = WhatIf(
    accept_len=2.12, step_ms=15.9, rest_ms=0.2, verify_ms=28.7, draft_ms=1.0, reference_step_ms=1000 / 88.8,
    most_accept_len=6, running=1,
)  # fmt: skip
times = st.floats(0.01, 1000)
lengths = st.floats(1, 20)


def test_the_story_wins_against_the_baseline_and_loses_against_the_reference() -> None:
    assert STORY.cycle_ms == pytest.approx(29.9)
    assert STORY.speedup == pytest.approx(1.127, abs=0.001)
    assert STORY.break_even_accept_len == pytest.approx(1.88, abs=0.005)
    assert STORY.reference_speedup == pytest.approx(0.798, abs=0.001)
    assert STORY.reference_break_even_accept_len == pytest.approx(2.655, abs=0.005)
    assert STORY.verify_multiple == pytest.approx(1.805, abs=0.001)


@given(accept=lengths, step=times, cycle=times, running=st.integers(1, 512), share=st.floats(0, 1))
def test_unmoved_it_gives_the_measured_speedup(
    accept: float, step: float, cycle: float, running: int, share: float
) -> None:
    base = LevelFigures(running, 20, 20, decode_tok_s=1000 * running / step, accept_len=1.0, cycle_ms=step)
    spec = LevelFigures(
        running, 20, 20, decode_tok_s=1000 * accept * running / cycle, accept_len=accept, cycle_ms=cycle
    )
    found = compare_levels(base, spec)
    what = WhatIf(accept, step, rest_ms=cycle - share * cycle, verify_ms=share * cycle)
    assert found.speedup is not None
    assert found.break_even_accept_len is not None
    assert what.speedup == pytest.approx(found.speedup, rel=1e-9)
    assert what.break_even_accept_len == pytest.approx(found.break_even_accept_len, rel=1e-9)
    assert what.headroom == pytest.approx(found.headroom, rel=1e-9, abs=1e-9)


@given(accept=lengths, step=times, rest=times, verify=times, draft=times, reference=times)
def test_headroom_and_speedup_are_the_same_figure(
    accept: float, step: float, rest: float, verify: float, draft: float, reference: float
) -> None:
    what = WhatIf(accept, step, rest, verify, draft, reference)
    assert what.headroom == pytest.approx(what.speedup - 1, rel=1e-9, abs=1e-9)
    at_even = what.with_accept_len(what.break_even_accept_len)
    if what.break_even_accept_len >= 1:
        assert at_even.speedup == pytest.approx(1.0)
    assert what.speedup_at(accept) == pytest.approx(what.speedup)
    assert what.reference_speedup == pytest.approx(what.reference_speedup_at(accept))


@given(accept=lengths, rest=times, verify=times, draft=times, more=st.floats(0.01, 100))
def test_what_costs_more_wins_less(accept: float, rest: float, verify: float, draft: float, more: float) -> None:
    what = WhatIf(accept, 10.0, rest, verify, draft)
    assert what.with_verify_ms(verify + more).speedup < what.speedup
    assert what.with_draft_ms(draft + more).speedup < what.speedup
    assert what.with_accept_len(accept + more).speedup > what.speedup
    assert what.with_verify_ms(verify + more).accept_len == accept


@given(value=st.floats(-100, 1000))
def test_an_accept_length_stays_where_it_can_be(value: float) -> None:
    assert 1 <= STORY.with_accept_len(value).accept_len <= 6
    assert replace(STORY, most_accept_len=None).with_accept_len(value).accept_len == max(1.0, value)


@given(value=st.floats(-100, 1000))
def test_a_cost_is_never_negative(value: float) -> None:
    assert (STORY.with_verify_ms(value).verify_ms or 0.0) >= 0
    assert (STORY.with_draft_ms(value).draft_ms or 0.0) >= 0
    assert STORY.with_verify_ms(value).cycle_ms > 0


def test_verify_may_be_given_in_baseline_steps() -> None:
    assert STORY.with_verify_multiple(1.0).verify_ms == 15.9
    assert replace(STORY, verify_steps_ms=15.7).with_verify_multiple(2.0).verify_ms == 31.4


def test_without_phases_the_cycle_moves_as_a_whole() -> None:
    whole = WhatIf(accept_len=2.12, step_ms=15.9, rest_ms=29.9)
    assert whole.with_verify_ms(5.0) == whole == whole.with_draft_ms(5.0)
    assert whole.with_cycle_ms(15.9).break_even_accept_len == 1.0
    assert whole.with_cycle_ms(0.0) == whole
    assert STORY.with_cycle_ms(10.0) == STORY
    assert whole.verify_multiple is None
    assert whole.reference_speedup is None
