"""A session of more than a day on the screen: what lies before the samples that are held one by one."""

from __future__ import annotations

import asyncio
import csv
import io
from functools import cache

import pytest

from specmon.feeds.live import LiveFeed
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.reports.bundle import bundle_of
from specmon.sources.events import CaughtUp, Chunk, Connected
from specmon.ui.app import SpecmonApp
from specmon.ui.chart import Chart
from specmon.ui.plot import held_of, sides

from ..monitor.lines import START, decode, launch, ready
from .frames import frame, text

HOUR = 3600
HOURS = 30
SPIKE = HOUR + 600  # seconds after the start
RESTART = 2 * HOUR
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}


class ManualClock:
    """Stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class Told(LiveFeed):
    """A live feed whose session is fed by the test."""

    async def run(self) -> None:
        await asyncio.Event().wait()


class Live:
    """Two servers, of which the baseline had a spike in the first hour and was started again after two."""

    def __init__(self) -> None:
        self.clock, self.session = ManualClock(), Session()
        self._ends = {"base": 0, "spec": 0}
        for key, role in (("base", Role.BASELINE), ("spec", Role.SPECULATIVE)):
            self.session.add(key, f"gpu01:/logs/{key}.log", role=role)
            self.session.feed(key, Connected(START, 0, 0))
            self.session.feed(key, CaughtUp(START))

    def feed(self) -> Told:
        """A new one: it belongs to the event loop of its test."""
        return Told(self.session, [], clock=self.clock)

    def write(self, first: int, last: int, every_s: int = 5) -> None:
        """What both servers log between two seconds after the start."""
        base, spec = [], []
        for second in range(first, last, every_s):
            if second in (0, RESTART):
                base += [launch(second, decode_log_interval=400), ready(second)]
            if second == 0:
                spec += [launch(second, decode_log_interval=250, speculative_algorithm="EAGLE3"), ready(second)]
            base.append(decode(second, 400.0 if second == SPIKE else 80.0 + second % 7 / 10))
            spec.append(decode(second, 120.0 + second % 9 / 10, accept=2.4))
        self.clock.now = START + last
        for key, lines in (("base", base), ("spec", spec)):
            data = "".join(lines).encode()
            self.session.feed(key, Chunk(self.clock.now, self._ends[key], data))
            self._ends[key] += len(data)


@cache
def after_thirty_hours() -> Live:
    """The same for every test; none of them changes it."""
    live = Live()
    for hour in range(HOURS):
        live.write(hour * HOUR, (hour + 1) * HOUR)
        live.session.snapshot(live.clock())
    return live


def highest_cell(chart: Chart) -> int:
    """The column of the line's topmost dot."""
    for row in chart.picture:
        signs = [(char, part) for run, part in row for char in run]
        if found := [place for place, (_, part) in enumerate(signs) if part == "line"]:
            return found[0]
    raise AssertionError("no line is drawn")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
async def test_the_whole_session_shows_the_spike_of_its_first_hour(size: tuple[int, int]) -> None:
    feed = after_thirty_hours().feed()
    app = SpecmonApp(feed, interval_s=1e6)
    async with app.run_test(size=size) as pilot:
        app.snapshot = feed.snapshot()
        for _ in range(9):
            await pilot.press("left_square_bracket")
        await pilot.pause()
        assert "all 30 h" in frame(app)[0]
        assert "╵02-27" in text(app)
        assert "┴restart" in text(app)
        chart = app.screen.query_one("#baseline .speed", Chart)
        cell = highest_cell(chart)
        at = chart.moment_at(cell)
        assert at is not None
        start, end = chart.cell_around(at)
        assert start <= START + SPIKE < end
        assert chart.picture[0][0][0].strip() == "500"  # the scale holds it
        await pilot.click(chart, offset=(cell, 1))
        await pilot.pause()
        assert "400.0" in text(app)  # the greatest of its column
        await pilot.press("escape")
        for _ in range(4):
            await pilot.press("right_square_bracket")
        await pilot.press("home")
        await pilot.pause()
        assert "PAST 02-26 16:40:00" in frame(app)[0]
        assert "restart" in text(app)


async def test_where_only_buckets_are_held_the_cursor_steps_through_them_and_tells_what_they_hold() -> None:
    feed = after_thirty_hours().feed()
    app = SpecmonApp(feed, interval_s=1e6)
    async with app.run_test(size=(200, 60)) as pilot:
        app.snapshot = feed.snapshot()
        await pilot.press("home", "right_square_bracket", "right_square_bracket", "c")
        await pilot.pause()
        chart = app.screen.query_one("#baseline .speed", Chart)
        assert chart.cell_s is not None
        assert chart.cell_s < 10
        await pilot.press("comma")
        await pilot.pause()
        first = app.time_view.cursor
        assert first is not None
        assert (first - START) % 10 == 5.0
        assert "2 samples" in text(app)
        assert "median 80." in text(app)
        await pilot.press("full_stop")
        assert app.time_view.cursor == first + 10


def test_an_export_has_the_condensed_past_and_its_chart_the_spike() -> None:
    live = after_thirty_hours()
    picture = live.session.snapshot(live.clock())
    files = bundle_of(live.session, picture)
    past, samples = (list(csv.DictReader(io.StringIO(files[name]))) for name in ("past.csv", "samples.csv"))
    first = past[0]
    assert (first["from"], first["seconds"], first["server"]) == ("2026-02-26T16:40:00", "10.0", "base.log")
    assert max(float(row["tok_s_greatest"]) for row in past if row["role"] == "baseline") == 400.0
    assert sum(int(row["samples"]) for row in past) + len(samples) == 2 * HOURS * HOUR // 5
    assert len(files["tok_s.svg"]) < 200_000


def test_live_and_at_once_the_same_past_is_kept() -> None:
    live, replayed = after_thirty_hours(), Live()
    replayed.write(0, HOURS * HOUR)

    both = [each.session.snapshot(each.clock()) for each in (live, replayed)]
    for mine, theirs in zip(*([held_of(view.points) for view in sides(picture)] for picture in both), strict=True):
        assert mine.started_at == theirs.started_at
        assert mine.ended_at == theirs.ended_at
        for hour in range(HOURS):
            span = START + hour * HOUR, START + (hour + 1) * HOUR
            one, other = mine.stretch(*span, 1), theirs.stretch(*span, 1)
            assert one is not None
            assert other is not None
            assert (one.count, one.left_out, one.running) == (other.count, other.left_out, other.running)
            # Of what is condensed the middle is that of the buckets' middles, and when that is done differs.
            assert one.tok_s == pytest.approx(other.tok_s, rel=1e-3)
