"""Which runs of one setting are repeats of each other: those whose speeds do not contradict one another.

Repeats differ by more than the noise within each of them: on an H200 one speculative server moved by 13 % from run to
run. Twice that is no repeat any more when the runs' own intervals lie apart as well: something else differed that no
log tells (a shared GPU, another kind of prompt), and one row over both would hold for neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from specmon.analysis.comparison import SAMPLES_NEEDED
from specmon.analysis.figures import LevelFigures

APART = 1.25  # times as fast, from which on two runs may contradict one another


def series_of(levels: Sequence[LevelFigures | None]) -> list[list[int]]:
    """The positions of runs that may be pooled, each series in the order given and the one of the first run first.

    Runs are cut where two neighbours in speed contradict one another. A run with no figure that could contradict (None,
    or too few clean samples) goes with the longest series.
    """
    known = sorted((speed, at) for at, level in enumerate(levels) if (speed := _speed_of(level)) is not None)
    series: list[list[int]] = [[at for _, at in known[:1]]]
    for (_, before), (_, at) in pairwise(known):
        if _contradict(levels[before], levels[at]):
            series.append([])
        series[-1].append(at)
    rest = set(range(len(levels))) - {at for _, at in known}
    max(series, key=len).extend(rest)
    return sorted(sorted(each) for each in series if each)


def _speed_of(level: LevelFigures | None) -> float | None:
    if level is None or level.clean < SAMPLES_NEEDED or not level.decode_tok_s:
        return None
    return level.decode_tok_s


def _contradict(slower: LevelFigures | None, faster: LevelFigures | None) -> bool:
    speeds = _speed_of(slower), _speed_of(faster)
    if slower is None or faster is None or speeds[0] is None or speeds[1] is None or speeds[1] <= APART * speeds[0]:
        return False
    intervals = slower.decode_tok_s_ci95, faster.decode_tok_s_ci95
    return intervals[0] is not None and intervals[1] is not None and intervals[0][1] < intervals[1][0]
