"""llama.cpp's way of writing logs: `llama-server` from 2023 on, and the offline tools' closing lines.

`line` splits a line into time, process and body, `timing` reads the figures of a request, `slots` counts who
decodes together, `lifecycle` reads the rare lines, `request` keeps the record that is still open, and `parser`
finds all of them in a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specmon.formats.llamacpp.parser import LlamaCppParser

ENGINE = "llama.cpp"


class LlamaCppDialect:
    """The door to this dialect."""

    @property
    def engine(self) -> str:
        """The engine's name in reports."""
        return ENGINE

    def open(self) -> LlamaCppParser:
        """A parser for a new stream."""
        from specmon.formats.llamacpp.parser import LlamaCppParser  # its patterns take a while to compile

        return LlamaCppParser()


__all__ = ["ENGINE", "LlamaCppDialect"]
