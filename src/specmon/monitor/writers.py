"""Which processes write the statistics lines of one rank: by turns they are more than one server's, perhaps."""

from __future__ import annotations

RETURNS = 3  # changes back to an earlier process that are no chance


class Writers:
    """Counts how often a process comes back to a rank that another one has written for in between."""

    def __init__(self) -> None:
        self._pids: dict[str, list[int]] = {}  # by rank, the newest last
        self._returns: dict[str, int] = {}

    def note(self, tag: str, pid: int) -> None:
        """A statistics line of a rank comes from a process."""
        pids = self._pids.setdefault(tag, [])
        if pids and pids[-1] == pid:
            return
        if pid in pids:
            pids.remove(pid)
            self._returns[tag] = self._returns.get(tag, 0) + 1
        pids.append(pid)

    def take_over(self, later: Writers) -> None:
        """Lines that were taken for another life's were of this one."""
        for tag, pids in later._pids.items():
            for pid in pids:
                self.note(tag, pid)
        for tag, count in later._returns.items():
            self._returns[tag] = self._returns.get(tag, 0) + count

    @property
    def by_turns(self) -> tuple[str, tuple[int, ...]] | None:
        """The rank for which processes write by turns, and their ids; None when there is none."""
        for tag, count in self._returns.items():
            if count >= RETURNS:
                return tag, tuple(sorted(self._pids[tag]))
        return None
