"""Figures that are asked for again and again are those of a run that is asked once; for the screen levels may lag."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.combine import combine_levels
from tests.analysis.runs import Recorder

_SAMPLES = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),  # running
        st.sampled_from(["", "DP0", "DP1"]),
        st.sampled_from([98.0, 100.0, 103.0, 20.0]),  # the last one as an outlier, and five of them as a move
        st.booleans(),  # whether anybody looks
    ),
    max_size=60,
)


@given(_SAMPLES)
def test_a_look_in_between_changes_nothing(samples: list[tuple[int, str, float, bool]]) -> None:
    watched, alone = Recorder(), Recorder()
    for running, tag, tok_s, is_looked_at in samples:
        for recorder in (watched, alone):
            recorder.sample(tok_s * running, running=running, tag=tag)
        if is_looked_at:
            watched.run.figures()
            watched.run.figures(is_exact=False)
    assert watched.run.figures() == alone.run.figures()


def test_for_the_screen_only_levels_lag_and_by_less_than_a_sample_in_a_hundred() -> None:
    recorder = Recorder()
    recorder.samples(400)
    recorder.run.figures(is_exact=False)
    for new in range(1, 10):
        recorder.sample(100.0 + new)
        figures = recorder.run.figures(is_exact=False)
        assert (figures.samples, figures.last_tok_s) == (400 + new, 100.0 + new)
        assert 0 <= figures.samples - figures.levels[0].samples < 4
    assert recorder.run.figures().levels[0].samples == 409


def test_a_level_without_new_samples_is_not_summed_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.samples(30, running=1)
    recorder.samples(30, 200.0, running=2)
    recorder.run.figures()
    summed: list[int] = []

    def note(running: int, *rest: object, **options: object) -> object:
        summed.append(running)
        return combine_levels(running, *rest, **options)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr("specmon.analysis.run.combine_levels", note)
    recorder.sample(200.0, running=2)
    recorder.run.figures()
    assert summed == [2]


def test_samples_by_level_hold_all_ranks() -> None:
    recorder = Recorder()
    for tag in ("DP0", "DP1"):
        recorder.samples(3, 200.0, running=2, tag=tag)
        recorder.samples(2, tag=tag)
    recorder.samples(1, 0.0, running=0, tag="DP0")
    assert recorder.run.samples_by_level == {1: 4, 2: 6}
