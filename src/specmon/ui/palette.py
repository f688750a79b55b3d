"""What the command palette offers: everything that has a key, by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand

if TYPE_CHECKING:
    from specmon.ui.app import SpecmonApp


def commands(app: SpecmonApp, *, is_replay: bool) -> Iterator[SystemCommand]:
    """The commands of a live session, and those that only a replay has."""
    yield SystemCommand("Pause", "Pause the replay, or freeze the live picture", app.action_toggle_pause)
    yield SystemCommand("Log", "All lines of all servers, to search and to filter", app.action_show_whole_log)
    yield SystemCommand("Log below the verdict", "Show or leave the newest lines there", app.action_show_log)
    yield SystemCommand("Configuration", "Show what differs", app.action_show_differences)
    yield SystemCommand("Events", "All that happened, to scroll through", app.action_show_events)
    yield SystemCommand("All servers", "One table; any two of them can be compared", app.action_show_fleet)
    yield SystemCommand("Cycle phases", "Where the time of a cycle goes, and since when", app.action_show_phases)
    yield SystemCommand("Explain", "What a figure means, how it is made, what it rests on", app.action_explain)
    yield SystemCommand("Assumptions", "The four that the comparison rests on", app.action_show_assumptions)
    yield SystemCommand("What if", "Move accept length, verify and draft cost", app.action_show_what_if)
    if app.desk is not None:
        yield SystemCommand("Configuration in full", "Reasons, whole values, restarts", app.action_show_conditions)
        yield SystemCommand("Sweep", "Every setting and every load of the logs by speed-up", app.action_show_sweep)
        yield SystemCommand("References", "Choose one, record the running baseline", app.action_show_references)
    yield SystemCommand("Overview", "Back to all panels", app.action_show_overview)
    yield SystemCommand("Charts: more time", "Zoom out, up to all that is held", lambda: app.action_zoom(1))
    yield SystemCommand("Charts: less time", "Zoom in, down to one minute", lambda: app.action_zoom(-1))
    yield SystemCommand("Charts: earlier", "Half a window back", lambda: app.action_pan(-1))
    yield SystemCommand("Charts: later", "Half a window forward", lambda: app.action_pan(1))
    yield SystemCommand("Charts: follow again", "Show the newest sample", app.action_follow)
    yield SystemCommand("Charts: cursor", "Read the sample under it", app.action_toggle_cursor)
    yield SystemCommand("Charts: next measure", "tok/s, cycle ms, accept length", app.action_next_measure)
    for goal, name in (("event", "event"), ("restart", "restart"), ("drift", "start of a drift")):
        next_, before = partial(app.action_jump, goal, 1), partial(app.action_jump, goal, -1)
        yield SystemCommand(f"Next {name}", "Go there in time", next_)
        yield SystemCommand(f"Last {name} before", "Go back there in time", before)
    if is_replay:
        yield SystemCommand("Faster", "Play the replay faster", lambda: app.action_change_speed(1))
        yield SystemCommand("Slower", "Play the replay slower", lambda: app.action_change_speed(-1))
    yield SystemCommand("Next sample", "Step to the next sample", lambda: app.action_step(1))
    yield SystemCommand("Sample before", "Step back by one sample", lambda: app.action_step(-1))
    yield SystemCommand("10 seconds forward", "Move on the log's clock", lambda: app.action_seek(10))
    yield SystemCommand("10 seconds back", "Move on the log's clock", lambda: app.action_seek(-10))
    yield SystemCommand("Start", "Go to the first line", app.action_seek_start)
    yield SystemCommand("End", "Go to the last line", app.action_seek_end)
    yield SystemCommand("Copy the verdict", "As Markdown, into the clipboard", app.action_copy_verdict)
    yield SystemCommand("Export", "Report, charts, JSON and CSV into a new folder here", app.action_export)
    yield SystemCommand("Save a picture (SVG)", "Into the current folder", app.action_save_picture)
    yield SystemCommand("Next theme", "Dark, light, high contrast, your own", app.action_next_theme)
    yield SystemCommand("Theme", "Choose a theme by name", app.action_change_theme)
    yield SystemCommand("Help", "Keys and signs", app.action_show_help)
    yield SystemCommand("Quit", "Leave specmon", app.action_quit)
