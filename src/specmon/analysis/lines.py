"""Many decode lines of one server as columns, with the prefill batches between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from specmon.analysis.sample import Reading

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


def different(values: Integers) -> list[int]:
    """The values that there are, in the order of their first; quick where there is only one, as nearly always."""
    if not len(values) or (values == values[0]).all():
        return [int(value) for value in values[:1]]
    return [int(value) for value in values[np.sort(np.unique(values, return_index=True)[1])]]


@dataclass(slots=True)
class Batch:
    """Decode lines in line order, of one rank or of several. `accept_len` is 1 for a baseline."""

    at: Floats
    running: Integers
    tok_s: Floats
    accept_len: Floats
    context_tokens: Floats  # of all requests
    queue: Floats
    graph: Integers

    def take(self, which: Integers) -> Batch:
        """Some of the lines."""
        return Batch(
            self.at[which],
            self.running[which],
            self.tok_s[which],
            self.accept_len[which],
            self.context_tokens[which],
            self.queue[which],
            self.graph[which],
        )


@dataclass(slots=True)
class Lines:
    """Decode lines in line order. A prefill stands before the decode line with its number, or behind the last one."""

    batch: Batch
    rank: Integers  # index into `tags`
    tags: tuple[str, ...]
    prefill_before: Integers
    prefill_rank: Integers
    prefill_tokens: Floats
    has_drafts: bool  # some line has a figure of speculation

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def decode_ranks(self) -> list[int]:
        """Which ranks gave decode lines."""
        return different(self.rank)

    @property
    def prefill_ranks(self) -> list[int]:
        """Which ranks gave prefill lines."""
        return different(self.prefill_rank)

    def take_as_baseline(self) -> None:
        """Each cycle gave one token."""
        accept = self.batch.accept_len
        self.batch.accept_len = np.where(accept == accept, accept, 1.0)

    def reading(self, position: int) -> Reading:
        """One decode line by itself."""
        batch = self.batch
        return Reading(
            at=float(batch.at[position]),
            running=int(batch.running[position]),
            tok_s=float(batch.tok_s[position]),
            accept_len=float(batch.accept_len[position]),
            context_tokens=float(batch.context_tokens[position]),
            queue=float(batch.queue[position]),
            graph=int(batch.graph[position]),
        )
