"""Themes from TOML files: those that come with specmon and the user's own, checked before Textual sees them.

Textual accepts a theme with a wrong colour and dies a moment later, so every colour is parsed here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from platformdirs import user_config_path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from specmon.resources import bundled

DEFAULT_THEME = "specmon-dark"

DEFAULT_VARIABLES = {
    "brand": "#7fb4dc",
    "quiet": "#8b98a5",
    "faint": "#3a4652",
    "good": "#4fbf9f",
    "caution": "#e0b84c",
    "alert": "#ff6b5e",
    "series-baseline": "#56b4e9",
    "series-baseline-area": "#1d4860",
    "series-speculative": "#e69f00",
    "series-speculative-area": "#594010",
    "reference-line": "#c3ccd4",
    "band-ok": "#10261f",
    "band-info": "#1a222b",
    "band-warning": "#2c2611",
    "band-alert": "#3b1719",
}
"""Our own style variables; a theme may set any of them."""


def _is_colour(value: str) -> str:
    try:
        Color.parse(value)
    except ColorParseError:
        raise ValueError(f"{value!r} is no colour; write it as #rrggbb") from None
    return value


Colour = Annotated[str, AfterValidator(_is_colour)]


class ThemeColours(BaseModel):
    """The colours that Textual derives its shades from."""

    model_config = ConfigDict(extra="forbid")

    primary: Colour
    secondary: Colour | None = None
    warning: Colour | None = None
    error: Colour | None = None
    success: Colour | None = None
    accent: Colour | None = None
    foreground: Colour | None = None
    background: Colour | None = None
    surface: Colour | None = None
    panel: Colour | None = None


class ThemeFile(BaseModel):
    """One theme file."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    dark: bool = True
    ansi: bool = False  # the terminal's own palette: colours named ansi_blue, ansi_default, …
    colors: ThemeColours
    variables: dict[str, Colour] = Field(default_factory=dict)

    def theme(self) -> Theme:
        """The theme as Textual wants it."""
        unknown = sorted(set(self.variables) - set(DEFAULT_VARIABLES))
        if unknown:
            raise ValueError(f"unknown variable {', '.join(unknown)}")
        colours, variables = self.colors.model_dump(exclude_none=True), dict(self.variables)
        if self.ansi:  # what Textual mixes of two colours, a palette does not have
            colours = {"boost": "ansi_default", **colours}
            variables = {**BUILTIN_THEMES["ansi-dark" if self.dark else "ansi-light"].variables, **variables}
        return Theme(name=self.name, dark=self.dark, ansi=self.ansi, variables=variables, **colours)


@dataclass(frozen=True, slots=True)
class LoadedThemes:
    """What could be read, and a sentence for each file that could not."""

    themes: tuple[Theme, ...]
    faults: tuple[str, ...]


def theme_folders() -> tuple[Path, ...]:
    """Where themes lie: the bundled ones first, so that a user's file of the same name replaces one."""
    return bundled("themes"), user_config_path("specmon") / "themes"


def load_themes(folders: Sequence[Path] | None = None) -> LoadedThemes:
    """Read every theme file; a bad one is skipped and reported, never fatal."""
    themes: dict[str, Theme] = {}
    faults: list[str] = []
    for path in _files(theme_folders() if folders is None else folders):
        try:
            theme = ThemeFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).theme()
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            faults.append(f"{path.name}: {where}: {first['msg'].removeprefix('Value error, ')}")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            faults.append(f"{path.name}: {error}")
        else:
            themes[theme.name] = theme
    return LoadedThemes(tuple(themes.values()), tuple(faults))


def stamps_of(folders: Sequence[Path] | None = None) -> tuple[tuple[Path, int, int], ...]:
    """What tells that a theme was saved: time and size of each file."""
    found = []
    for path in _files(theme_folders() if folders is None else folders):
        with suppress(OSError):  # gone between the two looks
            state = path.stat()
            found.append((path, state.st_mtime_ns, state.st_size))
    return tuple(found)


def _files(folders: Iterable[Path]) -> Iterable[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.glob("*.toml"))
