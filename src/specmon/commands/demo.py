"""`specmon demo`: the story of a lost baseline, over a real SSH connection to this very program."""

from __future__ import annotations

import math
import time

from specmon.captures.reader import open_capture
from specmon.commands.connect import chosen_channels
from specmon.commands.loop import run_whole
from specmon.commands.reference import other_references, reference_places
from specmon.commands.show import has_screen, show
from specmon.commands.survey import choose, survey
from specmon.demo.server import demo_server
from specmon.demo.world import CaptureWorld
from specmon.feeds.live import LiveFeed
from specmon.monitor.session import Session
from specmon.references.store import load
from specmon.resources import bundled
from specmon.sources.follow import Pace

_FASTEST = 60.0  # the follower looks every 50 ms: faster than this the story is over before it is told

_HOST = "gpu01"  # as the story has it; the connection goes to the loopback
_OVER = "The story is over. Restore the variables, then judge: q quits."


def demo(*, speed: float, is_plain: bool, interval_s: float, theme: str | None, is_ascii: bool) -> int:
    """Play the story until the user quits; as plain lines until it is over."""
    story = bundled("fixtures") / "story"
    capture = open_capture(story)
    named = story / "references" / "nccl-tuned.toml"
    reference = load(named)
    speed = _FASTEST if math.isinf(speed) else min(speed, _FASTEST)

    stays = not is_plain and has_screen()

    async def run() -> int:
        world = CaptureWorld(capture, speed=speed, clock=time.monotonic)
        session = Session(reference=reference, others=other_references(str(named)), title="specmon demo", mode="demo")
        async with demo_server(world) as server, server.host() as host:
            choice = choose(await survey([host]))
            pace = Pace(clock=world.time)
            channels = chosen_channels(session, choice, backfill_bytes=None, pace=pace, host_name=_HOST)
            feed = LiveFeed(
                session,
                channels,
                clock=world.time,
                told=lambda: _OVER if world.is_over else capture.note_at(world.time()),
                is_over=None if stays else lambda: world.is_over,
            )
            return await show(
                feed,
                is_plain=is_plain,
                interval_s=interval_s,
                theme=theme,
                is_ascii=is_ascii,
                folders=reference_places(str(named)),
                is_utc=True,
            )

    return run_whole(run())
