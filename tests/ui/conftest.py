"""What every screen test needs: no colour or theme from outside, no user themes, pictures on one version only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot

PINNED_TEXTUAL = "8.2.8"


class SnapCompare(Protocol):
    """The fixture of pytest-textual-snapshot, which ships no types."""

    def __call__(
        self,
        app: App[None],
        press: Iterable[str] = (),
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[None]], Awaitable[None] | None] | None = None,
    ) -> bool:
        """Whether the app looks as it did."""
        ...


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Refuse to draw new pictures with another Textual: it also deletes those it does not draw."""
    if config.getoption("update_snapshots", default=False) and version("textual") != PINNED_TEXTUAL:
        raise pytest.UsageError(f"pictures are drawn with textual {PINNED_TEXTUAL}, not {version('textual')}")


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def picture_matches(request: pytest.FixtureRequest) -> SnapCompare:
    """Compare the screen with its stored picture; skipped where another Textual draws it."""
    if version("textual") != PINNED_TEXTUAL:
        pytest.skip(f"pictures are drawn with textual {PINNED_TEXTUAL}, this is {version('textual')}")
    compare: SnapCompare = request.getfixturevalue("snap_compare")
    return compare
