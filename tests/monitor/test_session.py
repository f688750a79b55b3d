"""Servers together: roles, names, trust, headline, pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specmon.monitor.notices import notices_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import LinkState, MarkKind, Role, Severity, Trust, Verdict
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, Waiting

from .lines import START, decode, decodes, feed, launch, plain, ready, session_of

_BASE = launch(0) + ready(5) + decodes(6, 30)
_FAST = launch(0, port=30001, speculative_algorithm="EAGLE3") + ready(5) + decodes(6, 30, 150.0, accept=2.4)
_SLOW = launch(0, port=30001, speculative_algorithm="EAGLE3") + ready(5) + decodes(6, 30, 60.0, accept=1.2)
_TUNED = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}


def _reference(tok_s: float = 100.0, env: dict[str, str] | None = None) -> Reference:
    level = ReferenceLevel(running=1, tok_s=tok_s)
    return Reference(name="tuned", levels=(level,), fingerprint=Fingerprint(env=env))


def _pair(baseline: str, speculative: str, reference: Reference | None = None) -> Session:
    session = Session(reference=reference)
    for key, log in (("b", baseline), ("s", speculative)):
        session.add(key, f"/logs/{key}.log")
        feed(session, key, log)
    return session


@pytest.mark.parametrize(
    ("speculative", "word", "severity", "verdict"),
    [
        (_FAST, "SPECULATIVE WINS", Severity.OK, Verdict.FASTER),
        (_SLOW, "SPECULATIVE LOSES", Severity.ALERT, Verdict.SLOWER),
        (_FAST.replace("tp_size=8", "tp_size=4"), "NOT COMPARABLE", Severity.WARNING, Verdict.NOT_COMPARABLE),
        (launch(0, speculative_algorithm="EAGLE3") + decodes(6, 5, accept=2.0), "CANNOT TELL", Severity.WARNING, None),
    ],
)
def test_headline_says_the_verdict(speculative: str, word: str, severity: Severity, verdict: Verdict | None) -> None:
    picture = _pair(_BASE, speculative).snapshot(START)
    assert (picture.headline.word, picture.headline.severity) == (word, severity)
    assert picture.comparison is not None
    assert picture.comparison.verdict is (verdict or Verdict.CANNOT_TELL)


def test_nothing_yet_is_waiting_and_one_side_without_data_says_why() -> None:
    session = Session()
    assert session.snapshot(0.0).headline.word == "WAITING"
    session.add("b", "/logs/b.log")
    feed(session, "b", launch(0))
    headline = session.snapshot(0.0).headline
    assert headline.word == "NO DATA"
    assert "still starting" in headline.sentence


def test_crash_is_told_before_any_figure() -> None:
    crash = plain(50, "Scheduler hit an exception: Traceback (most recent call last):\nValueError: no", "TP0")
    picture = _pair(_BASE + crash + "\n", _FAST).snapshot(START)
    assert picture.headline.word == "BASELINE CRASHED"
    assert picture.baseline is not None
    assert [mark.kind for mark in picture.baseline.marks] == [MarkKind.CRASH]


def test_server_of_unknown_role_says_why_it_has_no_column() -> None:
    session = Session()
    feed(session, "x", "hello\n")
    assert session.snapshot(0.0).headline.sentence == "x: no line of an LLM server in this log yet"


def test_graph_that_was_lost_is_the_first_cause() -> None:
    log = launch(0) + ready(5) + "".join(decode(second, 20.0, graph=False) for second in range(6, 30, 2))
    picture = _pair(log, _FAST, _reference()).snapshot(START)
    assert picture.trust.causes[0].name == "cuda graph"
    assert picture.headline.why == "likely cause: cuda graph is false · 7.50× apparent, 1.50× against the reference"


def test_diverged_baseline_names_the_lost_variables_and_both_speedups() -> None:
    session = _pair(_BASE, _FAST, _reference(140.0, _TUNED))
    session.attach_fingerprint("b", Fingerprint(env={}))
    picture = session.snapshot(START)
    assert picture.trust.state is Trust.DIVERGED
    assert picture.headline.word == "BASELINE NOT TRUSTED"
    cause, ratios = picture.headline.why.split(" · ")
    assert cause == "likely cause: NCCL_PROTO, NCCL_ALGO set in the reference, unset now"
    assert ratios == "1.50× apparent, 1.07× against the reference"
    assert picture.trust.deviation == pytest.approx(100 / 140 - 1)
    comparison = picture.comparison
    assert comparison is not None
    assert comparison.against_reference is not None
    assert comparison.speedup == pytest.approx(1.5)
    assert comparison.against_reference.speedup == pytest.approx(150 / 140)
    assert [line.text for line in picture.events if "reference" in line.text] == [
        "baseline −29 % against reference tuned"
    ]
    assert picture.baseline is not None
    assert [mark.kind for mark in picture.baseline.marks] == [MarkKind.DRIFT]


def test_speculative_server_is_never_held_against_a_baseline_reference() -> None:
    picture = _pair(_BASE, _FAST, _reference()).snapshot(START)
    assert picture.trust.state is Trust.MATCHES
    assert len([line for line in picture.events if "reference" in line.text]) == 1


def test_each_life_is_judged_by_itself_and_a_restored_one_is_recovered() -> None:
    session = Session(reference=_reference())
    lives = [(0, 100.0), (100, 70.0), (200, 100.0)]
    states = []
    offset = 0
    for second, tok_s in lives:
        for text in (launch(second) + ready(second + 5), decodes(second + 6, 5, tok_s)):
            feed(session, "b", text, offset=offset)
            offset += len(text)
            states.append(session.snapshot(START).trust.state)
    assert states == [
        Trust.WAITING,
        Trust.MATCHES,
        Trust.WAITING,
        Trust.DIVERGED,
        Trust.WAITING,
        Trust.RECOVERED,
    ]


def test_reference_without_the_level_is_no_reference() -> None:
    log = launch(0) + ready(5) + decodes(6, 10, running=4)
    trust = _pair(log, _FAST, _reference()).snapshot(START).trust
    assert trust.state is Trust.NO_REFERENCE
    assert "at 4 running" in trust.sentence


def test_declared_roles_win_and_two_of_a_role_are_told() -> None:
    session = session_of(a=_BASE, b=_BASE.replace("30000", "30001"), c=_FAST.replace("30001", "30002"))
    assert session.judge() is None
    assert [notice.kind for notice in session.notices()] == ["several_baseline"]
    picture = session.snapshot(START)
    assert picture.baseline is not None
    assert [view.name for view in (picture.baseline, *picture.others)] == ["gpu01:30000", "gpu01:30001"]


def test_names_differ_whatever_the_servers_share() -> None:
    session = session_of(a=_BASE, b=_FAST.replace("30001", "30000"))
    assert list(session.names().values()) == ["a.log", "b.log"]
    session = Session()
    for key in ("x", "y"):
        session.add(key, "/var/log/server.log")
    assert list(session.names().values()) == ["server.log #1", "server.log #2"]
    session = Session()
    session.add("x", "/a/server.log")
    session.add("y", "/b/server.log")
    assert list(session.names().values()) == ["a/server.log", "b/server.log"]


def test_address_that_names_nobody_takes_the_host_of_the_source() -> None:
    session = Session()
    session.add("x", "root@gpu07:/var/log/a.log", label=None)
    feed(session, "x", _BASE.replace("gpu01", "0.0.0.0"))
    session.add("y", "docker:sglang", label="prod")
    assert session.names() == {"x": "gpu07:30000", "y": "prod"}


def test_picture_is_kept_until_something_is_fed() -> None:
    session = _pair(_BASE, _FAST)
    first, second = session.snapshot(START + 60), session.snapshot(START + 61)
    assert first.version == second.version
    assert first.baseline is not None
    assert second.baseline is not None
    assert first.baseline.points is second.baseline.points
    assert second.baseline.age_s == pytest.approx(61.0)
    assert second.now == START + 61
    feed(session, "b", decode(60), offset=len(_BASE))
    assert session.snapshot(START + 61).version > first.version


def test_old_data_is_stale_and_an_ended_server_always() -> None:
    session = _pair(_BASE, _FAST + plain(40, "SIGTERM received. signum=15 frame=None. Draining requests"))
    fresh, old = session.snapshot(START + 1), session.snapshot(START + 30)
    assert fresh.baseline is not None
    assert old.baseline is not None
    assert fresh.speculative is not None
    assert (fresh.baseline.is_stale, old.baseline.is_stale, fresh.speculative.is_stale) == (False, True, True)


def test_backlog_is_not_fresh() -> None:
    session = Session()
    session.feed("b", Connected(START, 0, size=10_000))
    feed(session, "b", _BASE)
    view = session.snapshot(START).baseline
    assert view is not None
    assert view.age_s is None
    assert view.is_stale
    session.feed("b", CaughtUp(START))
    feed(session, "b", decode(60), offset=len(_BASE), at=START + 60)
    view = session.snapshot(START + 60).baseline
    assert view is not None
    assert view.age_s == 0.0


def test_link_follows_the_source() -> None:
    session = Session()
    states = []
    for event in (
        Connected(0.0, 0),
        Waiting(1.0, 1, 4.0, "connection lost"),
        Connected(5.0, 0, detail="after 4 s"),
        Refused(9.0, "host key changed. Run ssh once."),
    ):
        session.feed("b", event)
        states.append(session.servers[0].link.state)
    assert states == [LinkState.LIVE, LinkState.WAITING, LinkState.LIVE, LinkState.REFUSED]
    assert session.servers[0].unreadable == "host key changed. Run ssh once."
    assert [line.text for line in session.snapshot(9.0).events] == [
        "host key changed. Run ssh once.",
        "reconnected after 4 s",
        "connection lost",
    ]


def test_gap_is_an_event_a_mark_and_an_unclean_window() -> None:
    session = Session()
    feed(session, "b", decodes(0, 5) + "[2026-02-2")
    session.feed("b", Gap(START, 4096, "the file was emptied"))
    feed(session, "b", decodes(10, 2), offset=5000)
    life = session.servers[0].life
    assert life is not None
    assert life.figures().excluded["after_idle"] == 1
    (gap,) = [happening for happening in life.happenings if happening.kind == "gap"]
    assert gap.size_bytes == 4096
    assert [mark.kind for mark in session.servers[0].history.chronicle.marks] == [MarkKind.GAP]


def test_rotation_starts_offsets_again_without_losing_the_life() -> None:
    session = Session()
    feed(session, "b", decodes(0, 5))
    session.feed("b", Rotated(START, None, "truncated"))
    feed(session, "b", decodes(2, 5))
    server = session.servers[0]
    assert len(server.lives) == 1
    assert server.samples == 10
    assert server.lives[0].happenings[0].kind == "truncated"


def test_fingerprint_that_contradicts_is_the_next_lifes() -> None:
    session = Session()
    feed(session, "b", _BASE)
    session.attach_fingerprint("b", Fingerprint(env={"NCCL_PROTO": "LL"}))
    session.attach_fingerprint("b", Fingerprint(env={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}))
    session.attach_fingerprint("b", Fingerprint(env={}))
    server = session.servers[0]
    assert server.lives[0].conditions.env == {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}
    feed(session, "b", launch(100) + ready(101), offset=len(_BASE))
    assert server.lives[1].conditions.env == {}
    assert session.run_index("b") == 2
    assert "restarted: 2 variables differ" in [line.text for line in session.snapshot(START).events]


def test_later_look_at_the_same_process_replaces_the_earlier_one() -> None:
    session = Session()
    feed(session, "b", _BASE)
    session.attach_fingerprint("b", Fingerprint(env={"NCCL_CUMEM_ENABLE": "1"}), "7 5.0")
    session.attach_fingerprint("b", Fingerprint(env={"NCCL_CUMEM_ENABLE": "0"}), "7 5.0")  # its child has its own
    session.attach_fingerprint("b", Fingerprint(env={"NCCL_CUMEM_ENABLE": "0"}), "8 6.0")  # the next one, seen early
    server = session.servers[0]
    assert server.lives[0].conditions.env == {"NCCL_CUMEM_ENABLE": "0"}
    assert server.lives[0].process == "7 5.0"
    feed(session, "b", launch(100) + ready(101), offset=len(_BASE))
    assert server.lives[1].process == "8 6.0"


def test_conditions_are_those_of_log_and_process_together() -> None:
    session = Session()
    feed(session, "b", launch(0, tp_size=8) + "h:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n")
    session.attach_fingerprint("b", Fingerprint(flags={"tp_size": 4, "log_only": 1}, versions={"engine": "0.5.16"}))
    life = session.servers[0].life
    assert life is not None
    assert life.conditions.flags is not None
    assert (life.conditions.flags["tp_size"], life.conditions.flags["log_only"]) == (8, 1)
    assert (life.conditions.env, life.conditions.env_is_partial) == ({"NCCL_ALGO": "Ring"}, True)
    assert life.conditions.versions == {"engine": "0.5.16"}


def test_what_could_not_be_read_is_a_notice() -> None:
    session = Session()
    feed(session, "b", _BASE)
    session.attach_fingerprint("b", Fingerprint(env={}, unread=("GPUs: there is no nvidia-smi", "engine version: x")))
    session.finish()
    notices = notices_of(session.servers[0], is_finished=True)
    assert [notice.text for notice in notices if notice.kind == "conditions_unread"] == [
        "not read: GPUs: there is no nvidia-smi; engine version: x. A difference there is not seen."
    ]


def test_log_lines_cannot_steer_a_terminal_and_carry_their_verdict() -> None:
    session = Session()
    feed(session, "b", decodes(0, 2) + "\x1b[31mred\x1b[0m [/x] \x07 \x9b0m\n" + "Decode batch, #running-req: 1\n")
    log = session.snapshot(START).log
    assert [line.excluded for line in log[:2]] == ["first_after_start", None]
    assert [line.is_stats for line in log] == [True, True, False, False]
    assert log[2].text == "red [/x] ^G \\u009b0m"
    assert log[2].at == START


def test_verdict_that_changes_later_changes_in_the_picture() -> None:
    session = Session()
    early = decodes(0, 4) + decode(2, 50.0)
    feed(session, "b", early)
    before = session.snapshot(START).baseline
    feed(session, "b", decodes(3, 2), offset=len(early))
    after = session.snapshot(START).baseline
    assert before is not None
    assert after is not None
    assert before.points[4].excluded is None
    assert after.points[4].excluded == "cycle_outlier"
    assert session.snapshot(START).log[4].excluded == "cycle_outlier"


def test_points_and_lines_are_bounded() -> None:
    session = Session()
    feed(session, "b", decode(0))
    session.servers[0].history.trace.limit(samples=2000, buckets=100)
    feed(session, "b", "".join(decode(second * 0.4) for second in range(1, 5000)), offset=len(decode(0)))
    picture = session.snapshot(START)
    assert picture.baseline is not None
    assert 2000 <= len(picture.baseline.points) <= 2250
    assert len(picture.log) == 1000
    assert picture.log_revision == 5000
    assert picture.baseline.samples == 5000


def test_demo_note_and_playback_pass_through() -> None:
    session = _pair(_BASE, _FAST)
    first = session.snapshot(START)
    noted = session.snapshot(START, demo_note="a demo")
    assert noted.demo_note == "a demo"
    assert noted.version > first.version
    assert replace(noted, demo_note="", version=first.version) == first


def test_chunk_for_an_unknown_key_is_a_new_server() -> None:
    session = Session()
    session.feed("new", Chunk(START, 0, decodes(0, 2).encode()))
    assert [server.role for server in session.servers] == [Role.BASELINE]
