"""Restarts, rare events and a reference over a session that goes on for days."""

from __future__ import annotations

import gc
import random
from dataclasses import replace

import pytest

from specmon.analysis import horizon
from specmon.monitor import history
from specmon.monitor.life import Life
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Trust
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel

from .lines import START, decode, decodes, feed, launch, plain, prefill, ready

_RETRACTED = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_gained: 600"


def _fed(log: str, *, is_watched: bool = True) -> Session:
    session = Session(is_watched=is_watched)
    session.add("1", "/logs/1.log")
    feed(session, "1", log)
    return session


def _lives(count: int) -> str:
    chance = random.Random(3)
    return "".join(
        launch(1000 * number)
        + ready(1000 * number + 5)
        + prefill(1000 * number + 6)
        + "".join(decode(1000 * number + 7 + step * 0.4, chance.gauss(100, 2)) for step in range(300))
        for number in range(count)
    )


def test_lives_of_long_ago_keep_their_figures_and_let_their_samples_go() -> None:
    log = _lives(24)
    whole, watched = _fed(log, is_watched=False).servers[0], _fed(log).servers[0]
    assert len(watched.lives) == 24
    for old, same in zip(watched.lives, whole.lives, strict=True):
        assert old.figures() == same.figures()
        assert old.state is same.state
        assert old.launch == same.launch
    held = [_clean(life.statistics.level_of("TP0", 1)) for life in watched.lives]
    assert held[:4] == [100] * 4
    assert min(held[4:]) > 250
    assert watched.lives[0].launch is watched.lives[1].launch


def _clean(level: object) -> int:
    from specmon.analysis.level import RankLevel

    assert isinstance(level, RankLevel)
    return len(level.clean)


def test_of_very_many_retractions_the_first_and_the_newest_are_listed() -> None:
    log = launch(0) + ready(1) + "".join(plain(2 + number, _RETRACTED, "TP0") for number in range(5000))
    life = _fed(log).servers[0].lives[0]
    assert [happening.kind for happening in life.happenings[:3]] == ["launch", "ready", "retraction"]
    assert len(life.happenings) <= 2100
    newest, expected = life.happenings[-1].at, _fed(log, is_watched=False).servers[0].lives[0].happenings
    assert len(expected) == 5002
    assert newest == expected[-1].at


def _referenced(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(history, "LIVE", replace(horizon.LIVE, seconds=600.0, level_samples=200))
    level = ReferenceLevel(running=1, tok_s=100.0, sigma=0.01)
    session = Session(reference=Reference(name="tuned", levels=(level,), fingerprint=Fingerprint()))
    session.add("1", "/logs/1.log", role=Role.BASELINE)
    return session


def _go_on(session: Session, offset: int, second: float, tok_s: float, count: int) -> tuple[int, float]:
    """Lines in portions, as they come live."""
    for _ in range(count // 100):
        text = decodes(second, 100, tok_s)
        feed(session, "1", text, offset=offset)
        offset += len(text)
        second += 100 * 40 / tok_s
    return offset, second


def test_a_reference_is_followed_on_when_its_first_samples_are_held_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _referenced(monkeypatch)
    offset, second = _go_on(session, 0, 0.0, 100.0, 9000)
    life = session.servers[0].lives[0]
    assert life.statistics.has_faded(1)
    assert session.trust_view(session.servers[0]).state is Trust.MATCHES
    seen = session.trust_view(session.servers[0]).samples_seen
    assert seen > 8900
    # Five outliers in a row move the level, which changes earlier verdicts.
    offset, second = _go_on(session, offset, second, 50.0, 200)
    view = session.trust_view(session.servers[0])
    assert life.statistics.revision > 0
    assert view.state is Trust.DIVERGED
    assert view.samples_seen > seen
    _go_on(session, offset, second, 100.0, 5000)
    assert session.trust_view(session.servers[0]).state in (Trust.RECOVERED, Trust.MATCHES)


def _lives_in_memory() -> int:
    gc.collect()
    return sum(type(each) is Life for each in gc.get_objects())


def test_of_five_thousand_restarts_the_newest_are_held_and_the_others_counted() -> None:
    before = _lives_in_memory()
    session, end = Session(), 0
    server = session.add("1", "/logs/1.log", role=Role.BASELINE)
    held, view = [], None
    for thousand in range(5):
        for first in range(thousand * 1000, thousand * 1000 + 1000, 50):
            text = "".join(
                launch(second) + decode(second + 2) + decode(second + 3) for second in range(first, first + 50)
            )
            feed(session, "1", text, offset=end)
            end += len(text)
        view = session.snapshot(START + thousand).baseline
        assert view is not None
        assert view.run_index == 1000 * (thousand + 1)
        held.append(_lives_in_memory() - before)
    assert server.runs == 5000
    assert view is not None
    assert [life.index for life in server.lives] == list(range(4801, 5001))
    # The event list names each restart with the life before it, and that is one more.
    assert max(held) <= 202
    assert server.samples == 10_000
    assert any("holds 5000 lives" in notice for notice in view.notices)
    # What was said of the samples of those that are gone stays, on the charts and beside the lines.
    assert len(view.points) == server.samples
    assert {point.excluded for point in view.points[:2000:2]} == {"first_after_start"}
    assert {point.excluded for point in view.points[1:2000:2]} == {None}


def test_a_run_that_was_asked_for_by_its_number_is_never_gone() -> None:
    session, end = Session(run=2), 0
    server = session.add("1", "/logs/1.log", role=Role.BASELINE)
    for restart in range(205):
        text = launch(restart * 60.0) + decode(restart * 60.0 + 2)
        feed(session, "1", text, offset=end)
        end += len(text)
    assert server.life is not None
    assert server.life.index == 2
    assert len(server.lives) == server.runs == 205
