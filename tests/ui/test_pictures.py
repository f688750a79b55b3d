"""The main screen, as pictures: three states, two sizes, dark and light, and one huge one."""

from __future__ import annotations

import pytest

from specmon.ui.app import SpecmonApp

from .conftest import SnapCompare
from .feeds import StillFeed
from .pictures import PICTURES


@pytest.mark.parametrize("theme", ["specmon-dark", "specmon-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("state", ["healthy", "diverged", "no_data"])
def test_main_screen(picture_matches: SnapCompare, state: str, size: tuple[int, int], theme: str) -> None:
    app = SpecmonApp(StillFeed(PICTURES[state]()), theme=theme)
    assert picture_matches(app, terminal_size=size)


def test_huge_screen(picture_matches: SnapCompare) -> None:
    assert picture_matches(SpecmonApp(StillFeed(PICTURES["diverged"]())), terminal_size=(200, 60))
