"""docs/settings.md tells every key, in the words of the model."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from specmon.settings.file import parse_settings
from specmon.settings.model import Common, Host, Notify, Session, Settings, Ssh
from specmon.settings.names import VARIABLES

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def rows(table: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, field in table.model_fields.items():
        if field.description is not None:
            yield f"{prefix}{name}", field.description


def tables() -> dict[str, str]:
    """What stands behind each mark of the document."""
    settings = [*rows(Settings), *rows(Ssh, "ssh."), *rows(Notify, "notify.")]
    own = [(key, text) for key, text in rows(Session) if key not in Common.model_fields]
    return {
        "keys": "".join(f"| `{key}` | `{VARIABLES[key]}` | {text} |\n" for key, text in settings),
        "hosts": "".join(f"| `{key}` | {text} |\n" for key, text in rows(Host)),
        "sessions": "".join(f"| `{key}` | {text} |\n" for key, text in own),
    }


def test_every_key_stands_in_the_document_with_variable_and_meaning() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in tables().items():
        assert table in text, f"the table of {name} in {DOCUMENT.name} should be:\n{table}"
    assert {key for key, _ in rows(Settings)} | {"ssh", "notify", "hosts", "keys", "sessions"} == set(
        Settings.model_fields
    )


def test_the_example_is_right() -> None:
    example = DOCUMENT.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert parse_settings(example, DOCUMENT).settings.sessions["kimi"].reference == "kimi-tuned"
    assert set(tomllib.loads(example)) >= {"ssh", "notify", "hosts", "keys", "sessions"}
