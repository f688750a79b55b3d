"""The open row of each rank: its device time comes with the next row, and a repetition may be the fuller one."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.events import MISSING
from specmon.formats.trtllm.iteration import Row

_HELD_STEPS = 256


@dataclass(slots=True)
class Step:
    """One step of one rank, complete."""

    row: Row
    offset: int
    at: float
    step_ms: float
    is_after_idle: bool  # timed by the host, behind a step without requests


@dataclass(slots=True)
class _Open:
    row: Row
    offset: int
    at: float


class RankRows:
    """The rows of one rank in their order."""

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._was_idle = False  # the step before the open one had no requests

    def add(self, row: Row, offset: int, at: float) -> tuple[Step | None, int | None]:
        """Take a row; answer the step that it completes, or the offset of one that lacks a figure for good."""
        before = self._open
        if before is not None and before.row.iteration == row.iteration:
            if row.fields > before.row.fields:
                self._open = _Open(row, before.offset, before.at)
            return None, None
        is_next = before is not None and row.iteration == before.row.iteration + 1
        answer = self._complete(row.device_ms if is_next else MISSING)
        self._was_idle = before is not None and before.row.scheduled == 0
        self._open = _Open(row, offset, at)
        return answer

    def finish(self) -> tuple[Step | None, int | None]:
        """No row follows."""
        answer = self._complete(MISSING)
        self._open = None
        return answer

    def _complete(self, device_ms: float) -> tuple[Step | None, int | None]:
        if (last := self._open) is None:
            return None, None
        row = last.row
        if not row.is_whole:
            return None, last.offset
        has_device = device_ms == device_ms and device_ms > 0
        step_ms = device_ms if has_device else row.host_ms
        if not step_ms > 0:
            # A row without any time is a row of a step all the same, but no sample.
            return (None, last.offset) if row.is_decoding else (None, None)
        return Step(row, last.offset, last.at, step_ms, self._was_idle and not has_device), None


class AttentionDp:
    """Whether the ranks share the requests (attention DP) or all work on the same ones."""

    def __init__(self) -> None:
        self.is_seen = False
        self._steps: dict[int, tuple[int, int]] = {}  # iteration to the first rank that told it, and its batch

    def look(self, row: Row) -> bool:
        """Look at a row; True when it is the first to show that they share."""
        if self.is_seen or row.scheduled is None:
            return False
        shares = row.mine is not None and row.all is not None and 0 < row.mine < row.all
        seen = self._steps.get(row.iteration)
        if seen is None:
            if len(self._steps) >= _HELD_STEPS:
                self._steps.pop(next(iter(self._steps)))
            self._steps[row.iteration] = row.rank, row.scheduled
        elif seen[0] != row.rank and seen[1] != row.scheduled:
            shares = True
        self.is_seen = shares
        return shares
