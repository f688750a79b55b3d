"""A request whose record is still open: its draft line comes some lines after its timing."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from specmon.events import MISSING, SampleColumns
from specmon.formats.llamacpp.timing import Drafts, Evaluation


@dataclass(slots=True)
class Request:
    """The record of one request, from its decode timing on."""

    offset: int  # of the timing line
    at: float
    child: int
    slot: int
    task: int
    running: int
    timing: Evaluation
    drafts: Drafts | None = None

    def is_of(self, child: int, slot: int, task: int) -> bool:
        """Whether a line of that slot and task belongs to it."""
        return (self.child, self.slot, self.task) == (child, slot, task)


@dataclass(slots=True)
class Requests:
    """Requests whose records are closed, as rows of the sample columns."""

    rows: list[Request] = field(default_factory=list)

    def columns(self) -> SampleColumns:
        """A = n / (n - accepted) over the whole request; nothing is said of A without a draft line."""
        rows = self.rows
        if not rows:
            return SampleColumns()
        count = len(rows)
        drafts = [row.drafts for row in rows]
        rounds = [
            MISSING if d is None else float(row.timing.tokens - d.accepted) for row, d in zip(rows, drafts, strict=True)
        ]
        return SampleColumns(
            offset=array("q", [row.offset for row in rows]),
            at=array("d", [row.at for row in rows]),
            rank=array("q", bytes(8 * count)),
            process=array("q", [-1] * count),
            running=array("q", [row.running for row in rows]),
            tok_s=array("d", [row.timing.tok_s for row in rows]),
            accept_len=array(
                "d", [row.timing.tokens / n if n == n else MISSING for row, n in zip(rows, rounds, strict=True)]
            ),
            window_s=array("d", [row.timing.seconds for row in rows]),
            tokens=array("d", [float(row.timing.tokens) for row in rows]),
            drafts=array("d", rounds),
            drafted=array("d", [MISSING if d is None else float(d.proposed) for d in drafts]),
            accepted=array("d", [MISSING if d is None else float(d.accepted) for d in drafts]),
            by_position=[() if d is None else d.by_position for d in drafts],
        )
