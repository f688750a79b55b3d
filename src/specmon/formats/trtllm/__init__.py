"""TensorRT-LLM's iteration log (PyTorch backend, `print_iter_log: true`): one line an executor step.

`iteration` reads a row, `ranks` waits for the row that completes it, and `parser` finds the rows in a block.
The log knows neither tokens per second nor an accept length: a row gives the batch and the step time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specmon.formats.trtllm.parser import TrtLlmParser

ENGINE = "tensorrt-llm"


class TrtLlmDialect:
    """The door to this dialect."""

    @property
    def engine(self) -> str:
        """The engine's name in reports."""
        return ENGINE

    def open(self) -> TrtLlmParser:
        """A parser for a new stream."""
        from specmon.formats.trtllm.parser import TrtLlmParser  # its patterns take a while to compile

        return TrtLlmParser()


__all__ = ["ENGINE", "TrtLlmDialect"]
