"""Make the pictures of the documentation: the program's own screens at the end of the bundled story, as SVG.

python docs/make_screen.py                 every picture, into docs/pictures, and docs/screen.svg
python docs/make_screen.py main phases     those of some screens
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specmon.captures.reader import CapturedLog, open_capture
from specmon.commands.desk import SessionDesk
from specmon.feeds.replay import ReplayFeed, ReplayLog
from specmon.feeds.timeline import timeline_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Snapshot
from specmon.references.model import Reference
from specmon.references.store import load
from specmon.resources import bundled
from specmon.ui.app import SpecmonApp
from specmon.ui.choose import Candidate, ChooseScreen

DOCS = Path(__file__).resolve().parent
SIZES = ((80, 24), (120, 40), (200, 60))
REFERENCES = Path("fixtures") / "story" / "references"  # from the checkout: the screen tells the path


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen of the program: how one gets there, and what it shows in a few words."""

    name: str
    words: str
    keys: tuple[str, ...] = ()
    captures: tuple[str, ...] = ("story",)  # whose servers are there
    opens: Callable[[SpecmonApp], object] | None = None  # what no key leads to


def ask_which_server(app: SpecmonApp) -> None:
    """The question that `connect` asks when a host has several servers of one role."""
    found = (
        Candidate("1", "gpu01:30001", "EAGLE3 with 2 steps, since 16:41:02, /var/log/sglang/spec.log"),
        Candidate("2", "gpu01:30002", "NGRAM, since 15:20:11, /var/log/sglang/ngram.log"),
    )
    text = "gpu01 has 2 speculative servers. Which one is to be compared?"
    app.push_screen(ChooseScreen("which server?", text, found))


SCREENS = (
    Screen("main", "the verdict, both servers, what differs, what happened"),
    Screen("phases", "`p`: where a cycle's time goes, and since when", ("p",)),
    Screen("what-if", "`w`: move accept length, verify and draft cost", ("w",)),
    Screen("log", "`l`: the lines of all servers, by time", ("l",)),
    Screen("events", "`v`: all that happened", ("v",)),
    Screen("differences", "`d`: what differs from the reference, and between the servers", ("d",)),
    Screen("references", "`r`: choose a reference, or record the running baseline", ("r",)),
    Screen("sweep", "`b`: every run against the baseline, ranked", ("b",), ("story", "story-5-steps")),
    Screen("fleet", "`f`: all servers, those that need attention first", ("f",), ("story", "story-5-steps")),
    Screen("explain", "`x`: what a figure is made of", ("x",)),
    Screen("assumptions", "`a`: the four assumptions, and how each stands", ("a",)),
    Screen("help", "`?`: keys, signs, words", ("question_mark",)),
    Screen("chooser", "which of several servers is meant", (), ("story",), ask_which_server),
)


def feed_of(names: Sequence[str]) -> ReplayFeed:
    """Bundled captures, played to their end at once."""
    captures = [open_capture(bundled("fixtures") / name) for name in names]
    logs: list[tuple[str, CapturedLog]] = [(capture.folder.name, log) for capture in captures for log in capture.logs]
    played = [
        ReplayLog(f"{name}/{log.server.name}", log.path, timeline_of(log.path, log.arrivals), log.lives)
        for name, log in logs
    ]

    def new_session() -> Session:
        session = Session(reference=load(REFERENCES / "nccl-tuned.toml"), title="specmon", mode="replay")
        for name, log in logs:
            label = f"{name} {log.server.name}" if len(names) > 1 else None
            source = f"{log.server.host}:{log.server.source}"
            session.add(f"{name}/{log.server.name}", source, role=Role(log.server.role), label=label)
        return session

    starts_at = min(capture.starts_at for capture in captures)
    return ReplayFeed(new_session, played, speed=math.inf, clock=time.monotonic, starts_at=starts_at)


class Played:
    """A replay at its end: it stands still, and only draws."""

    def __init__(self, feed: ReplayFeed) -> None:
        self._feed = feed

    @property
    def controls(self) -> ReplayFeed:
        return self._feed

    @property
    def session(self) -> Session:
        return self._feed.session

    def put(self, key: str, side: Role) -> None:
        self._feed.put(key, side)

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]]) -> None:
        self._feed.hold_against(reference, others)

    async def run(self) -> None:
        await asyncio.Event().wait()

    def snapshot(self) -> Snapshot:
        return self._feed.snapshot()


