"""Logs in other zones, and what our own clock tells, stand on one time axis: that of the log that leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.captures.reader import Arrivals
from specmon.feeds.timeline import timeline_of
from specmon.monitor.moments import moments_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.monitor.timewords import time_of_day
from specmon.sources.events import Chunk, Connected, Waiting

from .lines import START, decode, launch, ready

HOUR_S = 3600.0
EAST, WEST = 9 * HOUR_S, -7 * HOUR_S


def with_zone(line: str, zone: str) -> str:
    """The record behind the stamp of a logger that writes its zone."""
    stamp, _, body = line.replace(" TP0]", "]").partition("] ")
    return f"{stamp.lstrip('[')}{zone} INFO sglang: {body}"


def written(second: float, ahead_s: float, zone: str, accept: float | None = None) -> bytes:
    """A decode line by a clock that is so far ahead of UTC."""
    line = decode(second + ahead_s, accept=accept)
    return (with_zone(line, zone) if zone else line).encode()


def live(base: tuple[float, str], spec: tuple[float, str]) -> Session:
    """Two logs that are followed for a minute, a lost link and a remark; our own clock is UTC."""
    session = Session()
    session.add("1", "gpu01:/base.log", role=Role.BASELINE)
    session.add("2", "gpu02:/spec.log", role=Role.SPECULATIVE)
    sent = {"1": 0, "2": 0}
    for key in sent:
        session.feed(key, Connected(START, 0))

    def feed(key: str, second: float, data: bytes) -> None:
        session.feed(key, Chunk(START + second + 0.3, sent[key], data))
        sent[key] += len(data)

    feed("1", 1, (launch(1 + base[0]) + ready(1 + base[0])).encode())
    for second in range(2, 60, 2):
        feed("1", second, written(second, *base))
        feed("2", second + 1, written(second + 1, *spec, accept=2.0))
        if second == 20:
            session.tell("2", START + 20, "a remark of ours")
        if second == 40:
            session.feed("2", Waiting(START + 40, 1, 1.0, "the link was lost"))
    return session


@pytest.mark.parametrize(
    ("base", "spec", "leads_s"),
    [
        ((EAST, ""), (WEST, ""), EAST),  # measured by the arrivals of their lines
        ((EAST, "+09:00"), (WEST, "-07:00"), EAST),  # told by their stamps
        ((WEST, ""), (EAST, "+09:00"), WEST),
        ((0.0, ""), (5.75 * HOUR_S, ""), 0.0),  # Nepal
        ((0.0, ""), (0.0, ""), 0.0),
    ],
)
def test_everything_of_a_live_session_is_on_the_clock_of_the_first_log(
    base: tuple[float, str], spec: tuple[float, str], leads_s: float
) -> None:
    session = live(base, spec)
    picture = session.snapshot(START + 60)
    first = START + leads_s
    assert picture.now == first + 60
    assert picture.baseline is not None
    assert picture.speculative is not None
    assert [point.at - first for point in picture.baseline.points] == list(range(2, 60, 2))
    assert [point.at - first for point in picture.speculative.points] == list(range(3, 61, 2))
    told = [(round(event.at - first), event.text) for event in picture.events]
    assert told == [(40, "the link was lost"), (20, "a remark of ours"), (1, "ready")]
    assert [moment.at - first for moment in moments_of(picture)] == [1, 20, 40]
    book = session.open_log()
    book.sync()
    rows = book.rows(0, 1000)
    assert [row.line.at for row in rows] == sorted(row.line.at or 0.0 for row in rows)
    assert [row.line.role for row in rows[-4:]] == [Role.BASELINE, Role.SPECULATIVE] * 2
    assert [(line.at or 0.0) - first for line in picture.log[-2:]] == [58, 59]
    view = book.view(rows[-1].number)
    assert view is not None
    assert view.log_at == (None if spec[0] == leads_s else START + 59 + spec[0])


def test_a_log_that_nobody_could_compare_stays_where_it_says() -> None:
    session = Session()
    session.add("1", "/old.log")
    session.feed("1", Connected(START, 0, 1 << 20))  # all of it was written before we looked
    session.feed("1", Chunk(START, 0, written(0, EAST, "")))
    session.tell("1", START + 5, "a remark of ours")
    assert [event.at for event in session.snapshot(START + 9).events] == [START + 5]
    assert session.axis.ours_s == 0


def test_a_replay_keeps_its_own_clock_and_moves_the_logs_of_a_capture(tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    lines = [written(second, EAST, "") for second in (0, 2, 4)]
    log.write_bytes(b"".join(lines))
    ends = (len(lines[0]), len(lines[0]) * 2, len(lines[0]) * 3)
    timeline = timeline_of(log, Arrivals(ends, (START + 0.4, START + 2.4, START + 4.4)))
    assert timeline.ahead_s == EAST
    session = Session(mode="replay")
    session.add("1", "base.log", role=Role.BASELINE)
    session.know_clock("1", timeline.ahead_s)
    session.feed("1", Chunk(START + 900, 0, log.read_bytes()))
    picture = session.snapshot(START + 5)
    assert picture.now == START + 5
    assert picture.baseline is not None
    assert [point.at - START for point in picture.baseline.points] == [0, 2, 4]


def test_a_log_that_plays_by_its_own_stamps_can_play_by_another_zone(tmp_path: Path) -> None:
    log = tmp_path / "spec.log"
    log.write_bytes(b"".join(written(second, WEST, "-07:00") for second in (0, 2)))
    timeline = timeline_of(log)
    assert timeline.utc_offset_s == WEST
    moved = timeline.moved(EAST - WEST)
    assert moved.samples == (START + EAST, START + EAST + 2)
    assert moved.ahead_s == WEST - EAST


def test_a_change_of_a_phase_is_told_on_the_common_clock() -> None:
    session = Session()
    session.add("1", "gpu01:/base.log", role=Role.BASELINE)
    session.add("2", "gpu02:/spec.log", role=Role.SPECULATIVE)
    sent = {"1": 0, "2": 0}
    for second in range(40):
        stamp = written(second, WEST, "", 2.0).decode().partition("]")[0]
        verify = 21.0 if second < 20 else 28.7
        phases = f"{stamp}] specmon-phase v1 cycles=40 running=1 verify_ms={verify} cycle_ms={verify + 1}\n"
        for key, data in (("1", written(second, EAST, "")), ("2", written(second, WEST, "", 2.0) + phases.encode())):
            if not sent[key]:
                session.feed(key, Connected(START, 0))
            session.feed(key, Chunk(START + second + 0.3, sent[key], data))
            sent[key] += len(data)
    view = session.snapshot(START + 41).speculative
    assert view is not None
    since = START + EAST + 20
    assert [change.since for change in view.phases.changes] == [since, since]
    assert time_of_day(since) in view.phases.sentence
