"""vLLM's way of writing logs: V0 (0.4 to 0.9) and V1, text and JSON records.

`statistics` reads the engine and draft lines, `rounds` makes draft rounds of their counts, `launch` the
settings records, `lifecycle` the rare lines, `prefix` what stands in front of a body, `pairing` brings the
two statistics lines of one tick together, and `parser` finds all of them in a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specmon.formats.vllm.parser import VllmParser

ENGINE = "vllm"


class VllmDialect:
    """The door to this dialect."""

    @property
    def engine(self) -> str:
        """The engine's name in reports."""
        return ENGINE

    def open(self) -> VllmParser:
        """A parser for a new stream."""
        from specmon.formats.vllm.parser import VllmParser  # its patterns take a while to compile

        return VllmParser()


__all__ = ["ENGINE", "VllmDialect"]
