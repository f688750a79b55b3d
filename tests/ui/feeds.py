"""Feeds for tests and for looking: one stands still, one plays the story on and on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from specmon.monitor.logtail import LogTail
from specmon.monitor.snapshot import Role, Snapshot

from . import pictures


class Controls:
    """Playback controls that write down what they were told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def toggle_pause(self) -> None:
        self.calls.append(("pause", 0))

    def change_speed(self, steps: int) -> None:
        self.calls.append(("speed", steps))

    def seek(self, position: float) -> None:
        self.calls.append(("seek", position))

    def step(self, samples: int) -> None:
        self.calls.append(("step", samples))


class StillFeed:
    """Shows one picture, which a test may replace; with controls it is a replay."""

    def __init__(
        self, picture: Snapshot, controls: Controls | None = None, run: Callable[[], None] | None = None
    ) -> None:
        self.picture = picture
        self._controls = controls
        self._run = run
        self.put_calls: list[tuple[str, Role]] = []

    def put(self, key: str, side: Role) -> None:
        self.put_calls.append((key, side))

    @property
    def controls(self) -> Controls | None:
        return self._controls

    async def run(self) -> None:
        if self._run is not None:
            self._run()
            return
        await asyncio.Event().wait()

    def snapshot(self) -> Snapshot:
        return self.picture

    def show(self, picture: Snapshot) -> None:
        """Another picture from now on."""
        self.picture = replace(picture, version=self.picture.version + 1)


class LivingFeed:
    """Two servers that each write a line every half second; for looking and for measuring."""

    def __init__(self, picture: Snapshot, every_s: float = 0.5) -> None:
        self._picture = picture
        self._every_s = every_s
        self._origin = time.monotonic()
        self._lines = {line.role.value: line for line in picture.log}

    @property
    def controls(self) -> None:
        return None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            self._grow()

    def put(self, key: str, side: Role) -> None:
        pass

    def _passed(self) -> float:
        return time.monotonic() - self._origin

    def _grow(self) -> None:
        picture, now = self._picture, pictures.NOW + self._passed()
        sides = {}
        log = list(picture.log)
        for name in ("baseline", "speculative"):
            view = getattr(picture, name)
            if view is None or not view.points:
                continue
            last = view.points[-1]
            value = last.tok_s + pictures.wobble(len(view.points), 0.5)
            point = replace(last, at=now, tok_s=min(max(value, 50.0), 99.0), excluded=None)
            level = replace(view.level, decode_tok_s=view.level.decode_tok_s + pictures.wobble(len(log), 0.02))
            sides[name] = replace(
                view, points=(*view.points, point), level=level, samples=view.samples + 1, clean=view.clean + 1
            )
            log.append(replace(self._lines[name], at=now))
        self._picture = replace(
            picture,
            **sides,
            log=LogTail.of(log[-2000:]),
            log_revision=picture.log_revision + 2,
            version=picture.version + 1,
        )

    def snapshot(self) -> Snapshot:
        return replace(self._picture, now=pictures.NOW + self._passed())
