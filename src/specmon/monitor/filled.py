"""Which optional figures the samples of a block have, looked up once and not for every line."""

from __future__ import annotations

from array import array

from specmon.events import SampleColumns


class Filled:
    """The optional columns of a block's samples, None for those that it does not have."""

    __slots__ = (
        "accept_len",
        "accept_rate",
        "accepted",
        "context_tokens",
        "cycle_ms",
        "drafted",
        "drafts",
        "graph",
        "prompt_tok_s",
        "queue",
        "tokens",
        "usage",
        "window_s",
    )

    def __init__(self, columns: SampleColumns) -> None:
        self.accept_len = _filled(columns.accept_len)
        self.accept_rate = _filled(columns.accept_rate)
        self.accepted = _filled(columns.accepted)
        self.drafted = _filled(columns.drafted)
        self.drafts = _filled(columns.drafts)
        self.context_tokens = _filled(columns.context_tokens)
        self.cycle_ms = _filled(columns.cycle_ms)
        self.prompt_tok_s = _filled(columns.prompt_tok_s)
        self.queue = _filled(columns.queue)
        self.tokens = _filled(columns.tokens)
        self.usage = _filled(columns.usage)
        self.window_s = _filled(columns.window_s)
        self.graph = columns.graph if len(columns.graph) else None


def _filled(column: array[float]) -> array[float] | None:
    return column if len(column) else None
