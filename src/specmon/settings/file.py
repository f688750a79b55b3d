"""Reading the settings file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from specmon.errors import ConfigError
from specmon.faults import Keys, line_of, sentence_of, tables_of
from specmon.settings.model import Session, Settings
from specmon.settings.names import settings_path

_LARGEST = 1 << 20  # bytes
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file that is right."""

    path: Path
    text: str
    settings: Settings

    def place_of(self, keys: Keys) -> str:
        """File and line of a key."""
        line = line_of(self.text, keys)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def session(self, name: str) -> Session:
        """A named session. ConfigError with the known names when there is none of that name."""
        known = self.settings.sessions
        if name not in known:
            raise no_session(name, self.path, sorted(known))
        return known[name]


def no_session(name: str, path: Path, known: list[str]) -> ConfigError:
    """No session has that name."""
    if known:
        return ConfigError(f"no session is called @{name}. Known: {', '.join(f'@{each}' for each in known)} ({path}).")
    return ConfigError(f"no session is called @{name}: {path} has none. Write a table [sessions.{name}] with hosts.")


def read_settings(path: Path | None = None) -> SettingsFile | None:
    """The user's settings, None without a file. ConfigError with file, line and key when something in it is wrong."""
    place = settings_path() if path is None else path
    text = _text(place)
    return None if text is None else parse_settings(text, place)


def parse_settings(text: str, path: Path) -> SettingsFile:
    """The settings in a text. ConfigError with line and key when something is wrong."""
    try:
        content = tables_of(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = "" if at is None else f":{at[1] or max(1, len(text.splitlines()))}"
        message = _AT.sub("", str(error))
        message = message[:1].lower() + message[1:]
        raise ConfigError(f"settings {path}{line}: it is not valid TOML: {message}. Correct the file.") from error
    try:
        settings = Settings.model_validate(content, context={"folder": path.parent})
    except ValidationError as error:
        raise ConfigError(sentence_of("settings", str(path), text, error)) from error
    return SettingsFile(path, text, settings)


def _text(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"settings {path}: it is no file. Move it away.")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"settings {path}: {reason}. Make it readable, or move it away.") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"settings {path}: it is larger than a megabyte. Correct the file.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"settings {path}: it is not UTF-8 text. Correct the file.") from error
