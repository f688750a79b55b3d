"""Another recorded reference that a measured speed fits, and where the others are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.references.beside import recorded_in
from specmon.references.match import better_match
from specmon.references.model import Reference, ReferenceLevel


def _reference(
    name: str, tok_s: float, *, running: int = 1, model: str | None = "kimi", spread: float = 0.0
) -> Reference:
    level = ReferenceLevel(running=running, tok_s=tok_s, spread=spread or None)
    return Reference(name=name, model=model, levels=(level,))


_TUNED = _reference("tuned", 88.8)
_UNTUNED = _reference("untuned", 62.9)


@pytest.mark.parametrize(
    ("tok_s", "others", "expected"),
    [
        (63.1, [_TUNED, _UNTUNED], "untuned"),
        (75.0, [_TUNED, _UNTUNED], None),  # fits neither within its tolerance
        (88.0, [_TUNED, _UNTUNED], None),  # the named one fits best
        (63.1, [_UNTUNED, _reference("closer", 63.2)], "closer"),
        (63.1, [_reference("other level", 62.9, running=8)], None),
        (63.1, [_reference("other model", 62.9, model="llama")], None),
        (63.1, [_reference("of unknown model", 62.9, model=None)], "of unknown model"),
        (75.0, [_reference("loose", 66.0, spread=0.05)], "loose"),  # its sessions differ by that much
        (63.1, [], None),
    ],
)
def test_best_fitting_reference_is_named(tok_s: float, others: list[Reference], expected: str | None) -> None:
    found = better_match(_TUNED, others, 1, 1000 / tok_s)
    assert (found.name if found else None) == expected


def test_references_of_a_folder_are_found_whatever_else_lies_there(tmp_path: Path) -> None:
    text = 'schema = 1\nname = "{}"\n[[level]]\nrunning = 1\ntok_s = {}\n'
    (tmp_path / "b.toml").write_text(text.format("b", 2.0))
    (tmp_path / "a.toml").write_text(text.format("a", 1.0))
    (tmp_path / "cut.toml").write_text('schema = 1\nname = "c')
    (tmp_path / "theme.toml").write_text('colour = "red"\n')
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "folder.toml").mkdir()
    assert [reference.name for reference in recorded_in((tmp_path,))] == ["a", "b"]


def test_first_folder_wins_and_a_missing_one_has_none(tmp_path: Path) -> None:
    text = 'schema = 1\nname = "a"\n[[level]]\nrunning = 1\ntok_s = {}\n'
    for name, tok_s in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.toml").write_text(text.format(tok_s))
    found = recorded_in((tmp_path / "none", tmp_path / "one", tmp_path / "two"))
    assert [reference.levels[0].tok_s for reference in found] == [1.0]
