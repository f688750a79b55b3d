"""What a reader must know about a server before believing its figures: what happened and what to do."""

from __future__ import annotations

from specmon.monitor.lifenotices import of_level, of_life, of_own_cycle, without_clean_samples
from specmon.monitor.notice import Notice as Notice
from specmon.monitor.phasenotices import of_phases
from specmon.monitor.server import ServerMonitor
from specmon.monitor.streamnotices import of_stream


def notices_of(server: ServerMonitor, *, is_finished: bool) -> tuple[Notice, ...]:
    """All notices about one server, about its current life where they concern a life."""
    if server.unreadable is not None:
        return (Notice("unreadable", server.unreadable),)
    found = list(of_stream(server, is_finished=is_finished))
    if (life := server.life) is not None:
        figures = life.figures(is_exact=is_finished)
        found += of_life(server, life, figures, is_finished=is_finished)
        found += of_phases(life)
        found += without_clean_samples(figures)
        for level in figures.levels:
            found += of_level(level)
            found += of_own_cycle(server, level)
    return tuple(found)
