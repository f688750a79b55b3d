"""Following an import without causing one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from specmon_probe.watch import when_imported


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with the modules `one` and `two`, and the import system as it was afterwards."""
    name = "watched_package"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "one.py").write_text("value = 1\n")
    (tmp_path / name / "two.py").write_text("raise ImportError('half an upgrade')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield name
    sys.meta_path[:] = before
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


def test_function_gets_the_module_once_it_was_executed(package: str) -> None:
    seen: list[int] = []
    when_imported({f"{package}.one": lambda module: seen.append(module.value)})
    assert seen == []
    module = importlib.import_module(f"{package}.one")
    assert seen == [1]
    importlib.reload(module)
    assert seen == [1]


def test_two_who_wait_for_one_module_are_both_called(package: str) -> None:
    seen: list[str] = []
    for name in ("first", "second"):
        when_imported({f"{package}.one": lambda module, name=name: seen.append(name)})  # type: ignore[misc]
    importlib.import_module(f"{package}.one")
    assert seen == ["first", "second"]


def test_module_keeps_its_genuine_loader(package: str) -> None:
    when_imported({f"{package}.one": lambda module: None})
    module = importlib.import_module(f"{package}.one")
    assert module.__spec__ is not None
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(module.__spec__.loader)


def test_a_loaded_module_is_taken_at_once(package: str) -> None:
    importlib.import_module(f"{package}.one")
    finders = len(sys.meta_path)
    seen: list[ModuleType] = []
    when_imported({f"{package}.one": seen.append})
    assert len(seen) == 1
    assert len(sys.meta_path) == finders


def test_asking_for_a_spec_does_not_use_the_hook_up(package: str) -> None:
    seen: list[ModuleType] = []
    when_imported({f"{package}.one": seen.append})
    importlib.util.find_spec(f"{package}.one")
    assert seen == []
    importlib.import_module(f"{package}.one")
    assert len(seen) == 1


def test_the_watcher_goes_when_everything_has_come(package: str) -> None:
    finders = list(sys.meta_path)
    when_imported({f"{package}.one": lambda module: None})
    assert len(sys.meta_path) == len(finders) + 1
    importlib.import_module(f"{package}.one")
    assert sys.meta_path == finders


def test_an_import_that_fails_fails_as_it_would_have(package: str) -> None:
    seen: list[ModuleType] = []
    when_imported({f"{package}.two": seen.append})
    with pytest.raises(ImportError, match="half an upgrade"):
        importlib.import_module(f"{package}.two")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.three")
    assert seen == []


def test_a_function_that_fails_leaves_the_import_whole_and_one_line(
    package: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(module: ModuleType) -> None:
        raise AttributeError("no such class")

    when_imported({f"{package}.one": fails})
    assert importlib.import_module(f"{package}.one").value == 1
    (record,) = caplog.records
    assert record.getMessage() == (
        f"specmon-probe cannot hook {package}.one (AttributeError: no such class); the server is not affected."
    )
