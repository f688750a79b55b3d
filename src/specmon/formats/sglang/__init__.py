"""SGLang's way of writing logs, from 0.4.1 on, forks and foreign prefixes included.

`statistics` reads decode and prefill lines, `launch` the settings record, `lifecycle` the rare lines,
`prefix` what stands in front of a body, and `parser` finds all of them in a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specmon.formats.sglang.parser import SglangParser

ENGINE = "sglang"


class SglangDialect:
    """The door to this dialect."""

    @property
    def engine(self) -> str:
        """The engine's name in reports."""
        return ENGINE

    def open(self) -> SglangParser:
        """A parser for a new stream."""
        from specmon.formats.sglang.parser import SglangParser  # its patterns take a while to compile

        return SglangParser()


__all__ = ["ENGINE", "SglangDialect"]
