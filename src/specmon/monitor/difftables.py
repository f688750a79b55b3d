"""The pairs of conditions of a session: reference and baseline, both servers, before and after each restart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from specmon.monitor.causes import causes_of
from specmon.monitor.diffview import DiffTable
from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.timewords import time_of_day
from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint

_RESTARTS_TOLD = 4  # of each server, the newest


def diff_tables(session: Session) -> tuple[DiffTable, ...]:
    """Every pair there is, the likeliest cause of trouble first."""
    names = session.names()
    baseline, speculative = session.pair()
    found = []
    if session.reference is not None and baseline is not None and baseline.life is not None:
        found.append(_against_reference(session, baseline, names[baseline.key]))
    if baseline is not None and speculative is not None and baseline.life is not None and speculative.life is not None:
        lives = baseline.life.conditions, speculative.life.conditions
        rows = compare(*lives, is_speculation_expected=True)
        found.append(DiffTable(names[baseline.key], names[speculative.key], rows, _unknown(*lives)))
    for server in (baseline, speculative):
        if server is not None:
            found += _restarts(server, names[server.key])
    return tuple(found)


def conditions_key(session: Session) -> tuple[object, ...]:
    """Changes when the tables may."""
    sides = [server for server in session.pair() if server is not None]
    return (
        id(session.reference),
        *((server.key, tuple(life.conditions_key for life in server.lives[-_RESTARTS_TOLD - 1 :])) for server in sides),
    )


def _against_reference(session: Session, baseline: ServerMonitor, name: str) -> DiffTable:
    reference, life = session.reference, baseline.life
    assert reference is not None
    assert life is not None
    before, now = f"reference {reference.name}", f"{name} now"
    if (misfit := session.reference_misfit(baseline)) is not None:
        return DiffTable(before, now, note=misfit)
    level = life.figures(is_exact=False).main_level
    watch = session.trust_of(baseline)
    prints = reference.fingerprint
    rows = causes_of(prints, life.conditions, (), level) if watch is None else watch.causes(life, level)
    return DiffTable(before, now, rows, _unknown(prints, life.conditions))


def _restarts(server: ServerMonitor, name: str) -> Iterator[DiffTable]:
    lives = server.lives[: server.run][-_RESTARTS_TOLD - 1 :]
    for before, after in reversed(list(pairwise(lives))):
        conditions = before.conditions, after.conditions
        yield DiffTable(
            f"{name} run {before.index}",
            f"run {after.index}{_since(after)}",
            compare(*conditions),
            _unknown(*conditions),
        )


def _since(life: Life) -> str:
    at = life.launched_at or life.first_sample_at
    return "" if at is None else f" since {time_of_day(at)}"


def _unknown(before: Fingerprint, now: Fingerprint) -> str:
    """Which tables one side was never asked for; empty when all of them were compared."""
    told = []
    for table, word in (("env", "environment"), ("flags", "flags"), ("versions", "versions"), ("gpu", "GPUs")):
        sides = [word for side, word in ((before, "left"), (now, "right")) if getattr(side, table) is None]
        if len(sides) == 2:
            told.append(f"{word} of both sides")
        elif sides:
            told.append(f"{word} of the {sides[0]} side")
    partly = [word for side, word in ((before, "left"), (now, "right")) if side.env is not None and side.env_is_partial]
    if partly:
        told.append(f"parts of the environment of the {' and the '.join(partly)} side")
    return f"not known: {', '.join(told)}" if told else ""
