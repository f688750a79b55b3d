"""What a session comes to, for programs and for people: JSON, text, plain lines."""

from __future__ import annotations

from specmon.reports.document import document_of, to_json

__all__ = ["document_of", "to_json"]
