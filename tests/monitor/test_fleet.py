"""Many servers in one session: the table of all, any two side by side, and what is spared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specmon.monitor.fleet import fleet_row, in_order
from specmon.monitor.session import Session
from specmon.monitor.snapshot import (
    FleetRow,
    LevelFigures,
    Link,
    LinkState,
    Mark,
    MarkKind,
    Playback,
    Role,
    RunState,
    ServerView,
    Severity,
    Snapshot,
    Trust,
    TrustView,
    Verdict,
)
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.sources.events import Refused
from tests.monitor.lines import START, decodes, feed, launch, plain, ready

LEVEL = LevelFigures(running=1, samples=20, clean=18, decode_tok_s=100.0, delivered_tok_s=96.0, accept_len=2.1)
SERVING = ServerView("k", "gpu01", "x", Role.BASELINE, Link(LinkState.LIVE), "sglang", RunState.SERVING, level=LEVEL)


def _view(**changes: object) -> ServerView:
    return replace(SERVING, **changes)  # type: ignore[arg-type]  # the fields of a view, by name


@pytest.mark.parametrize(
    ("view", "trust", "severity", "sentence"),
    [
        (_view(), TrustView(), Severity.OK, "ok"),
        (_view(), TrustView(Trust.MATCHES, sentence="at it"), Severity.OK, "ok: trusted: at it"),
        (_view(), TrustView(Trust.DRIFTING, sentence="3 % off"), Severity.WARNING, "drifting: 3 % off"),
        (_view(), TrustView(Trust.DIVERGED, sentence="far off"), Severity.ALERT, "diverged: far off"),
        (_view(role=Role.SPECULATIVE), TrustView(Trust.DIVERGED, sentence="far off"), Severity.OK, "ok"),
        (_view(role=Role.SPECULATIVE, speculation="inactive"), TrustView(), Severity.WARNING,
         "inactive: the server is set to speculate, but accepts no draft"),
        (_view(state=RunState.CRASHED, marks=(Mark(1.0, MarkKind.CRASH, "out of memory"),)), TrustView(),
         Severity.ALERT, "crashed: out of memory"),
        (_view(state=RunState.EXITED), TrustView(), Severity.WARNING, "ended"),
        (_view(link=Link(LinkState.REFUSED, "host key unknown")), TrustView(), Severity.ALERT,
         "refused: host key unknown"),
        (_view(link=Link(LinkState.WAITING, "again in 4 s")), TrustView(), Severity.WARNING, "no link: again in 4 s"),
        (_view(level=None, no_data_reason="no decode line yet"), TrustView(), Severity.INFO,
         "no data: no decode line yet"),
        (_view(is_stale=True), TrustView(), Severity.INFO, "silent: no new sample"),
        (_view(is_stale=True), TrustView(Trust.DIVERGED, sentence="far off"), Severity.ALERT, "diverged: far off"),
    ],
)  # fmt: skip
def test_row_says_first_what_needs_attention(
    view: ServerView, trust: TrustView, severity: Severity, sentence: str
) -> None:
    row = fleet_row(view, trust)
    assert (row.severity, row.sentence) == (severity, sentence)


def test_accept_length_is_a_speculative_servers_and_a_reference_a_baselines() -> None:
    trust = TrustView(Trust.MATCHES, deviation=0.01)
    base, spec = fleet_row(_view(), trust), fleet_row(_view(role=Role.SPECULATIVE), trust)
    assert (base.accept_len, base.deviation) == (None, 0.01)
    assert (spec.accept_len, spec.deviation) == (2.1, None)


def test_those_in_need_come_first_and_all_others_keep_their_places() -> None:
    order = (Severity.OK, Severity.INFO, Severity.WARNING, Severity.OK, Severity.ALERT, Severity.WARNING)
    rows = [FleetRow(f"{place}", "", severity, "", "", Role.UNKNOWN, "") for place, severity in enumerate(order)]
    assert [row.key for row in in_order(rows)] == ["4", "2", "5", "0", "1", "3"]


# -- a session ------------------------------------------------------------------------------------


def _log(tok_s: float, *, accept: float | None = None, port: int = 30000, count: int = 30) -> str:
    algorithm = None if accept is None else "EAGLE3"
    return (
        launch(0, port=port, speculative_algorithm=algorithm)
        + ready(5)
        + decodes(6, count, tok_s, accept=accept, tag="TP0")
    )


def _fleet(*, reference: Reference | None = None, more: int = 0) -> Session:
    """Two baselines, two speculative servers, and more of the latter."""
    session = Session(reference=reference)
    logs = {"b1": _log(100.0), "s1": _log(140.0, accept=2.1), "b2": _log(60.0), "s2": _log(90.0, accept=1.6)}
    logs |= {f"m{number}": _log(120.0, accept=2.0) for number in range(more)}
    for number, (key, log) in enumerate(logs.items()):
        session.add(key, f"/logs/{key}.log")
        feed(session, key, log.replace("30000", f"{30000 + number}"))
    return session


def _sides(picture: Snapshot) -> tuple[str | None, str | None]:
    return tuple(None if view is None else view.key for view in (picture.baseline, picture.speculative))  # type: ignore[return-value]  # two of them


def _speedup(session: Session) -> float:
    comparison = session.snapshot(START).comparison
    assert comparison is not None
    assert comparison.speedup is not None
    return comparison.speedup


def test_first_of_each_role_are_compared_until_others_are_put_there() -> None:
    session = _fleet()
    assert _sides(session.snapshot(START)) == ("b1", "s1")
    assert _speedup(session) == pytest.approx(1.4, abs=0.02)
    session.put("s2", Role.SPECULATIVE)
    assert _sides(session.snapshot(START)) == ("b1", "s2")
    assert _speedup(session) == pytest.approx(0.9, abs=0.02)
    session.put("b2", Role.BASELINE)
    assert _sides(session.snapshot(START)) == ("b2", "s2")
    assert _speedup(session) == pytest.approx(1.5, abs=0.02)
    assert {row.key: row.side for row in session.snapshot(START).fleet} == {
        "b1": None, "s1": None, "b2": Role.BASELINE, "s2": Role.SPECULATIVE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("b1", "b2", "both are baseline servers"),
        ("s2", "s1", "both are speculative servers"),
        ("s1", "b1", "the speculative server stands as the baseline"),
    ],
)
def test_any_two_stand_side_by_side_and_a_verdict_is_only_for_a_baseline_and_a_speculative_server(
    left: str, right: str, reason: str
) -> None:
    session = _fleet()
    session.put(left, Role.BASELINE)
    session.put(right, Role.SPECULATIVE)
    picture = session.snapshot(START)
    assert _sides(picture) == (left, right)
    assert picture.comparison is not None
    assert picture.comparison.verdict is Verdict.NOT_COMPARABLE
    assert picture.headline.word == "NOT COMPARABLE"
    assert reason in picture.headline.sentence


def test_server_that_is_put_on_the_other_side_leaves_its_own() -> None:
    session = _fleet()
    session.put("s1", Role.SPECULATIVE)
    session.put("s1", Role.BASELINE)
    assert _sides(session.snapshot(START)) == ("s1", "s2")


def test_server_that_is_not_there_yet_is_put_on_its_side_when_it_comes() -> None:
    session = _fleet()
    session.put("late", Role.BASELINE)
    assert _sides(session.snapshot(START)) == ("b1", "s1")
    session.add("late", "/logs/late.log")
    feed(session, "late", _log(70.0))
    assert _sides(session.snapshot(START)) == ("late", "s1")


def test_every_baseline_is_judged_by_the_reference_also_one_that_is_not_compared() -> None:
    level = ReferenceLevel(running=1, tok_s=100.0, sigma=0.01)
    session = _fleet(reference=Reference(name="tuned", levels=(level,), fingerprint=Fingerprint()))
    rows = {row.key: row for row in session.snapshot(START).fleet}
    assert rows["b1"].word == "ok"
    assert rows["b2"].word == "diverged"
    assert rows["b2"].deviation == pytest.approx(-0.4, abs=0.01)
    assert rows["s1"].deviation is None
    assert session.snapshot(START).fleet[0].key == "b2"


# -- sixty-four of them ---------------------------------------------------------------------------


def _more(session: Session, key: str, second: float, tok_s: float, count: int = 300) -> None:
    feed(session, key, decodes(second, count, tok_s, accept=2.0, tag="TP0"), offset=10**6 + int(second))


def _tok_s(picture: Snapshot, key: str) -> float:
    found = next(row.tok_s for row in picture.fleet if row.key == key)
    assert found is not None
    return found


def test_of_many_servers_those_that_are_not_compared_are_worked_out_every_two_seconds() -> None:
    session = _fleet(more=8)
    before = _tok_s(session.snapshot(START), "m3")
    session.snapshot(START + 10)  # all have had their first turn
    _more(session, "m3", 60, 121.0)
    assert session.snapshot(START + 10.5).fleet
    later = session.snapshot(START + 13)
    assert before == pytest.approx(120.0, abs=0.1)
    assert _tok_s(later, "m3") == pytest.approx(121.0, abs=0.1)  # although nothing else came meanwhile


def test_of_many_servers_a_crash_and_a_refusal_show_at_once() -> None:
    session = _fleet(more=8)
    session.snapshot(START)
    session.snapshot(START + 10)
    session.feed("m1", Refused(START + 10.1, "m1: permission denied"))
    error = "Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: CUDA out of memory\n"
    feed(session, "m3", plain(70, error), offset=10**6)
    first = session.snapshot(START + 10.2).fleet[:2]
    assert {(row.key, row.word) for row in first} == {("m1", "refused"), ("m3", "crashed")}


def test_replay_that_stands_still_shows_every_server_as_it_is() -> None:
    session = _fleet(more=8)
    session.snapshot(START)
    session.snapshot(START + 10)
    _more(session, "m3", 60, 121.0)
    still = Playback(START + 10.5, START, START + 99, 1.0, is_paused=True)
    assert _tok_s(session.snapshot(START + 10.5, playback=still), "m3") == pytest.approx(121.0, abs=0.1)


def test_finished_session_shows_every_server_as_it_is() -> None:
    session = _fleet(more=8)
    session.snapshot(START)
    session.snapshot(START + 10)
    _more(session, "m3", 60, 121.0)
    session.finish()
    assert _tok_s(session.snapshot(START + 10.5), "m3") == pytest.approx(121.0, abs=0.1)


def test_of_many_servers_the_log_is_that_of_the_two_that_are_compared() -> None:
    session = _fleet(more=8)
    revision = session.snapshot(START).log_revision
    _more(session, "m3", 60, 121.0)
    assert session.snapshot(START + 1).log_revision == revision
    _more(session, "s1", 60, 141.0)
    assert session.snapshot(START + 2).log_revision > revision
    few = _fleet()
    revision = few.snapshot(START).log_revision
    _more(few, "s2", 60, 91.0)
    assert few.snapshot(START + 1).log_revision > revision
