"""The buckets of a server in the order of time, in pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specmon.analysis.buckets import BUCKET, NONE, Buckets, merged
from specmon.monitor.pieces import PIECE, Pieces


class BucketRows:
    """Grows by whole slots. What is given away stays as it is."""

    def __init__(self, *, piece: int = PIECE) -> None:
        self._rows = Pieces([("row", BUCKET)], piece=piece)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Memory."""
        return self._rows.nbytes

    @property
    def parts(self) -> tuple[Buckets, ...]:
        """All of them, piece by piece."""
        return tuple(part.view(BUCKET) for part in self._rows.view().arrays("row"))

    def add(self, new: Buckets) -> None:
        """Take in the buckets of some slots, in order; of a slot that there is already, both become one."""
        if not len(new):
            return
        if len(self) and new["start"][0] <= self.parts[-1]["start"][-1]:
            kept = self._count_before(float(new["start"][0]))
            new = merged(np.concatenate([joined(self.parts)[kept:], new]))
            self._rows.cut(kept)
        self._rows.extend({"row": new})

    def take_before(self, start: float) -> Buckets:
        """Let go of what begins before a moment, and answer it."""
        count = self._count_before(start)
        taken = joined([part.view(BUCKET) for part in self._rows.view().part(slice(0, count)).arrays("row")]).copy()
        self._rows.forget(count)
        return taken

    def forget_before(self, start: float) -> None:
        """Let go of what begins before a moment."""
        self._rows.forget(self._count_before(start))

    def start_of(self, index: int) -> float:
        """When the slot of a row begins."""
        return float(self._rows.view().at("row", index)["start"])  # type: ignore[index]  # a row of its type

    def _count_before(self, start: float) -> int:
        count = 0
        for part in self.parts:
            if part["start"][-1] >= start:
                return count + int(np.searchsorted(part["start"], start))
            count += len(part)
        return count


def joined(parts: Sequence[Buckets]) -> Buckets:
    """Parts as one; of a single one it shares the memory."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else NONE
