"""How many slots decode together: counted from `launch_slot_` to `release`.

slot launch_slot_: id  3 | task 1 | processing task, is_child = 0
slot      release: id  3 | task 1 | stop processing: n_tokens = 259, truncated = 0
"""

from __future__ import annotations

from collections import deque

_HELD_CHANGES = 4096


class Slots:
    """The slots of one server process. Without a clock the slot lines themselves are the time."""

    def __init__(self) -> None:
        self._active: dict[int, int] = {}  # slot to task
        self._began: dict[int, tuple[int, int]] = {}  # slot to its last task and the tick of its launch
        self._changes: deque[tuple[float, int]] = deque(maxlen=_HELD_CHANGES)
        self._ticks = 0

    def launch(self, slot: int, task: int, at: float) -> None:
        """A request begins in a slot."""
        self._ticks += 1
        self._active[slot] = task
        self._began[slot] = task, self._ticks
        self._note(at)

    def release(self, slot: int, at: float) -> None:
        """A slot is free again."""
        self._ticks += 1
        if self._active.pop(slot, None) is not None:
            self._note(at)

    def running_during(self, slot: int, task: int, at: float, seconds: float) -> int:
        """The number of busy slots for most of a decode time that ended at `at`."""
        last_task, launched = self._began.get(slot, (None, 0))
        is_known = last_task == task
        end, start = (at, at - seconds) if at == at else (float(self._ticks + 1), float(launched))
        weights: dict[int, float] = {}
        until = end
        for changed, count in reversed(self._changes):
            since = max(changed, start)
            if until > since:
                weights[count] = weights.get(count, 0.0) + until - since
                until = since
            if changed <= start:
                break
        most = max(weights, key=lambda count: (weights[count], count)) if weights else len(self._active)
        # A request whose launch is not in view was running all the same.
        return max(1, most + (not is_known))

    def _note(self, at: float) -> None:
        self._changes.append((at if at == at else float(self._ticks), len(self._active)))
