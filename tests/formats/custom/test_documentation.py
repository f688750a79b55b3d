"""The documentation of custom formats is what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.formats.custom import load_format
from specmon.formats.custom.fields import FIELDS, KINDS

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "fixtures" / "formats").glob("*.toml"))
PAGE = (ROOT / "docs" / "custom-formats.md").read_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_that_ships_passes_its_own_samples(path: Path) -> None:
    dialect = load_format(path.read_text(), str(path))
    assert all(outcome.is_right for outcome in dialect.outcomes())


def test_the_page_shows_the_example_as_it_is() -> None:
    shown = PAGE.split("```toml\n")[1].split("```")[0]
    assert shown == (ROOT / "fixtures" / "formats" / "labserve.toml").read_text()


def test_the_page_lists_every_field_with_its_unit_and_every_kind() -> None:
    for name, field in FIELDS.items():
        assert f"| `{name}` | {field.unit} | {field.meaning} |" in PAGE
    for kind, meaning in KINDS.items():
        assert f"| `{kind}` | {meaning} |" in PAGE


def test_the_readme_leads_to_the_page() -> None:
    assert "docs/custom-formats.md" in (ROOT / "README.md").read_text()
