"""The probe stands alone: in somebody else's environment it may need nothing, and an old interpreter must do."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).resolve().parents[2] / "probe" / "src").rglob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_only_the_standard_library_is_imported_and_sglang_where_it_is_there(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 10))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
    foreign = {name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "specmon_probe"}}
    assert foreign <= {"sglang.srt.plugins.hook_registry"}
