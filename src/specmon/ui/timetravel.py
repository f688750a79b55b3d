"""Keys that move in time: through a replay, and through what is held of any session's past."""

from __future__ import annotations

from dataclasses import replace

from textual.binding import Binding

from specmon.monitor.feed import Feed
from specmon.monitor.snapshot import Playback
from specmon.ui import timeview
from specmon.ui.chart import Chart
from specmon.ui.dashboard import Dashboard
from specmon.ui.jumps import Goal, known_moments, target
from specmon.ui.paged import PagedApp
from specmon.ui.panels.bars import PlaybackBar
from specmon.ui.row import cut
from specmon.ui.timeview import TimeView

_FAR_S = 60.0
_FAR_COLUMNS = 10
# Going back while a replay plays, the event that has just passed is not meant: a second of watching, so much at most.
_JUST_PASSED_S = 10.0

TIME_BINDINGS = (
    Binding("plus,equals_sign", "change_speed(1)", "Faster", key_display="+", id="replay.faster"),
    Binding("minus", "change_speed(-1)", "Slower", key_display="-", id="replay.slower"),
    Binding("right", "seek(10)", "10 s forward", key_display="→", id="replay.forward"),
    Binding("left", "seek(-10)", "10 s back", key_display="←", id="replay.back"),
    Binding("shift+right", "seek(60)", "1 min forward", key_display="⇧→", id="replay.forward_far"),
    Binding("shift+left", "seek(-60)", "1 min back", key_display="⇧←", id="replay.back_far"),
    Binding("full_stop", "step(1)", "Next sample", key_display=".", id="replay.step"),
    Binding("comma", "step(-1)", "Sample before", key_display=",", id="replay.step_back"),
    Binding("home", "seek_start", "Start", id="replay.start"),
    Binding("end", "seek_end", "End", id="replay.end"),
    Binding("n", "jump('event', 1)", "Next event", id="time.next_event"),
    Binding("N", "jump('event', -1)", "Event before", id="time.event_before"),
    Binding("j", "jump('restart', 1)", "Next restart", id="time.next_restart"),
    Binding("J", "jump('restart', -1)", "Restart before", id="time.restart_before"),
    Binding("o", "jump('drift', 1)", "Next start of a drift", id="time.next_drift"),
    Binding("O", "jump('drift', -1)", "Start of the drift before", id="time.drift_before"),
    Binding("left_square_bracket", "zoom(1)", "More time in the charts", key_display="[", id="charts.wider"),
    Binding("right_square_bracket", "zoom(-1)", "Less time in the charts", key_display="]", id="charts.closer"),
    Binding("less_than_sign", "pan(-1)", "Charts: earlier", key_display="<", id="charts.earlier"),
    Binding("greater_than_sign", "pan(1)", "Charts: later", key_display=">", id="charts.later"),
    Binding("0", "follow", "Charts follow again", id="charts.follow"),
    Binding("c", "toggle_cursor", "Cursor on the charts", id="charts.cursor"),
    Binding("m", "next_measure", "Charts: tok/s, cycle, accept length", id="charts.measure"),
)


