"""What happened in a session, as places on the clock that one can jump to."""

from __future__ import annotations

import math

from specmon.monitor.snapshot import MarkKind, Moment, Severity, Snapshot

_LOUDNESS = {MarkKind.CRASH: Severity.ALERT, MarkKind.DRIFT: Severity.ALERT}


def moments_of(snapshot: Snapshot) -> tuple[Moment, ...]:
    """What happened to all servers so far, oldest first: the marks of the charts, and event lines without one."""
    views = [view for view in (snapshot.baseline, snapshot.speculative, *snapshot.others) if view is not None]
    found = [
        Moment(mark.at, _LOUDNESS.get(mark.kind, Severity.WARNING), f"{view.name}: {mark.text}", mark.kind)
        for view in views
        for mark in view.marks
    ]
    marked = {moment.at for moment in found}
    found += [
        Moment(line.at, line.severity, f"{line.server}: {line.text}" if line.server else line.text)
        for line in snapshot.events
        if line.at not in marked
    ]
    # A line without a time has no place to go to.
    return tuple(sorted((moment for moment in found if math.isfinite(moment.at)), key=lambda m: m.at))
