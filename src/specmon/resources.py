"""Where the bundled themes and captures lie: in a wheel inside the package, in a checkout at its top."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """The folder `themes` or `fixtures`, wherever this installation has it."""
    inside = _PACKAGE / "_bundled" / name
    return inside if inside.is_dir() else _PACKAGE.parents[1] / name
