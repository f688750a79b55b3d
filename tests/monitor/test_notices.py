"""Each notice, and that a healthy log has none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import specmon
from specmon.monitor.notice import NOTICE_KINDS
from specmon.monitor.notices import notices_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role

from .lines import decode, decodes, feed, launch, plain, prefill, ready, server_of

_STEADY = launch(0) + ready(5) + prefill(6) + decodes(6, 20)


def _kinds(log: str) -> list[str]:
    return [notice.kind for notice in notices_of(server_of(log), is_finished=True)]


def test_steady_log_has_no_notice() -> None:
    assert _kinds(_STEADY) == []


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        (_STEADY + launch(100) + ready(105) + decodes(106, 5), "restart"),
        (decodes(500, 3) + decodes(0, 3), "clock_backwards"),
        (decodes(0, 1), "no_clean_samples"),
        (decodes(0, 3, tag="DP1 TP1"), "ranks_missing"),
        ("".join(prefill(second) + decode(second) for second in range(6)), "prefill_heavy"),
        ("".join(decode(second, running=1 + second % 3) for second in range(9)), "batch_unsteady"),
        (decode(0) + decode(1) + decode(2, usage=0.99, queue=4), "kv_full"),
        (decodes(0, 6, accept=1.0), "speculation_inactive"),
        (decodes(0, 11) + decodes(5, 8, 50.0), "outliers"),
        ("hello\nworld\n", "not_a_server_log"),
        ("", "not_a_server_log"),
        (
            launch(0) + ready(5) + plain(70, 'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK'),
            "stats_missing",
        ),
    ],
)
def test_notice(log: str, kind: str) -> None:
    assert kind in _kinds(log)


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ([prefill(second, tag="{}") + decode(second, tag="{}") for second in range(6)], "prefill_heavy"),
        ([decode(second, running=1 + second % 3, tag="{}") for second in range(9)], "batch_unsteady"),
        ([decode(second, 60.0 if second in (7, 9) else 100.0, tag="{}") for second in range(12)], "outliers"),
    ],
)
def test_ranks_that_repeat_the_first_do_not_hide_a_notice(log: list[str], kind: str) -> None:
    lines = "".join(line.replace("{}", f"TP{rank}") for line in log for rank in range(8))
    assert kind in _kinds(lines)


def test_moved_level_tells_what_it_was() -> None:
    (text,) = [
        notice.text
        for notice in notices_of(server_of(decodes(0, 11) + decodes(5, 8, 50.0)), is_finished=True)
        if notice.kind == "outliers"
    ]
    assert "after 10 clean samples: cycle 10.0 → 20.0 ms (+100.0 %)" in text
    assert "Find out what changed on the host then; --until" in text
    assert "context" not in text


@pytest.mark.parametrize(("context", "is_named"), [(9_000, True), (330, False), (100, False)])
def test_move_of_a_growing_context_names_the_context(context: int, is_named: bool) -> None:
    log = decodes(0, 11) + "".join(decode(5 + 0.8 * step, 50.0, context=context) for step in range(8))
    (text,) = [notice.text for notice in notices_of(server_of(log), is_finished=True) if notice.kind == "outliers"]
    assert ("The contexts grew from 300 to 9,000 tokens a request" in text) is is_named
    assert ("Find out what changed on the host then" in text) is not is_named


def test_answers_without_any_statistics_are_told_at_the_end() -> None:
    log = launch(0) + ready(5) + plain(8, 'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK')
    assert "stats_missing" in _kinds(log)
    assert "stats_missing" not in _kinds(log + prefill(8))  # a short answer


def test_warm_up_answer_is_no_missing_statistics() -> None:
    answered = plain(5, 'INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK')
    assert "stats_missing" not in _kinds(launch(0) + ready(5) + answered)


def test_declared_role_that_contradicts_the_log_is_told() -> None:
    session = Session()
    server = session.add("a", "/logs/a.log", role=Role.SPECULATIVE)
    feed(session, "a", _STEADY)
    assert server.role is Role.SPECULATIVE
    assert [notice.kind for notice in notices_of(server, is_finished=True)] == ["role_conflict"]


def test_source_that_cannot_be_opened_has_only_that_to_say() -> None:
    session = Session()
    session.mark_unreadable("a", "/logs/none.log", "/logs/none.log: no such file. Check the path.")
    (notice,) = notices_of(session.servers[0], is_finished=True)
    assert (notice.kind, notice.text) == ("unreadable", "/logs/none.log: no such file. Check the path.")


def test_levels_without_a_speed_share_one_notice() -> None:
    log = decodes(0, 5) + decode(10, running=7) + decode(11, running=9)
    found = [notice for notice in notices_of(server_of(log), is_finished=True) if notice.kind == "no_clean_samples"]
    assert len(found) == 1
    assert "7, 9" in found[0].text


def test_every_kind_of_notice_is_a_word_of_the_gate() -> None:
    """`check --fail-on KIND` knows them all, and no other."""
    told: set[str] = set()
    for path in (Path(specmon.__file__).parent / "monitor").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Notice":
                kind = node.args[0]
                if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                    told.add(kind.value)
    # An unreadable source ends with 2 whatever is asked.
    assert told - {"unreadable"} == set(NOTICE_KINDS)
