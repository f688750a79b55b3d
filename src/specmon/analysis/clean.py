"""The samples of one rank at one B that count: what the figures of a level are made of."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from specmon.analysis.columns import Column
from specmon.analysis.sample import Sample
from specmon.analysis.stack import Stack

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Drafting(NamedTuple):
    """How often each draft position was accepted in one sample, and in how many rounds."""

    by_position: tuple[float, ...]  # 0..1, share of `rounds`
    rounds: float  # draft rounds with a proposal
    cycles: float  # draft rounds with or without one

    @classmethod
    def of(cls, sample: Sample) -> Drafting:
        """Of a sample that tells its positions."""
        return cls(sample.by_position, sample.drafting_rounds, sample.rounds)


_NO_DRAFT = Drafting((), 0.0, 0.0)


@dataclass(slots=True)
class CleanPart:
    """Samples that are taken in together, as columns."""

    index: npt.NDArray[np.uint32]
    at: npt.NDArray[np.float64]
    tok_s: npt.NDArray[np.float64]
    accept_len: npt.NDArray[np.float64]
    cycle_ms: npt.NDArray[np.float64]
    cycles: npt.NDArray[np.float64]
    context_tokens: npt.NDArray[np.float32]
    queue: npt.NDArray[np.float64]
    graph: npt.NDArray[np.int8]
    prompt_tok_s: npt.NDArray[np.float64]


class CleanColumns:
    """The samples that count, one entry each, in line order."""

    __slots__ = (
        "_cycle_ms",
        "_drafting",
        "_running",
        "accept_len",
        "at",
        "context_tokens",
        "cycles",
        "graph",
        "index",
        "prompt_tok_s",
        "queue",
        "tok_s",
    )

    def __init__(self, running: int) -> None:
        self._running = running
        self.index: Stack[int] = Stack("I")
        self.at = Column()
        self.tok_s = Column()
        self.accept_len = Column()
        self.cycles = Column()
        self.context_tokens: Stack[float] = Stack("f")
        self.queue = Column()
        self.graph = array("b")
        self.prompt_tok_s = Column()
        self._cycle_ms: Stack[float] | None = None  # None: as the identity gives it
        self._drafting: list[Drafting] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def append(self, sample: Sample) -> None:
        """Take a sample in as the newest."""
        if self._cycle_ms is None:
            derived = self._derived(sample.accept_len, sample.server_tok_s)
            if sample.cycle_ms != derived and not (sample.cycle_ms != sample.cycle_ms and derived != derived):
                self._cycle_ms = Stack("d", self.every_cycle_ms())
        if self._cycle_ms is not None:
            self._cycle_ms.append(sample.cycle_ms)
        if self._drafting is not None or sample.by_position:
            if self._drafting is None:
                self._drafting = [_NO_DRAFT] * len(self)
            self._drafting.append(Drafting.of(sample) if sample.by_position else _NO_DRAFT)
        self.index.append(sample.index)
        self.at.append(sample.at)
        self.tok_s.append(sample.server_tok_s)
        self.accept_len.append(sample.accept_len)
        self.cycles.append(sample.cycles)
        self.context_tokens.append(sample.context_tokens)
        self.queue.append(sample.queue)
        self.graph.append(sample.graph)
        self.prompt_tok_s.append(sample.prompt_tok_s)

    def drop(self, position: int) -> None:
        """Take the sample at `position` out again."""
        for column in (self.at, self.tok_s, self.accept_len, self.cycles, self.queue, self.prompt_tok_s):
            del column[position]
        del self.index[position]
        del self.context_tokens[position]
        del self.graph[position]
        if self._cycle_ms is not None:
            del self._cycle_ms[position]
        if self._drafting is not None:
            del self._drafting[position]

    def forget(self, count: int) -> None:
        """Let the oldest go."""
        for column in (self.at, self.tok_s, self.accept_len, self.cycles, self.queue, self.prompt_tok_s):
            column.forget(count)
        self.index.forget(count)
        self.context_tokens.forget(count)
        del self.graph[:count]
        if self._cycle_ms is not None:
            self._cycle_ms.forget(count)
        if self._drafting is not None:
            del self._drafting[:count]

    @property
    def drafting(self) -> list[Drafting]:
        """The samples' shares by draft position; empty when no sample has any."""
        return self._drafting or []

    @property
    def has_own_cycles(self) -> bool:
        """Some cycle is not the one that follows from the throughput."""
        return self._cycle_ms is not None

    def cycle_ms(self, position: int) -> float:
        """C of one sample."""
        if self._cycle_ms is not None:
            return self._cycle_ms[position]
        return self._derived(self.accept_len[position], self.tok_s[position])

    def extend(self, part: CleanPart) -> None:
        """Take many samples in, whose cycles are those of the identity."""
        if self._cycle_ms is not None:
            self._cycle_ms.extend(part.cycle_ms.data)
        if self._drafting is not None:
            self._drafting.extend([_NO_DRAFT] * len(part.at))
        self.index.extend(part.index.data)
        self.at.extend(part.at)
        self.tok_s.extend(part.tok_s)
        self.accept_len.extend(part.accept_len)
        self.cycles.extend(part.cycles)
        self.context_tokens.extend(part.context_tokens.data)
        self.queue.extend(part.queue)
        self.graph.frombytes(part.graph.data.cast("B"))
        self.prompt_tok_s.extend(part.prompt_tok_s)

    def cycles_ms(self, part: slice) -> npt.NDArray[np.float64]:
        """C of a part of the samples, as an array of its own."""
        import numpy as np

        if self._cycle_ms is not None:
            return self._cycle_ms.numbers(part).astype(np.float64, copy=False)
        tok_s = self.tok_s.numbers(part)
        if self._running <= 0:
            return np.full(len(tok_s), math.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(tok_s > 0, 1000 * self.accept_len.numbers(part) * self._running / tok_s, math.nan)

    def contexts(self, part: slice) -> npt.NDArray[np.float32]:
        """Context tokens of a part of the samples, as an array of its own."""
        import numpy as np

        return self.context_tokens.numbers(part).astype(np.float32, copy=False)

    @property
    def graphs(self) -> set[int]:
        """Which graph states there are."""
        return {signed - 256 if signed > 127 else signed for signed in set(self.graph.tobytes())}

    def every_cycle_ms(self) -> Stack[float] | list[float]:
        """C of all samples."""
        if self._cycle_ms is not None:
            return self._cycle_ms
        speeds, running = self.tok_s.every(), self._running
        if running <= 0:
            return [math.nan] * len(speeds)
        if (accept := self.accept_len.only) is not None:
            tokens = 1000 * accept * running
            return [tokens / tok_s if tok_s > 0 else math.nan for tok_s in speeds]
        pairs = zip(self.accept_len.every(), speeds, strict=True)
        return [1000 * accept * running / tok_s if tok_s > 0 else math.nan for accept, tok_s in pairs]

    def _derived(self, accept_len: float, tok_s: float) -> float:
        running = self._running
        return 1000 * accept_len * running / tok_s if tok_s > 0 and running > 0 else math.nan
