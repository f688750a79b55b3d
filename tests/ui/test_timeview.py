"""The window and the cursor of the charts, and where a jump goes: arithmetic without a screen."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.moments import moments_of
from specmon.monitor.snapshot import MarkKind, Moment, Playback, SamplePoint, Severity, Snapshot
from specmon.ui import timeview
from specmon.ui.jumps import Goal, known_moments, target
from specmon.ui.plot import Window, common_window, held_of, nearest, side_window
from specmon.ui.timeview import FOLLOWS, WHOLE, TimeView, ending, nudged, on_sample, panned, pointed, window_of, zoomed

from . import pictures


def _session(hours: float = 3.0, every_s: float = 10.0) -> Snapshot:
    story = pictures.healthy()
    assert story.baseline is not None
    assert story.speculative is not None
    made = [
        tuple(
            SamplePoint(pictures.NOW - hours * 3600 + shift + i * every_s, 80.0, 1, 2.0, 10.0)
            for i in range(int((hours * 3600 - shift) / every_s) + 1)
        )
        for shift in (0.0, 3.0)
    ]
    base, spec = replace(story.baseline, points=made[0]), replace(story.speculative, points=made[1])
    return replace(story, baseline=base, speculative=spec)


SESSION = _session()
START = pictures.NOW - 3 * 3600

_steps = st.lists(
    st.one_of(
        st.tuples(st.just("zoom"), st.sampled_from([-1.0, 1.0])),
        st.tuples(st.just("pan"), st.floats(-8000, 8000)),
        st.tuples(st.just("point"), st.floats(START - 500, pictures.NOW + 500)),
        st.tuples(st.just("nudge"), st.floats(-500, 500)),
        st.tuples(st.just("sample"), st.sampled_from([-1.0, 1.0])),
    ),
    max_size=12,
)


def _walk(steps: list[tuple[str, float]]) -> TimeView:
    view = FOLLOWS
    for name, amount in steps:
        if name == "zoom":
            view = zoomed(view, SESSION, int(amount))
        elif name == "pan":
            view = panned(view, SESSION, amount)
        elif name == "point":
            view = pointed(view, SESSION, amount)
        elif name == "nudge":
            view = nudged(view, SESSION, amount)
        else:
            view = on_sample(view, SESSION, int(amount))
    return view


@given(_steps)
def test_whatever_was_pressed_the_window_lies_in_what_is_held(steps: list[tuple[str, float]]) -> None:
    window = window_of(SESSION, _walk(steps))
    assert window.end <= pictures.NOW
    assert 60.0 <= window.span_s <= 3 * 3600 + 1e-6
    assert window.start >= START - 1e-6


@given(_steps)
def test_a_cursor_that_was_moved_last_is_inside_the_window(steps: list[tuple[str, float]]) -> None:
    moved = nudged(_walk(steps), SESSION, -7.0)
    window = window_of(SESSION, moved)
    assert moved.cursor is not None
    assert window.start - 1e-6 <= moved.cursor <= window.end + 1e-6


@given(_steps, st.sampled_from([-1, 1]))
def test_zooming_in_the_past_keeps_the_middle_unless_an_end_is_met(steps: list[tuple[str, float]], way: int) -> None:
    view = replace(_walk(steps), cursor=None)
    before, zoom = window_of(SESSION, view), zoomed(view, SESSION, way)
    after = window_of(SESSION, zoom)
    if not view.is_past or not zoom.is_past or after.start <= START + 1e-6:
        return
    assert (after.start + after.end) / 2 == pytest.approx((before.start + before.end) / 2, abs=1e-3)


def test_zoom_goes_by_rungs_from_a_minute_to_all_that_is_held_and_back() -> None:
    view, spans = zoomed(replace(FOLLOWS, span_s=60.0), SESSION, -1), []
    assert window_of(SESSION, view).span_s == 60.0
    for _ in range(12):
        spans.append(window_of(SESSION, view).span_s)
        view = zoomed(view, SESSION, 1)
    assert spans[:8] == [60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0]
    assert set(spans[8:]) == {3 * 3600.0}
    assert view.span_s == WHOLE
    back = zoomed(view, SESSION, -1)
    assert back.span_s == 7200.0


def test_all_that_is_held_grows_with_the_session() -> None:
    later = replace(SESSION, now=SESSION.now + 600)
    assert window_of(later, TimeView(span_s=WHOLE)).span_s == 3 * 3600 + 600


def test_a_window_of_the_past_stays_while_the_session_goes_on() -> None:
    view = panned(FOLLOWS, SESSION, -1800)
    later = replace(SESSION, now=SESSION.now + 300)
    assert window_of(SESSION, view).end == window_of(later, view).end
    assert window_of(later, FOLLOWS).end == later.now


def test_panning_to_the_newest_follows_again() -> None:
    past = panned(FOLLOWS, SESSION, -1800)
    assert past.is_past
    assert not panned(past, SESSION, 1800).is_past
    assert window_of(SESSION, ending(FOLLOWS, SESSION, 0.0)).start == pytest.approx(START)


def test_with_nothing_held_every_key_leaves_a_window() -> None:
    none = pictures.no_data()
    view = on_sample(panned(zoomed(FOLLOWS, none, 1), none, -60), none, -1)
    assert window_of(none, view).span_s >= 60.0


def test_steps_of_the_cursor_meet_every_sample_of_both_servers_in_turn() -> None:
    view, seen_at = pointed(FOLLOWS, SESSION, pictures.NOW - 100.5), []
    for _ in range(4):
        view = on_sample(view, SESSION, 1)
        seen_at.append(pictures.NOW - (view.cursor or 0.0))
    assert seen_at == [100.0, 97.0, 90.0, 87.0]
    assert on_sample(view, SESSION, -1).cursor == pictures.NOW - 90.0


@given(st.lists(st.integers(0, 400), min_size=1, max_size=40), st.integers(-20, 420))
def test_nearest_is_the_nearest_and_of_one_instant_the_last(times: list[int], at: int) -> None:
    points = tuple(SamplePoint(float(time), float(i), 1, None, None) for i, time in enumerate(sorted(times)))
    index = nearest(points, at)
    assert index is not None
    best = min(abs(point.at - at) for point in points)
    assert abs(points[index].at - at) == best
    assert index + 1 == len(points) or points[index + 1].at != points[index].at


def test_no_value_is_read_where_no_sample_is_near() -> None:
    points = tuple(SamplePoint(float(at), 80.0, 1, None, None) for at in (0, 10, 20, 300, 310))
    assert timeview.sample_under(points, 24.0, 1.0) == points[2]
    assert timeview.sample_under(points, 150.0, 1.0) is None
    assert timeview.sample_under(points, 150.0, 400.0) is not None  # one cell holds them all
    assert timeview.sample_under((), 150.0, 1.0) is None


def test_points_after_a_window_of_the_past_are_not_seen() -> None:
    assert SESSION.baseline is not None
    window = Window(START + 100, START + 200, False, True)
    found = held_of(SESSION.baseline.points).columns("tok_s", window.start, window.end, 100, None)
    assert [place for place, column in enumerate(found.shown) if column is not None] == [*range(0, 100, 10), 99]


def test_in_the_past_both_sides_have_one_clock() -> None:
    assert SESSION.baseline is not None
    ended = replace(SESSION.baseline, points=SESSION.baseline.points[:30])
    assert side_window(ended, common_window(SESSION)).end == ended.points[-1].at
    common = Window(START + 5000, START + 5600, False, True)
    assert side_window(ended, common, is_past=True) is common


def _moment(at: float, kind: MarkKind | None = None) -> Moment:
    return Moment(at, Severity.WARNING, "", kind)


MOMENTS = (_moment(10), _moment(20, MarkKind.RESTART), _moment(30, MarkKind.DRIFT), _moment(40, MarkKind.CRASH))


@pytest.mark.parametrize(
    ("here", "steps", "goal", "slack_s", "found"),
    [
        (0, 1, Goal.EVENT, 0, 10),
        (10, 1, Goal.EVENT, 0, 20),
        (10, -1, Goal.EVENT, 0, None),
        (25, -1, Goal.EVENT, 0, 20),
        (21, -1, Goal.EVENT, 5, 10),  # a replay that plays has just passed 20
        (21, 1, Goal.RESTART, 0, 40),
        (40, -1, Goal.RESTART, 0, 20),
        (0, 1, Goal.DRIFT, 0, 30),
        (30, 1, Goal.DRIFT, 0, None),
    ],
)
def test_a_jump_goes_to_the_next_moment_of_its_kind(
    here: float, steps: int, goal: Goal, slack_s: float, found: float | None
) -> None:
    moment = target(MOMENTS, here, steps, goal, slack_s=slack_s)
    assert (None if moment is None else moment.at) == found


@given(st.lists(st.floats(0, 1e6), max_size=30), st.floats(0, 1e6))
def test_going_on_and_on_meets_every_later_moment_once(times: list[float], here: float) -> None:
    moments, met, place = [_moment(round(at, 1)) for at in times], [], round(here, 1)
    while (found := target(moments, place, 1)) is not None:
        met.append(found.at)
        place = found.at
    assert met == sorted({moment.at for moment in moments if moment.at > round(here, 1)})


def test_moments_are_the_marks_and_the_events_without_one_in_their_order() -> None:
    story = pictures.diverged()
    found = moments_of(story)
    assert [moment.at for moment in found] == sorted(moment.at for moment in found)
    assert any(moment.kind is MarkKind.RESTART and "gpu01" in moment.text for moment in found)
    assert any(moment.kind is None for moment in found)
    timeless = replace(story, events=tuple(replace(line, at=math.nan) for line in story.events))
    assert all(moment.kind is not None for moment in moments_of(timeless))


def test_a_replay_that_was_looked_through_knows_what_is_to_come() -> None:
    playback = Playback(50.0, 0.0, 100.0, 1.0, False, MOMENTS)
    assert known_moments(replace(pictures.replayed(), playback=playback)) == MOMENTS
    assert known_moments(pictures.replayed()) == moments_of(pictures.replayed())
