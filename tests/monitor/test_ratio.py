"""The ratio of two speeds on one clock."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.ratio import ratio_points
from specmon.monitor.snapshot import (
    ComparisonView,
    Role,
    SamplePoint,
    ServerView,
    Snapshot,
    Verdict,
)


def _session(base: list[SamplePoint], spec: list[SamplePoint]) -> Snapshot:
    def view(role: Role, points: list[SamplePoint]) -> ServerView:
        return ServerView(role.value, role.value, "", role, points=tuple(sorted(points, key=lambda p: p.at)))

    comparison = ComparisonView(Verdict.FASTER, "", running=1)
    return Snapshot(baseline=view(Role.BASELINE, base), speculative=view(Role.SPECULATIVE, spec), comparison=comparison)


def _point(at: float, tok_s: float, *, running: int = 1, excluded: str | None = None) -> SamplePoint:
    return SamplePoint(at, tok_s, running, None, None, excluded)


def test_a_slice_is_the_ratio_of_the_medians_of_clean_samples_of_the_level() -> None:
    base = [_point(11, 50), _point(12, 60), _point(13, 1000), _point(14, 5, excluded="after_idle")]
    spec = [_point(15, 90), _point(16, 9000, running=8), _point(25, 70)]
    (only,) = ratio_points(_session(base, spec), 0, 100, 10)
    assert (only.at, only.ratio) == (15.0, 1.5)


def test_servers_that_ran_one_after_the_other_have_no_ratio() -> None:
    early, late = [_point(at, 50) for at in range(20)], [_point(at, 70) for at in range(40, 60)]
    assert ratio_points(_session(early, late), 0, 100, 10) == ()


def test_a_slice_that_is_not_over_has_none_yet() -> None:
    both = [_point(at, 50) for at in range(20)]
    assert [point.at for point in ratio_points(_session(both, both), 0, 19, 10)] == [5.0]
    nobody = replace(_session(both, both), comparison=None)
    assert ratio_points(nobody, 0, 19, 10) == ()


_speeds = st.lists(st.tuples(st.floats(0, 300), st.floats(1, 1000)), max_size=60)


@given(_speeds, _speeds, st.floats(0, 300), st.sampled_from([5.0, 7.0, 30.0]))
def test_a_slice_has_the_same_ratio_in_every_window_that_holds_it(
    ours: list[tuple[float, float]], theirs: list[tuple[float, float]], start: float, slice_s: float
) -> None:
    session = _session([_point(*each) for each in ours], [_point(*each) for each in theirs])
    whole = {point.at: point for point in ratio_points(session, 0, 300, slice_s)}
    part = ratio_points(session, start, 300, slice_s)
    assert all(whole[point.at] == point for point in part)
    for at, point in whole.items():
        place = math.floor(at / slice_s)
        base, spec = (
            median(speed for time, speed in side if math.floor(time / slice_s) == place) for side in (ours, theirs)
        )
        assert point.ratio == spec / base