async def played(names: Sequence[str]) -> Played:
    """The captures at their end, with all marks on the replay bar."""
    feed = feed_of(names)
    playing = asyncio.create_task(feed.run())
    async with asyncio.timeout(300):
        while not (state := feed.snapshot().playback) or state.position < state.end or not state.moments:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    playing.cancel()
    return Played(feed)


async def take(screen: Screen, feed: Played, columns: int, rows: int) -> str:
    """The screen as SVG."""
    app = SpecmonApp(feed, desk=SessionDesk(feed, (REFERENCES,), is_utc=True))
    async with app.run_test(size=(columns, rows)) as pilot:
        await pilot.pause(0.3)
        await pilot.press(*screen.keys)
        if screen.opens is not None:
            screen.opens(app)
        await pilot.pause(0.7)  # pages that read files, and the next picture
        return slim(app.export_screenshot(title="specmon"))


def slim(svg: str) -> str:
    """The same picture in a third of the bytes: short names, no clipping of what fits, plain spaces."""
    svg = re.sub(r"terminal-\d+", "t", svg)
    svg = re.sub(r'<clipPath id="t-line-\d+">.*?</clipPath>', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#t-line-\d+\)"', "", svg)
    svg = svg.replace('class="t-', 'class="').replace(".t-", ".")
    svg = re.sub(r"<text[^>]*>(?:&#160;|\s)*</text>", "", svg)
    svg = svg.replace("&#160;", "\u00a0")
    svg = re.sub(r'="(\d+)\.0"', r'="\1"', svg)
    svg = re.sub(r'(x|y|width|height|textLength)="(\d+\.\d)\d*"', r'\1="\2"', svg)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # a picture loads nothing
    svg = svg.replace("font-family: Fira Code, monospace;", f"font-family: {_FONTS};")
    svg = re.sub(r"(?:<rect [^>]*crispEdges[^>]*/>)+", _backgrounds, svg)
    return re.sub(r"\n\s*", "\n", svg).strip() + "\n"


_FONTS = "Fira Code, DejaVu Sans Mono, Menlo, Consolas, monospace"
_RECT = re.compile(r'fill="([^"]+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"')


def _backgrounds(found: re.Match[str]) -> str:
    """One rectangle for the commonest colour, and one for each run of cells of another."""
    cells = [(fill, *map(float, numbers)) for fill, *numbers in _RECT.findall(found[0])]
    common = Counter(fill for fill, *_ in cells).most_common(1)[0][0]
    right = max(x + width for _, x, _, width, _ in cells)
    bottom = max(y + height for _, _, y, _, height in cells)
    made = [f'<rect fill="{common}" width="{right:g}" height="{bottom:g}"/>']
    runs: list[list[float | str]] = []
    for fill, x, y, width, height in cells:
        last = runs[-1] if runs else None
        if last is not None and last[0] == fill and last[2] == y and abs(float(last[1]) + float(last[3]) - x) < 0.5:
            last[3] = float(last[3]) + width
        else:
            runs.append([fill, x, y, width, height])
    for fill, x, y, width, height in runs:
        if fill != common:
            made.append(f'<rect fill="{fill}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>')
    return "".join(made)


async def write(wanted: set[str], folder: Path) -> None:
    """Take the wanted pictures, those of one session one after the other."""
    feeds: dict[tuple[str, ...], Played] = {}
    for screen in SCREENS:
        if screen.name not in wanted:
            continue
        if screen.captures not in feeds:
            feeds[screen.captures] = await played(screen.captures)
        for columns, rows in SIZES:
            svg = await take(screen, feeds[screen.captures], columns, rows)
            (folder / f"{screen.name}-{columns}x{rows}.svg").write_text(svg, encoding="utf-8")
            if (screen.name, columns) == ("main", 120):
                (DOCS / "screen.svg").write_text(svg, encoding="utf-8")


def main() -> None:
    """Write the pictures that are named, or all."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write(__doc__ or "")
        return
    wanted = set(sys.argv[1:]) or {screen.name for screen in SCREENS}
    if unknown := wanted - {screen.name for screen in SCREENS}:
        sys.exit(f"no such screen: {', '.join(sorted(unknown))}; known are {', '.join(s.name for s in SCREENS)}")
    folder = DOCS / "pictures"
    folder.mkdir(exist_ok=True)
    os.chdir(DOCS.parent)
    asyncio.run(write(wanted, folder))


if __name__ == "__main__":
    main()
