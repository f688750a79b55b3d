"""Which part of a throughput moved."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.attribution import Attribution, Standing, standing_of, words_of_change, words_of_speedup
from specmon.analysis.figures import LevelFigures, PhaseFigures

_ACCEPT = st.floats(1.0, 8.0)
_CYCLE = st.floats(0.5, 500.0)


@given(_ACCEPT, _CYCLE, _ACCEPT, _CYCLE)
def test_the_two_parts_make_up_the_whole(accept: float, cycle: float, other_accept: float, other_cycle: float) -> None:
    change = Attribution(Standing(accept, cycle), Standing(other_accept, other_cycle))
    whole = (other_accept / other_cycle) / (accept / cycle)
    assert change.factor == pytest.approx(whole)
    if (share := change.cycle_share) is not None and abs(math.log(whole)) > 1e-6:
        assert share * math.log(whole) + math.log(change.accept_factor) == pytest.approx(math.log(whole))


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (
            Standing(2.10, 27.7, {"verify": 21.0, "draft": 3.0}),
            Standing(2.10, 31.2, {"verify": 24.4, "draft": 3.1}),
            "cycle 27.7 → 31.2 ms (+12.6 %): verify 21.0 → 24.4 ms",
        ),
        (Standing(2.12, 29.9), Standing(1.80, 29.8), "accept length 2.12 → 1.80 (−15.1 %)"),
        (
            Standing(2.0, 20.0),
            Standing(1.9, 30.0),
            "cycle 20.0 → 30.0 ms (+50.0 %); accept length 2.00 → 1.90 (−5.0 %)",
        ),
        (
            Standing(2.0, 20.0),
            Standing(1.0, 21.0),
            "accept length 2.00 → 1.00 (−50.0 %); cycle 20.0 → 21.0 ms (+5.0 %)",
        ),
        (Standing(2.0, 20.0), Standing(2.01, 20.1), "neither the accept length nor the cycle moved by 1 %"),
        # No phase grew with the cycle, so none is blamed.
        (Standing(2.0, 7.0, {"verify": 6.0}), Standing(2.0, 8.0, {"verify": 5.0}), "cycle 7 → 8 ms (+14.3 %)"),
        (Standing(1.0, 7.0, {"decode": 6.0}), Standing(1.0, 8.0, {"verify": 7.0}), "cycle 7 → 8 ms (+14.3 %)"),
        (
            Standing(2.0, 20.0, {"draft_extend": 1.0}),
            Standing(2.0, 22.0, {"draft_extend": 3.0}),
            "cycle 20.0 → 22.0 ms (+10.0 %): draft extend 1 → 3 ms",
        ),
    ],
)
def test_words_name_what_moved_largest_first(before: Standing, now: Standing, words: str) -> None:
    assert words_of_change(Attribution(before, now)) == words


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (
            Standing(2.10, 27.7, {"verify": 26.5, "draft": 0.6}, 27.6),
            "2.10 tokens a cycle gain 2.10×, a cycle of 27.7 ms instead of 15.9 ms costs 1.74×; "
            "verify takes 26.5 ms of it (96 %), 1.67 times a baseline step by its throughput",
        ),
        (Standing(1.0, 12.0), "1.00 tokens a cycle gain 1.00×, a cycle of 12.0 ms instead of 15.9 ms gains 1.32×"),
    ],
)
def test_speedup_is_explained(now: Standing, words: str) -> None:
    assert words_of_speedup(Attribution(Standing(1.0, 15.9), now)) == words


def test_standing_takes_the_phases_of_its_own_level() -> None:
    at_eight = PhaseFigures("probe", 40, 8.2, {"verify": 7.4})
    phases = PhaseFigures("probe", 80, 7.5, {"verify": 6.8}, by_running={8: at_eight})
    level = LevelFigures(running=8, samples=20, clean=20, accept_len=3.4, cycle_ms=8.3)
    assert standing_of(level, phases) == Standing(3.4, 8.3, {"verify": 7.4}, 8.2)
    other = LevelFigures(running=1, samples=20, clean=20, accept_len=3.4, cycle_ms=7.1)
    assert standing_of(other, phases) == Standing(3.4, 7.1)
    assert standing_of(LevelFigures(running=1, samples=2, clean=0), phases) is None
