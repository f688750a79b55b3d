"""Make the picture of the README: the program's own screen at the end of the bundled story, as SVG.

python docs/make_screen.py docs/screen.svg [COLUMNS ROWS [THEME]]
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from pathlib import Path

from specmon.captures.reader import open_capture
from specmon.feeds.replay import ReplayFeed, ReplayLog
from specmon.feeds.timeline import timeline_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.references.store import load
from specmon.resources import bundled
from specmon.ui.app import SpecmonApp


def story_feed() -> ReplayFeed:
    """The bundled story, played to its end at once."""
    folder = bundled("fixtures") / "story"
    capture = open_capture(folder)
    reference = load(folder / "references" / "nccl-tuned.toml")
    logs = [
        ReplayLog(log.server.name, log.path, timeline_of(log.path, log.arrivals), log.lives) for log in capture.logs
    ]

    def new_session() -> Session:
        session = Session(reference=reference, title="specmon", mode="replay")
        for log in capture.logs:
            source = f"{log.server.host}:{log.server.source}"
            session.add(log.server.name, source, role=Role(log.server.role))
        return session

    return ReplayFeed(new_session, logs, speed=math.inf, clock=time.monotonic, starts_at=capture.starts_at)


async def take(path: Path, columns: int, rows: int, theme: str | None) -> None:
    """Draw the screen and write it."""
    feed = story_feed()
    app = SpecmonApp(feed, theme=theme)
    async with app.run_test(size=(columns, rows)) as pilot:
        for _ in range(200):  # 10 s at most
            playback = feed.snapshot().playback
            if playback is not None and playback.position >= playback.end:
                break
            await pilot.pause(0.05)
        await pilot.pause(0.6)  # two more pictures
        path.write_text(app.export_screenshot(), encoding="utf-8")  # noqa: ASYNC240 (nothing else runs)


def main() -> None:
    path, *rest = sys.argv[1:]
    columns, rows = (int(rest[0]), int(rest[1])) if len(rest) >= 2 else (120, 40)
    asyncio.run(take(Path(path), columns, rows, rest[2] if len(rest) > 2 else None))


if __name__ == "__main__":
    main()
