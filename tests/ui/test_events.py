"""The list of events: large or small, scrolled by keys and wheel, steady while more come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot

from specmon.monitor.snapshot import EventLine, Severity, Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.panels.evidence import Events

from . import pictures
from .feeds import StillFeed
from .frames import frame, text


def with_events(count: int) -> Snapshot:
    """The newest of them is the one with the highest number."""
    story = pictures.diverged()
    events = [
        EventLine(story.now - 100 + count - n, Severity.WARNING, "gpu01", f"event {count - n:03}") for n in range(count)
    ]
    return replace(story, events=tuple(events), version=story.version + count)


def listed(app: SpecmonApp) -> list[str]:
    """The numbers of the events on the screen, from the top."""
    return [row.partition("event ")[2][:3] for row in frame(app) if "gpu01 event " in row]


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40), (200, 60)])
async def test_v_shows_all_events_and_back(size: tuple[int, int]) -> None:
    app = SpecmonApp(StillFeed(with_events(57)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        before = listed(app)
        await pilot.press("v")
        await pilot.pause()
        large = listed(app)
        assert len(large) >= max(9, min(len(before), 20))
        assert large[0] == "057"
        assert f"1–{len(large)} of 57" in text(app) or size[0] < 72  # a narrow screen has no borders
        await pilot.press("end")
        assert listed(app)[-1] == "001"
        await pilot.press("home", "v")
        await pilot.pause()
        assert listed(app) == before


async def test_keys_and_wheel_scroll_and_what_is_shown_stays_while_events_come() -> None:
    feed = StillFeed(with_events(57))
    app = SpecmonApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("v", "pagedown", "pagedown", "pagedown")
        assert "▸" in next(row for row in frame(app) if "event 027" in row)  # 30 below the newest
        panel = app.query_one(Events)
        top = listed(app)[0]
        await turn(pilot, panel, MouseScrollDown, 2)
        assert int(listed(app)[0]) == int(top) - 6
        await turn(pilot, panel, MouseScrollUp, 1)
        shown = listed(app)
        assert int(shown[0]) == int(top) - 3
        feed.picture = with_events(60)
        app._tick()
        await pilot.pause()
        assert listed(app) == shown
        await turn(pilot, panel, MouseScrollUp, 30)
        assert listed(app)[0] == "060"


async def test_a_click_on_the_border_makes_the_list_large_and_small() -> None:
    app = SpecmonApp(StillFeed(with_events(57)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        before = listed(app)
        for is_large in (True, False):
            await pilot.click(Events, offset=(3, 0))
            await pilot.pause()
            assert (len(listed(app)) > len(before)) is is_large


async def turn(pilot: Pilot[None], panel: Events, kind: type[MouseScrollDown | MouseScrollUp], times: int) -> None:
    for _ in range(times):
        panel.post_message(kind(panel, 3, 3, 0, 1, 0, False, False, False, 3, 3))
    await pilot.pause()
