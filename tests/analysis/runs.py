"""Small runs for the tests of the statistics."""

from __future__ import annotations

import math

from specmon.analysis.rules import Rule
from specmon.analysis.run import RunStatistics
from specmon.analysis.sample import Reading


class Recorder:
    """Feeds a run with samples that lie as far apart as their own windows say."""

    def __init__(self, *, is_speculative: bool = False) -> None:
        self.run = RunStatistics(is_speculative=is_speculative)
        self.at = 1000.0

    def sample(
        self,
        tok_s: float = 100.0,
        *,
        running: int = 1,
        accept: float = math.nan,
        tag: str = "",
        idle_s: float = 0.0,
        context: float = math.nan,
        graph: int = -1,
        at: float | None = None,
    ) -> Rule:
        """One decode line; its window is forty cycles long."""
        length = 1.0 if accept != accept else accept
        self.at = at if at is not None else self.at + (40 * running * length / tok_s if tok_s else 0) + idle_s
        reading = Reading(self.at, running, tok_s, accept, context_tokens=context, graph=graph)
        return self.run.add(tag, reading)

    def samples(self, count: int, tok_s: float = 100.0, *, running: int = 1, tag: str = "") -> list[Rule]:
        """Several alike."""
        return [self.sample(tok_s, running=running, tag=tag) for _ in range(count)]

    @property
    def verdicts(self) -> list[Rule]:
        """Of all samples, as they stand now."""
        return [Rule(verdict) for verdict in self.run.verdicts]
