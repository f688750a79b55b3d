"""How much is drawn anew for a frame: counted in rows and widgets, as the time depends on the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from specmon.monitor.snapshot import Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.panels.acceptance import Acceptance
from specmon.ui.panels.verdict import VerdictBand
from specmon.ui.resting import Resting

from . import pictures
from .feeds import StillFeed
from .frames import frame

SIZE = (200, 60)


class Work:
    """The widgets that made strips, and the layouts."""

    def __init__(self) -> None:
        self.widgets: set[str] = set()
        self.layouts = 0


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work = Work()
    render, refresh = Widget.render_lines, Widget.refresh

    def note(self: Widget, crop: object) -> object:
        work.widgets.add(self.id or type(self).__name__)
        return render(self, crop)  # type: ignore[arg-type]  # handed on as it came

    def note_layout(self: Widget, *regions: object, layout: bool = False, **more: object) -> object:
        work.layouts += layout
        return refresh(self, *regions, layout=layout, **more)  # type: ignore[arg-type]  # handed on as they came

    with monkeypatch.context() as patched:
        patched.setattr(Widget, "render_lines", note)
        patched.setattr(Widget, "refresh", note_layout)
        yield work


async def shown(app: SpecmonApp, pilot: Pilot[None], feed: StillFeed, picture: Snapshot) -> None:
    """Until the picture is drawn."""
    feed.show(picture)
    async with asyncio.timeout(60):
        while app.snapshot.version != feed.picture.version:
            await pilot.pause(0.01)
    await pilot.pause()


async def test_what_did_not_change_is_not_asked_for_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = StillFeed(pictures.diverged())
    app = SpecmonApp(feed, interval_s=0.05)
    async with app.run_test(size=SIZE) as pilot:
        await shown(app, pilot, feed, replace(feed.picture, demo_note="first"))
        with watched(monkeypatch) as work:
            headline = replace(feed.picture.headline, sentence="Another sentence of the same length.")
            await shown(app, pilot, feed, replace(feed.picture, headline=headline))
        assert any("Another sentence" in row for row in frame(app))
        assert {"verdict"} <= work.widgets <= {"verdict", "_default"}
        assert work.layouts == 0


async def test_a_new_figure_in_a_border_repaints_that_row_alone() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()), interval_s=3600)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        panel = app.query_one(Acceptance)
        regions: list[object] = []
        panel._set_dirty = lambda *dirty: regions.extend(dirty)  # type: ignore[method-assign]  # what a repaint means
        title = panel._title
        assert title is not None
        panel.set_title(title)
        (region,) = regions
        assert region == panel._border_row(0)
        assert region.height == 1


async def test_a_widget_that_rests_is_drawn_anew_when_its_colours_change() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()), interval_s=3600)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        band = app.query_one(VerdictBand)
        assert isinstance(band, Resting)
        before = band.render_lines(band.size.region)
        assert band.render_lines(band.size.region) is before
        app.theme = next(name for name in app.available_themes if name != app.theme)
        await pilot.pause()
        assert band.render_lines(band.size.region) != before


class Late(Resting):
    """Learns its title from its rows, while they are made."""

    def render_line(self, y: int) -> Strip:
        if self.border_title is None:
            self.border_title = Content("told")
        return Strip.blank(self.size.width)


async def test_a_widget_that_becomes_dirty_while_it_is_drawn_does_not_rest() -> None:
    class Alone(App[None]):
        CSS = "Late { border: round white; height: 4; }"

        def compose(self) -> ComposeResult:
            yield Late()

    app = Alone()
    async with app.run_test(size=(20, 6)) as pilot:
        await pilot.pause()
        late = app.query_one(Late)
        assert "told" in late.render_lines(late.outer_size.region)[0].text
