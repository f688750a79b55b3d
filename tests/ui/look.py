"""Run the real screen on a synthetic session, to look at it or to measure it.

python -m tests.ui.look diverged --theme specmon-light
python -m tests.ui.look healthy --svg /tmp/healthy.svg --size 120x40
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from specmon.ui.app import SpecmonApp

from .feeds import Controls, LivingFeed, StillFeed
from .pictures import PICTURES


async def _export(app: SpecmonApp, size: tuple[int, int], press: list[str]) -> str:
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        await pilot.press(*press)
        await pilot.pause()
        await pilot.pause()
        return app.export_screenshot()


def main() -> None:
    """Read the options, run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("picture", choices=sorted(PICTURES))
    parser.add_argument("--theme")
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--still", action="store_true")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--press", default="")
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    picture = PICTURES[options.picture]()
    is_still = options.still or options.svg or picture.playback is not None
    feed = StillFeed(picture, Controls() if picture.playback else None) if is_still else LivingFeed(picture)
    app = SpecmonApp(feed, theme=options.theme, ascii_only=options.ascii)
    if options.svg:
        width, height = map(int, options.size.split("x"))
        svg = asyncio.run(_export(app, (width, height), options.press.split()))
        options.svg.write_text(svg, encoding="utf-8")
        return
    if options.seconds:
        app.call_later(lambda: app.set_timer(options.seconds, app.exit))
    app.run()


if __name__ == "__main__":
    main()
