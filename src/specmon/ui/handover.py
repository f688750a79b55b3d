"""What leaves the screen: text for the clipboard, files, and a word to the desktop.

Clipboard and desktop are reached through the terminal itself (OSC 52; OSC 9 and 777), so they work over SSH as well.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from specmon.monitor.announcing import Announcement
from specmon.monitor.snapshot import Snapshot
from specmon.visible import visible

_BELL = "\a"


class Handover(Protocol):
    """Makes of a session what people hand on."""

    def verdict(self, snapshot: Snapshot) -> str:
        """The verdict of this picture as Markdown."""
        ...

    async def to_clipboard(self, text: str) -> bool:
        """Put a text where a surrounding tmux keeps its copies; False when there is none."""
        ...

    async def export(self, snapshot: Snapshot, screen_svg: str) -> Path:
        """Write the session into a new folder and return it. Raises SpecmonError when that fails."""
        ...


class Notice(Protocol):
    """Hears of each change of the verdict."""

    def tell(self, announcement: Announcement, snapshot: Snapshot) -> None:
        """The verdict has changed to that of `snapshot`."""
        ...

    @property
    def on_desktop(self) -> bool:
        """Whether the terminal is to show it as a notification."""
        ...


class Outlet:
    """Control sequences to the terminal, through a tmux or screen around it."""

    def __init__(self, write: Callable[[str], None], environment: Mapping[str, str]) -> None:
        self._write = write
        self._is_in_tmux = bool(environment.get("TMUX"))
        self._is_in_screen = not self._is_in_tmux and environment.get("TERM", "").startswith("screen")

    def copy(self, text: str) -> None:
        """Offer a text to the terminal's clipboard; whether it is taken, no terminal says."""
        packed = base64.b64encode(text.encode("utf-8")).decode("ascii")
        self._send(f"\x1b]52;c;{packed}{_BELL}")

    def notify(self, title: str, text: str) -> None:
        """A notification of the desktop, in the two forms that terminals know."""
        title, text = (visible(part).replace(";", ",") for part in (title, text))
        self._send(f"\x1b]9;{title}: {text}{_BELL}")
        self._send(f"\x1b]777;notify;{title};{text}{_BELL}")

    def _send(self, sequence: str) -> None:
        if self._is_in_tmux:
            # As it is for a tmux with `set-clipboard on`, wrapped for one with `allow-passthrough on`.
            escaped = sequence.replace("\x1b", "\x1b\x1b")
            self._write(f"{sequence}\x1bPtmux;{escaped}\x1b\\")
        elif self._is_in_screen:
            # GNU screen passes pieces of at most 768 bytes on.
            pieces = [sequence[start : start + 512] for start in range(0, len(sequence), 512)]
            self._write("".join(f"\x1bP{piece}\x1b\\" for piece in pieces))
        else:
            self._write(sequence)
