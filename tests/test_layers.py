"""The layers hold: data flows one way, and the pure parts know nothing of I/O or the screen."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "specmon"

# What each part may import of ours, besides itself. A part that is not listed fails the test.
ALLOWED: dict[str, set[str]] = {
    "__init__": set(),
    "scrape": set(),
    "__main__": {"cli"},
    "errors": set(),
    "faults": set(),
    "secrets": set(),
    "shares": set(),
    "resources": set(),
    "visible": set(),
    "block": set(),
    "events": {"block"},
    "formats": {"events", "faults", "scrape", "secrets"},
    "references": {"errors", "faults", "secrets"},
    "clients": {"errors"},
    "captures": {"errors", "faults", "references"},
    "sources": {"errors", "secrets"},
    "analysis": {"events", "references", "scrape", "shares"},
    "monitor": {
        "analysis",
        "clients.result",
        "errors",
        "events",
        "formats",
        "references",
        "scrape",
        "secrets",
        "shares",
        "sources.events",
        "sources.framing",
        "sources.utf16",
        "visible",
    },
    "reports": {"", "analysis", "events", "monitor", "references", "shares", "visible"},  # "" is the version
    "ui": {
        "errors",
        "monitor.announcing",
        "monitor.diffview",
        "monitor.explaining",
        "monitor.feed",
        "monitor.held",
        "monitor.logpage",
        "monitor.moments",
        "monitor.phaserecords",
        "monitor.ratio",
        "monitor.shelfview",
        "monitor.snapshot",
        "monitor.sweepview",
        "resources",
        "shares",
        "visible",
    },
    "feeds": {"captures", "errors", "events", "formats", "monitor", "references", "scrape", "sources"},
    "demo": {"captures", "errors", "feeds", "references", "resources", "sources"},
    "options": {"commands"},  # how a share is written
    "settings": {"errors", "faults"},
    "cli": {"", "commands", "errors", "options", "settings", "visible"},
    "commands": {
        "analysis",
        "captures",
        "clients",
        "demo",
        "errors",
        "events",
        "feeds",
        "formats",
        "monitor",
        "references",
        "reports",
        "resources",
        "scrape",
        "secrets",
        "settings",
        "sources",
        "ui",
        "visible",
    },
}
PURE = ("block", "events", "scrape", "formats", "analysis", "secrets", "shares")
FORBIDDEN_IN_PURE = {"asyncio", "asyncssh", "textual", "rich", "click", "time", "datetime.now", "random", "socket"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_module_imports_only_what_its_layer_may(path: Path) -> None:
    part = dotted(path).split(".")[0]
    assert part in ALLOWED, f"{part} has no place in the layers yet"
    for name in imports_of(path):
        if name != "specmon" and not name.startswith("specmon."):
            continue
        inner = name.removeprefix("specmon").removeprefix(".")
        if inner == "__version__":
            inner = ""
        if inner.split(".")[0] == part and inner:
            continue
        if inner == "" and name == "specmon" and "" not in ALLOWED[part]:
            continue  # `from specmon import x` also yields specmon.x, which is judged
        allowed = any(inner == place or (place and inner.startswith(f"{place}.")) for place in ALLOWED[part])
        parent_of_allowed = any(place.startswith(f"{inner}.") for place in ALLOWED[part]) if inner else True
        assert allowed or parent_of_allowed, f"{dotted(path)} imports specmon.{inner}"


@pytest.mark.parametrize("path", [p for p in modules() if dotted(p).split(".")[0] in PURE], ids=dotted)
def test_pure_module_imports_no_io_clock_or_screen(path: Path) -> None:
    found = {
        name for name in imports_of(path) for bad in FORBIDDEN_IN_PURE if name == bad or name.startswith(f"{bad}.")
    }
    assert not found


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("part", ["events", "formats.sglang", "analysis"])
def test_pure_part_loads_neither_asyncio_nor_asyncssh_nor_textual(part: str) -> None:
    assert not {"asyncio", "asyncssh", "textual"} & loaded_by(f"import specmon.{part}")


def test_command_line_loads_nothing_heavy() -> None:
    assert not {"asyncio", "asyncssh", "textual", "numpy", "pydantic", "rich", "tomlkit"} & loaded_by(
        "import specmon.cli"
    )


def test_screen_loads_neither_ssh_nor_parsers() -> None:
    loaded = loaded_by("import specmon.ui.app")
    assert not {name for name in loaded if name.startswith(("asyncssh", "specmon.sources", "specmon.formats"))}