class TimeApp(PagedApp):
    """An app whose charts have a window and a cursor, over a feed that may be a replay."""

    _feed: Feed

    def _tick(self) -> None:
        raise NotImplementedError

    @property
    def time_view(self) -> TimeView:
        """What the charts show."""
        return self.main.query_one(Dashboard).time_view

    @time_view.setter
    def time_view(self, view: TimeView) -> None:
        self.main.query_one(Dashboard).time_view = view

    def leave_cursor(self) -> bool:
        """Take the cursor away; whether there was one."""
        if self.screen is not self.main or self.time_view.cursor is None:
            return False
        self.time_view = replace(self.time_view, cursor=None)
        return True

    # --- the replay, and the same in what is held of a live session ---------------------------------

    def action_change_speed(self, steps: int) -> None:
        """Go up or down the ladder of speeds."""
        if (controls := self._feed.controls) is not None:
            controls.change_speed(steps)
            self._tick()

    def action_seek(self, seconds: float) -> None:
        """Move by so many seconds on the log's clock; with a cursor on the charts move that by columns."""
        if self.time_view.cursor is not None:
            columns = (_FAR_COLUMNS if abs(seconds) >= _FAR_S else 1) * (1 if seconds > 0 else -1)
            self.time_view = timeview.nudged(self.time_view, self.shown_snapshot, columns * self._cell_s())
        elif (playback := self._playback()) is not None:
            self.go_to(playback.position + seconds)
        else:
            self.time_view = timeview.panned(self.time_view, self.shown_snapshot, seconds)

    def action_seek_start(self) -> None:
        """Go to the first line; live: to the oldest sample that is held."""
        if (playback := self._playback()) is not None:
            self.go_to(playback.start)
        elif (start := timeview.oldest(self.shown_snapshot)) is not None:
            self.time_view = timeview.ending(self.time_view, self.shown_snapshot, start)

    def action_seek_end(self) -> None:
        """Go to the last line; live: follow again."""
        if (playback := self._playback()) is not None:
            self.go_to(playback.end)
        else:
            self.time_view = replace(self.time_view, end=None)

    def action_step(self, samples: int) -> None:
        """Move by one sample; live: move the cursor there."""
        if self.time_view.cursor is None and (controls := self._feed.controls) is not None:
            controls.step(samples)
            self._tick()
        else:
            self.time_view = timeview.on_sample(self.time_view, self.shown_snapshot, samples)

    def action_jump(self, goal: str, steps: int) -> None:
        """Go to the next moment of a kind, or the one before: a replay goes there, else the cursor does."""
        snapshot, view, playback = self.shown_snapshot, self.time_view, self._playback()
        slack_s = 0.0
        if playback is not None:
            here = playback.position
            stands = playback.is_paused or playback.position >= playback.end
            slack_s = 0.0 if stands else min(playback.speed, _JUST_PASSED_S)
        else:
            here = timeview.window_of(snapshot, view).end if view.cursor is None else view.cursor
        found = target(known_moments(snapshot), here, steps, Goal(goal), slack_s=slack_s)
        if found is None:
            self.notify(f"no {'later' if steps > 0 else 'earlier'} {goal} is known", markup=False, timeout=2)
            return
        if playback is None:
            self.time_view = timeview.pointed(view, snapshot, found.at)
        else:
            self.go_to(found.at, stays=True)
        self.notify(cut(found.text, self.size.width - 6), markup=False, timeout=4)

    def on_playback_bar_seek(self, message: PlaybackBar.Seek) -> None:
        """Somebody clicked on the replay bar."""
        self.go_to(message.position)

    def go_to(self, position: float, *, stays: bool = False) -> None:
        """Let a replay go to a moment, and its charts with it; `stays` pauses it there."""
        if (controls := self._feed.controls) is None:
            return
        self.time_view = replace(self.time_view, end=None, cursor=None)
        controls.seek(position)
        if stays and (playback := self._playback()) is not None and not playback.is_paused:
            controls.toggle_pause()
        self._tick()

    def _playback(self) -> Playback | None:
        return self._feed.snapshot().playback if self._feed.controls is not None else None

    # --- the charts --------------------------------------------------------------------------------

    def action_zoom(self, steps: int) -> None:
        """Show more time or less."""
        self.time_view = timeview.zoomed(self.time_view, self.shown_snapshot, steps)

    def action_pan(self, halves: int) -> None:
        """Move the charts by half their window."""
        span_s = timeview.window_of(self.shown_snapshot, self.time_view).span_s
        self.time_view = timeview.panned(self.time_view, self.shown_snapshot, halves * span_s / 2)

    def action_follow(self) -> None:
        """Follow the newest sample, in the span that the charts choose themselves."""
        self.time_view = TimeView(measure=self.time_view.measure)

    def action_toggle_cursor(self) -> None:
        """Put a cursor on the charts, or take it away."""
        if not self.leave_cursor():
            self.time_view = timeview.on_sample(self.time_view, self.shown_snapshot, -1)

    def action_next_measure(self) -> None:
        """Let the large charts show the next measure."""
        measure = (self.time_view.measure + 1) % len(timeview.MEASURES)
        self.time_view = replace(self.time_view, measure=measure)

    def on_chart_pointed(self, message: Chart.Pointed) -> None:
        """Somebody clicked on a chart."""
        self.time_view = timeview.pointed(self.time_view, self.shown_snapshot, message.at)

    def on_chart_wheeled(self, message: Chart.Wheeled) -> None:
        """The wheel was turned over a chart."""
        view, snapshot = self.time_view, self.shown_snapshot
        if message.is_sideways:
            span_s = timeview.window_of(snapshot, view).span_s
            self.time_view = timeview.panned(view, snapshot, message.steps * span_s / 10)
        else:
            self.time_view = timeview.zoomed(view, snapshot, message.steps, message.at)

    def _cell_s(self) -> float:
        """What one column of the charts stands for."""
        charts = (chart.cell_s for chart in self.main.query(Chart) if chart.display and chart.size.height > 1)
        known = next((cell_s for cell_s in charts if cell_s), None)
        return known or timeview.window_of(self.shown_snapshot, self.time_view).span_s / 60
