"""Any size, any content: nothing overlaps, wraps or is clipped, and the verdict is always there."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from specmon.monitor.logtail import EMPTY_LOG
from specmon.monitor.snapshot import EventLine, Headline, Role, ServerView, Severity, Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.dashboard import Dashboard
from specmon.ui.panel import Panel

from . import pictures
from .feeds import Controls, StillFeed
from .frames import frame

_STORIES = {name: make() for name, make in pictures.PICTURES.items()}
_sizes = st.tuples(st.integers(40, 300), st.integers(12, 100))
_figure = st.one_of(st.none(), st.floats(0.01, 250_000))
_text = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=120),
    st.sampled_from(["", "[/x] nope", "gpu01:30000", "2,048.5 tok/s against 88.8 (−29.2 %) since 16:41:43 " * 3]),
)


@st.composite
def _servers(draw: st.DrawFn, role: Role) -> ServerView | None:
    story = _STORIES["diverged"]
    view = story.baseline if role is Role.BASELINE else story.speculative
    assert view is not None
    assert view.level is not None
    if draw(st.integers(0, 5)) == 0:
        return None
    level = replace(
        view.level,
        decode_tok_s=draw(_figure),
        delivered_tok_s=draw(_figure),
        cycle_ms=draw(_figure),
        accept_len=draw(_figure),
        context_tokens=draw(_figure),
        queue=draw(_figure),
    )
    return replace(
        view,
        name=draw(_text),
        source=draw(_text),
        level=draw(st.sampled_from([level, None])),
        no_data_reason=draw(_text),
        is_stale=draw(st.booleans()),
        age_s=draw(_figure),
        reference_tok_s=draw(_figure),
        points=draw(st.sampled_from([view.points, view.points[:3], ()])),
    )


@st.composite
def _snapshots(draw: st.DrawFn) -> Snapshot:
    story = draw(st.sampled_from(list(_STORIES.values())))
    word = draw(st.sampled_from(["SPECULATIVE WINS", "BASELINE NOT TRUSTED", "CANNOT TELL", "NO DATA"]))
    return replace(
        story,
        title=draw(_text),
        headline=Headline(draw(st.sampled_from(Severity)), word, draw(_text), draw(_text)),
        baseline=draw(_servers(Role.BASELINE)),
        speculative=draw(_servers(Role.SPECULATIVE)),
        comparison=draw(st.sampled_from([story.comparison, None])),
        others=tuple(view for view in (draw(_servers(Role.BASELINE)),) if view is not None),
        events=tuple(
            EventLine(pictures.NOW, Severity.WARNING, draw(_text), draw(_text)) for _ in range(draw(st.integers(0, 3)))
        ),
        demo_note=draw(_text),
        version=1,
    )


async def _check(picture: Snapshot, sizes: list[tuple[int, int]], keys: list[str]) -> None:
    app = SpecmonApp(StillFeed(picture, Controls() if picture.playback else None))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        for width, height in sizes:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            await pilot.pause()
            _check_frame(app, picture, width, height)


def _check_frame(app: SpecmonApp, picture: Snapshot, width: int, height: int) -> None:
    rows = frame(app)
    assert len(rows) == height
    assert all(cell_len(row) == width for row in rows)
    assert any(picture.headline.word in row for row in rows[:4])
    shown = [child for child in app.query_one(Dashboard).children if child.display]
    assert not any(one.region.overlaps(other.region) for one, other in itertools.combinations(shown, 2))
    assert all(app.screen.region.contains_region(child.region) for child in shown)
    for panel in app.query(Panel):
        if panel.is_on_screen and panel.display and panel.size:
            drawn = panel.rows(*panel.size)
            assert all(row.cell_length <= panel.size.width for row in drawn[: panel.size.height]), panel
            assert all("\n" not in row.plain for row in drawn)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(_snapshots(), st.lists(_sizes, min_size=1, max_size=3), st.sampled_from([[], ["l"], ["d"]]))
def test_every_frame_is_whole(picture: Snapshot, sizes: list[tuple[int, int]], keys: list[str]) -> None:
    asyncio.run(_check(picture, sizes, keys))


def test_no_number_is_cut_at_any_width() -> None:
    app = SpecmonApp(StillFeed(replace(pictures.diverged(), log=EMPTY_LOG)))

    async def gather() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await compare(pilot)

    async def compare(pilot: Pilot[None]) -> None:
        async def numbers(width: int, height: int) -> set[str]:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            await pilot.pause()
            shown = re.sub(r"\d+–\d+ of \d+", "", "\n".join(frame(app)))  # which rows a panel has room for
            return set(re.findall(r"\d[\d.,:]*\d|\d", shown))

        # Every number that a narrow screen shows is one that a wide, a middle or the narrowest one shows whole.
        known: set[str] = set()
        for size in ((300, 100), (200, 60), (150, 90), (120, 40), (100, 90), (80, 90), (71, 90)):
            known |= await numbers(*size)
        for width, height in (
            (40, 12),
            (47, 20),
            (58, 24),
            (72, 24),
            (83, 30),
            (97, 24),
            (111, 33),
            (131, 24),
            (181, 52),
        ):
            assert await numbers(width, height) <= known | {"120", "60", "1.5", "2.5"}, (width, height)

    asyncio.run(gather())
