"""A baseline followed against its reference over restarts: causes in order, another reference that fits, words."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from specmon.analysis.figures import LevelFigures
from specmon.captures.reader import open_capture
from specmon.monitor.causes import causes_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Severity, Trust, TrustView
from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.references.store import load
from specmon.resources import bundled
from specmon.sources.events import Chunk
from tests.monitor.lines import START, decode, decodes, feed, launch, ready

STORY = bundled("fixtures") / "story"
_SIX = (*("NCCL_PROTO", "NCCL_ALGO", "NCCL_P2P_LEVEL", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NTHREADS"),)


def _reference(
    tok_s: float = 100.0,
    *,
    name: str = "tuned",
    env: Mapping[str, str] | None = None,
    running: int = 1,
    sigma: float | None = 0.01,
    spread: float | None = None,
) -> Reference:
    level = ReferenceLevel(running=running, tok_s=tok_s, sigma=sigma, spread=spread)
    return Reference(name=name, levels=(level,), fingerprint=Fingerprint(env=None if env is None else dict(env)))


def _life(second: float, tok_s: float, count: int = 20) -> str:
    return launch(second) + ready(second + 5) + decodes(second + 6, count, tok_s)


def _followed(
    reference: Reference, *lives: tuple[str, Mapping[str, str] | None], others: tuple[Reference, ...] = ()
) -> Session:
    """A session that has seen these lives, each with its environment."""
    session = Session(reference=reference, others=lambda: others)
    session.add("b", "/logs/b.log", role=Role.BASELINE)
    offset = 0
    for log, env in lives:
        feed(session, "b", log, offset=offset)
        offset += len(log)
        if env is not None:
            session.attach_fingerprint("b", Fingerprint(env=dict(env)))
    return session


def _trust(session: Session) -> TrustView:
    return session.trust_view(session.servers[0])


# -- the story ------------------------------------------------------------------------------------


def test_story_is_diverged_with_the_third_clean_sample_after_the_restart() -> None:
    log = open_capture(STORY).logs[0]
    session = Session(
        reference=load(STORY / "references" / "nccl-tuned.toml"),
        others=lambda: tuple(load(path) for path in sorted((STORY / "references").glob("*.toml"))),
    )
    session.add("b", "base.log", role=Role.BASELINE)
    offset, states = 0, []
    for line in log.path.read_bytes().splitlines(keepends=True):
        session.feed("b", Chunk(START, offset, line))
        offset += len(line)
        server = session.servers[0]
        if server.lives and server.life is not None and server.life.fingerprint is None:
            session.attach_fingerprint("b", log.lives[server.life.index - 1].fingerprint)
        view = _trust(session)
        states.append((len(server.lives), view.samples_seen, view.state))
    assert (1, 73, Trust.MATCHES) in states
    assert Trust.DIVERGED not in {state for life, _, state in states if life == 1}
    assert min(seen for _, seen, state in states if state is Trust.DIVERGED) == 3
    end = _trust(session)
    assert tuple(cause.name for cause in end.causes) == _SIX
    assert all(cause.began_with for cause in end.causes)
    assert (end.better_match, end.better_match_tok_s, end.direction) == ("untuned", 62.9, "slower")
    assert end.sentence == (
        "62.9 tok/s, reference nccl-tuned 88.8 (−29 %): slower, beyond ±5 %, looks like `untuned` 62.9"
    )


# -- causes ---------------------------------------------------------------------------------------


def test_what_changed_with_the_drift_comes_before_what_matters() -> None:
    """The reference has another NCCL_ALGO all along; what the restart changed is a variable that nobody knows."""
    recorded = {"NCCL_ALGO": "Ring", "SGLANG_ODD": "1"}
    session = _followed(
        _reference(env=recorded),
        (_life(0, 100.0), {"NCCL_ALGO": "Tree", "SGLANG_ODD": "1"}),
        (_life(100, 70.0), {"NCCL_ALGO": "Tree", "SGLANG_ODD": "0"}),
    )
    view = _trust(session)
    assert view.state is Trust.DIVERGED
    assert [(cause.name, cause.began_with) for cause in view.causes] == [("SGLANG_ODD", True), ("NCCL_ALGO", False)]
    assert session.snapshot(START).headline.why.startswith("likely cause: SGLANG_ODD")


def test_restart_before_a_drift_in_the_middle_of_a_life_is_not_blamed() -> None:
    drifting = launch(100) + ready(105) + decodes(106, 30, 100.0) + decodes(130, 20, 70.0)
    session = _followed(
        _reference(env={"SGLANG_ODD": "1"}),
        (_life(0, 100.0), {"SGLANG_ODD": "1"}),
        (drifting, {"SGLANG_ODD": "0"}),
    )
    view = _trust(session)
    assert view.state is Trust.DIVERGED
    assert [(cause.name, cause.began_with) for cause in view.causes] == [("SGLANG_ODD", False)]


def test_lives_that_never_served_do_not_hide_what_changed() -> None:
    session = _followed(
        _reference(env={"SGLANG_ODD": "1"}),
        (_life(0, 100.0), {"SGLANG_ODD": "1"}),
        (launch(60), {"SGLANG_ODD": "0"}),
        (_life(100, 70.0), {"SGLANG_ODD": "0"}),
    )
    assert [(cause.name, cause.began_with) for cause in _trust(session).causes] == [("SGLANG_ODD", True)]


def test_cause_of_a_divergence_stays_over_another_restart() -> None:
    session = _followed(
        _reference(env={"SGLANG_ODD": "1"}),
        (_life(0, 100.0), {"SGLANG_ODD": "1"}),
        (_life(100, 70.0), {"SGLANG_ODD": "0"}),
        (_life(200, 70.0), {"SGLANG_ODD": "0"}),
    )
    assert [(cause.name, cause.began_with) for cause in _trust(session).causes] == [("SGLANG_ODD", True)]


def test_order_of_causes_is_changed_then_weight_then_the_references_own() -> None:
    recorded = Fingerprint(
        env={"SGLANG_A": "1", "NCCL_ALGO": "Ring", "SGLANG_B": "1", "NCCL_PROTO": "LL"}, flags={"port": 1}
    )
    now = Fingerprint(env={}, flags={"port": 2})
    changed = compare(
        Fingerprint(env={"SGLANG_B": "1", "NCCL_PROTO": "LL"}, flags={"port": 1}),
        Fingerprint(env={}, flags={"port": 2}),
    )
    order = [cause.name for cause in causes_of(recorded, now, changed, None)]
    assert order == ["NCCL_PROTO", "SGLANG_B", "NCCL_ALGO", "SGLANG_A", "port"]


@pytest.mark.parametrize(
    ("flags", "graph", "expected"),
    [
        (None, "false", [None]),
        ({"disable_cuda_graph": False}, "false", ["true"]),
        ({"disable_cuda_graph": True}, "false", []),  # it was recorded so
        (None, "true", []),
        (None, "unknown", []),
    ],
)
def test_lost_graph_is_a_cause_unless_it_was_recorded_so(
    flags: dict[str, bool] | None, graph: str, expected: list[str | None]
) -> None:
    level = LevelFigures(running=1, samples=9, clean=9, cuda_graph=graph)
    recorded = Fingerprint(flags=None if flags is None else dict(flags))
    causes = causes_of(recorded, Fingerprint(), (), level)
    assert [cause.before for cause in causes if cause.kind == "graph"] == expected


# -- states and words -----------------------------------------------------------------------------


def test_better_match_is_looked_for_only_when_diverged() -> None:
    other = _reference(97.0, name="other")
    assert _trust(_followed(_reference(), (_life(0, 97.0, 60), None), others=(other,))).better_match is None
    diverged = _trust(_followed(_reference(), (_life(0, 70.0), None), others=(other, _reference(70.5, name="slow"))))
    assert diverged.better_match == "slow"


def test_steady_three_percent_is_drifting_and_says_that_it_is_inside() -> None:
    session = _followed(_reference(), (_life(0, 97.0, 60), None))
    view = _trust(session)
    assert (view.state, view.direction) == (Trust.DRIFTING, "slower")
    assert view.sentence == "97.0 tok/s, reference tuned 100.0 (−3.0 %): inside ±5 %, but off"
    assert view.since is not None
    headline = session.snapshot(START).headline
    assert (headline.severity, headline.word) == (Severity.WARNING, "BASELINE DRIFTS")


def test_faster_baseline_means_that_the_reference_is_stale() -> None:
    view = _trust(_followed(_reference(), (_life(0, 125.0), None)))
    assert (view.state, view.direction) == (Trust.DIVERGED, "faster")
    assert view.sentence.endswith("faster, so the reference is stale, beyond ±5 %")


def test_sessions_that_differ_widen_the_tolerance() -> None:
    """Three times what the sessions of the reference differ by."""
    view = _trust(_followed(_reference(spread=0.04), (_life(0, 90.0, 60), None)))
    assert view.tolerance == pytest.approx(0.12)
    assert view.state is Trust.DRIFTING
    assert "inside ±12 %" in view.sentence


def test_server_that_wanders_more_than_recorded_is_said_to() -> None:
    source = random.Random(4)
    log = launch(0) + ready(5)
    log += "".join(decode(6 + step, 100.0 * (1 + source.gauss(0, 0.04))) for step in range(300))
    view = _trust(_followed(_reference(sigma=0.006), (log, None)))
    assert view.state is Trust.MATCHES
    assert "its samples wander by" in view.sentence
    assert view.sentence.endswith("0.6 % was recorded")


def test_run_that_is_asked_for_is_the_one_that_is_judged() -> None:
    session = Session(reference=_reference(), run=1)
    session.add("b", "/logs/b.log", role=Role.BASELINE)
    feed(session, "b", _life(0, 100.0) + _life(100, 70.0))
    view = _trust(session)
    assert (view.state, view.samples_seen) == (Trust.MATCHES, 19)


def test_return_to_the_reference_is_told_once() -> None:
    log = launch(0) + ready(5) + decodes(6, 20, 70.0) + decodes(30, 60, 100.0)
    session = _followed(_reference(), (log, None))
    assert _trust(session).state is Trust.MATCHES
    told = [line.text for line in session.snapshot(START).events if "reference" in line.text]
    assert told == [
        "baseline matches reference tuned (0.0 %)",
        "baseline is back at reference tuned (0.0 %)",
        "baseline −30 % against reference tuned",
    ]


def _foreign(second: float, pid: int) -> str:
    """A decode line behind the prefix of a logger that names its process."""
    body = decode(second, tag="").split("] ", 1)[1]
    return f"{decode(second)[1:20]} INFO {pid} [scheduler.py:287] {body}"


def test_second_process_that_looked_like_another_life_does_not_end_the_watch() -> None:
    """A life that turns out to be the one before going on is followed as that, and nothing is told twice."""
    session = Session(reference=_reference())
    session.add("b", "/logs/b.log", role=Role.BASELINE)
    offset = 0
    lives = []
    for second in range(40):
        line = _foreign(second, 11 if second < 10 or second % 4 else 12)
        feed(session, "b", line, offset=offset)
        offset += len(line)
        lives.append(len(session.servers[0].lives))
    assert 2 in lives
    assert lives[-1] == 1
    view = _trust(session)
    assert (view.state, view.samples_seen) == (Trust.MATCHES, session.servers[0].lives[0].figures().clean)
    told = [line.text for line in session.snapshot(START).events if "reference" in line.text]
    assert told == ["baseline matches reference tuned (0.0 %)"]
