"""What drives a screen or a plain printer: something that fills a session and can be asked for a picture."""

from __future__ import annotations

from typing import Protocol

from specmon.monitor.snapshot import Role, Snapshot


class PlaybackControls(Protocol):
    """What a replay can be told. Positions are seconds on the log clock."""

    def toggle_pause(self) -> None:
        """Stop the clock, or let it run on."""
        ...

    def change_speed(self, steps: int) -> None:
        """Go `steps` up (or down) the ladder 1x, 2x, 5x, 10x … 1000x, as fast as possible."""
        ...

    def seek(self, position: float) -> None:
        """Go to a moment, also backwards; out of range means the nearer end."""
        ...

    def step(self, samples: int) -> None:
        """Move to the moment of the sample that is `samples` further on (or back)."""
        ...


class Feed(Protocol):
    """A running session: live, replayed or the demo."""

    @property
    def controls(self) -> PlaybackControls | None:
        """How to steer a replay; None when the session is live."""
        ...

    async def run(self) -> None:
        """Fill the session until every source has ended; cancelled when the screen closes."""
        ...

    def put(self, key: str, side: Role) -> None:
        """Let a server stand on a side of the comparison, until another is put there."""
        ...

    def snapshot(self) -> Snapshot:
        """A picture of the session now. Cheap enough to be asked for four times a second."""
        ...
