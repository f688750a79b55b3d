"""What a session comes to, for programs and for people: JSON, text, plain lines."""

from __future__ import annotations

from specmon.reports.document import document_of, to_json
from specmon.reports.plain import plain_lines
from specmon.reports.text import to_text

__all__ = ["document_of", "plain_lines", "to_json", "to_text"]
