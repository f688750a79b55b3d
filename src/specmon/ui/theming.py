"""The themes of a running app: chosen at the start, stepped through, read again when a file of theirs is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.app import App

from specmon.ui.themes import DEFAULT_THEME, load_themes, stamps_of


class Theming:
    """Keeps an app's themes in step with their files."""

    def __init__(self, app: App[None], wanted: str | None, folders: Sequence[Path] | None) -> None:
        self._app = app
        self._wanted = wanted
        self._folders = folders
        self._names: list[str] = []
        self._stamps = stamps_of(folders)

    def set_up(self) -> None:
        """Register what there is and take the wanted theme, or the default one; what is wrong is told."""
        faults = self._register()
        wanted = self._wanted or DEFAULT_THEME
        if self._app.get_theme(wanted) is None:
            faults.append(f"no theme is called {wanted}")
            wanted = DEFAULT_THEME if self._app.get_theme(DEFAULT_THEME) is not None else self._app.theme
        self._app.theme = wanted
        self._tell(faults)

    def look(self) -> None:
        """Read the files again when one was saved, added or removed; a bad one leaves its theme as it was."""
        stamps = stamps_of(self._folders)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        before = {name: self._app.get_theme(name) for name in self._names}
        faults = self._register()
        shown = self._app.theme
        if self._app.get_theme(shown) != before.get(shown) and shown in before:
            # Textual draws anew only for another name.
            self._app.theme = next(name for name in self._app.available_themes if name != shown)
            self._app.theme = shown
        self._tell(faults)

    def next(self) -> None:
        """Take the next of our themes."""
        if self._names:
            index = self._names.index(self._app.theme) + 1 if self._app.theme in self._names else 0
            self._app.theme = self._names[index % len(self._names)]
            self._app.clear_notifications()  # the name of the one before
            self._app.notify(f"theme {self._app.theme}", markup=False, timeout=3)

    def _register(self) -> list[str]:
        loaded = load_themes(self._folders)
        for theme in loaded.themes:
            self._app.register_theme(theme)
        known = [theme.name for theme in loaded.themes]
        # One whose file is broken or gone stays while it is on the screen.
        self._names = known + [name for name in self._names if name == self._app.theme and name not in known]
        return list(loaded.faults)

    def _tell(self, faults: Sequence[str]) -> None:
        if faults:
            self._app.notify("\n".join(faults), title="Themes left out", severity="warning", markup=False)
