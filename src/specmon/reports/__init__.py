"""What a session comes to, for programs and for people: JSON, text, plain lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specmon.reports.document import document_of, to_json
    from specmon.reports.plain import plain_lines
    from specmon.reports.text import to_text

# Each is imported when it is asked for: who wants JSON needs no terminal library.
_HOMES = {"document_of": "document", "to_json": "document", "plain_lines": "plain", "to_text": "text"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


__all__ = ["document_of", "plain_lines", "to_json", "to_text"]
