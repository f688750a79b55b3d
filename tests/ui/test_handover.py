"""Copy, export and notifications from the screen, and what goes through tmux and screen."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from specmon.errors import SpecmonError
from specmon.monitor.announcing import Announcement
from specmon.monitor.snapshot import Snapshot
from specmon.ui.app import SpecmonApp
from specmon.ui.handover import Outlet

from . import pictures
from .feeds import StillFeed
from .frames import text


class Taken:
    """A hand-over that writes down what it was given."""

    def __init__(self, fault: str = "") -> None:
        self.copied: list[str] = []
        self.exported: list[tuple[Snapshot, str]] = []
        self._fault = fault

    def verdict(self, snapshot: Snapshot) -> str:
        return f"the verdict is {snapshot.headline.word}"

    async def to_clipboard(self, text: str) -> bool:
        self.copied.append(text)
        return True

    async def export(self, snapshot: Snapshot, screen_svg: str) -> Path:
        if self._fault:
            raise SpecmonError(self._fault)
        self.exported.append((snapshot, screen_svg))
        return Path("/somewhere/specmon-1")


class Told:
    """Hears of the changes."""

    def __init__(self, on_desktop: bool) -> None:
        self.on_desktop = on_desktop
        self.words: list[str] = []

    def tell(self, announcement: Announcement, snapshot: Snapshot) -> None:
        assert snapshot.headline.word == announcement.word
        self.words.append(announcement.word)


async def test_y_copies_the_verdict_of_the_picture() -> None:
    taken = Taken()
    app = SpecmonApp(StillFeed(pictures.diverged()), handover=taken)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("y")
        await pilot.pause()
        assert taken.copied == ["the verdict is BASELINE NOT TRUSTED"]
        assert "Copied" in text(app)


async def test_e_exports_with_a_picture_of_the_screen_and_says_where() -> None:
    taken = Taken()
    app = SpecmonApp(StillFeed(pictures.diverged()), handover=taken)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("e")
        await pilot.pause()
        assert taken.exported[0][0].headline.word == "BASELINE NOT TRUSTED"
        assert "NOT&#160;TRUSTED" in taken.exported[0][1]
        assert "/somewhere/specmon-1" in text(app)


async def test_folder_that_cannot_be_written_is_a_sentence() -> None:
    app = SpecmonApp(StillFeed(pictures.diverged()), handover=Taken("/x: [no] room"))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("e")
        await pilot.pause()
        assert "/x: [no] room" in text(app)


@pytest.mark.parametrize("on_desktop", [True, False])
async def test_change_is_told_once_and_on_the_desktop_only_on_demand(
    monkeypatch: pytest.MonkeyPatch, on_desktop: bool
) -> None:
    feed, told, written = StillFeed(pictures.healthy()), Told(on_desktop), list[str]()
    app = SpecmonApp(feed, notice=told, interval_s=0.05)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        feed.show(pictures.diverged())
        for _ in range(500):
            await pilot.pause(0.02)
            if told.words:
                break
        await pilot.pause(0.2)
        assert told.words == ["BASELINE NOT TRUSTED"]
        sent = [each for each in written if each.startswith("\x1b]9;")]
        assert len(sent) == int(on_desktop)
        assert all(each.startswith("\x1b]9;specmon: BASELINE NOT TRUSTED: ") for each in sent)


def sent_in(environment: dict[str, str], words: str) -> str:
    written: list[str] = []
    Outlet(written.append, environment).copy(words)
    return "".join(written)


def test_clipboard_gets_the_text_in_base64() -> None:
    packed = base64.b64encode("é ✓".encode()).decode()
    assert sent_in({"TERM": "xterm-256color"}, "é ✓") == f"\x1b]52;c;{packed}\a"


def test_tmux_gets_it_plain_and_wrapped() -> None:
    plain = sent_in({}, "x")
    assert sent_in({"TMUX": "/tmp/tmux,1,0", "TERM": "screen-256color"}, "x") == (f"{plain}\x1bPtmux;\x1b{plain}\x1b\\")


def test_screen_gets_it_in_pieces_that_it_passes_on() -> None:
    sequence = sent_in({"TERM": "screen"}, "x" * 3000)
    pieces = sequence.split("\x1b\\")[:-1]
    assert all(piece.startswith("\x1bP") and len(piece) <= 514 for piece in pieces)
    assert "".join(piece[2:] for piece in pieces) == sent_in({}, "x" * 3000)


def test_words_of_a_server_cannot_end_a_notification_early() -> None:
    written: list[str] = []
    Outlet(written.append, {}).notify("title", "a\x07\x1b]0;evil\x07;b")
    whole = "".join(written)
    assert whole.count("\x1b") == 2
    assert whole.count("\a") == 2
