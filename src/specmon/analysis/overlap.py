"""Whether two servers worked at the same time, by the moments of their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from specmon.analysis.spread import median_of
from specmon.events import FIRST_DATED_S

_GAPS = 3.0  # usual gaps, up to which a server is taken to have worked on
_SHORTEST_GAP_S = 3.0  # stamps are whole seconds
_FIRST_DAY_OF_YEARS_S = 366 * 86_400.0  # stamps without a year begin here, uptimes and hours of a day before it


def shared_seconds(left: Sequence[float], right: Sequence[float]) -> float:
    """How long both worked (s), by moments in order on one clock; 0 where the clocks say nothing of each other."""
    if not left or not right or _kind_of_clock(left[0]) != _kind_of_clock(right[0]) or not _kind_of_clock(left[0]):
        return 0.0
    ours, theirs = list(_spells(left)), list(_spells(right))
    seconds, i, j = 0.0, 0, 0
    while i < len(ours) and j < len(theirs):
        seconds += max(0.0, min(ours[i][1], theirs[j][1]) - max(ours[i][0], theirs[j][0]))
        if ours[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1
    return seconds


def busy_seconds(moments: Sequence[float]) -> float:
    """How long a server worked (s): without the times between its spells."""
    return sum(end - start for start, end in _spells(moments))


def _spells(moments: Sequence[float]) -> Iterator[tuple[float, float]]:
    """First and last moment of each time of work."""
    if not moments:
        return
    gaps = [after - before for before, after in pairwise(moments)]
    longest = max(_SHORTEST_GAP_S, _GAPS * (median_of(sorted(gaps)) or 0.0))
    start = moments[0]
    for place, gap in enumerate(gaps):
        if gap > longest:
            yield start, moments[place]
            start = moments[place + 1]
    yield start, moments[-1]


def _kind_of_clock(at: float) -> int:
    """0 for an uptime or an hour of some day, 1 for a date without a year, 2 for a date."""
    return 2 if at >= FIRST_DATED_S else 1 if at >= _FIRST_DAY_OF_YEARS_S else 0
