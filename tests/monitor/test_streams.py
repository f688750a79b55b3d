"""Several servers in one source: each with its own lives, role, lines, name; foreign streams are no servers."""

from __future__ import annotations

import itertools
import json

import pytest

from specmon.monitor.notices import notices_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import LinkState, Role
from specmon.reports.document import document_of
from specmon.sources.events import Chunk, Connected, Gap, Rotated, Waiting

from .lines import START, decodes, feed, launch, ready


def labelled(name: str, text: str) -> str:
    return "".join(f"{name}  | {line}\n" for line in text.splitlines())


def woven(*texts: str) -> str:
    return "".join(
        itertools.chain.from_iterable(
            itertools.zip_longest(*(text.splitlines(keepends=True) for text in texts), fillvalue="")
        )
    )


BASE = launch(0, port=30000) + ready(5) + decodes(6, 14, 100.0)
SPEC = launch(0, port=30000, speculative_algorithm="EAGLE") + ready(5) + decodes(6, 14, 150.0, accept=2.0)
BOTH = woven(labelled("base-1", BASE), labelled("spec-1", SPEC))


def session_of(text: str, *, role: Role | None = None, label: str | None = None) -> Session:
    session = Session()
    session.add("1", "/logs/all.log", role=role, label=label)
    feed(session, "1", text)
    return session


def test_two_services_are_two_servers_that_are_compared() -> None:
    session = session_of(BOTH)
    session.finish()
    document = document_of(session)
    assert [(server.stream, server.role, server.name) for server in document.servers] == [
        ("base-1", "baseline", "base-1"),
        ("spec-1", "speculative", "spec-1"),
    ]
    assert [server.lines.total for server in document.servers] == [16, 16]
    assert document.comparison is not None
    assert document.comparison.speedup == pytest.approx(1.5, rel=0.01)


def test_one_labelled_server_is_simply_the_source() -> None:
    session = session_of(
        labelled("base-1", BASE) + labelled("proxy-1", "GET /\nGET /\n") + "base-1 exited with code 0\n"
    )
    (server,) = session.servers
    assert (server.stream, server.lines, server.samples) == (None, 19, 14)


def test_plain_lines_beside_a_labelled_server_are_a_server_when_they_are_an_engines() -> None:
    session = session_of(BASE + labelled("spec-1", SPEC))
    assert [(server.stream, server.role) for server in session.servers] == [
        (None, Role.BASELINE),
        ("spec-1", Role.SPECULATIVE),
    ]


def test_order_of_servers_is_that_of_their_first_lines_in_any_cut() -> None:
    data = BOTH.encode()
    for size in (50, 333, len(data)):
        session = Session()
        session.add("1", "/logs/all.log")
        for start in range(0, len(data), size):
            session.feed("1", Chunk(START, start, data[start : start + size]))
            session.snapshot(START)
        assert [server.stream for server in session.servers] == ["base-1", "spec-1"]
        assert [server.samples for server in session.servers] == [14, 14]


def test_pods_of_one_name_are_told_apart_by_their_containers() -> None:
    pods = [f"[pod/llm-0/{name}] " for name in ("a", "b")]
    text = woven(*("".join(f"{pod}{line}\n" for line in BASE.splitlines()) for pod in pods))
    assert [server.stream for server in session_of(text).servers] == ["llm-0/a", "llm-0/b"]


def test_named_source_names_its_servers() -> None:
    assert sorted(session_of(BOTH, label="lab").names().values()) == ["lab base-1", "lab spec-1"]


def test_said_role_is_that_of_the_servers_whose_log_does_not_say_otherwise() -> None:
    session = session_of(BOTH, role=Role.BASELINE)
    session.finish()
    assert [server.role for server in session.servers] == [Role.BASELINE, Role.SPECULATIVE]
    kinds = {notice.kind for server in session.servers for notice in notices_of(server, is_finished=True)}
    assert "role_conflict" not in kinds


def test_snapshot_shows_both_with_their_own_lines() -> None:
    session = session_of(BOTH)
    picture = session.snapshot(START + 60)
    assert picture.baseline is not None
    assert picture.speculative is not None
    assert (picture.baseline.name, picture.speculative.name) == ("base-1", "spec-1")
    assert [line.server for line in picture.log] == ["base-1", "spec-1"] * 16
    assert sum(line.is_stats for line in picture.log) == 28
    assert not any(line.text.startswith(("base-1", "spec-1")) for line in picture.log)


def test_what_befalls_the_source_befalls_all_its_servers() -> None:
    session = session_of(BOTH)
    session.feed("1", Waiting(START + 60, 1, 1.0, "link lost"))
    assert {server.link.state for server in session.servers} == {LinkState.WAITING}
    session.feed("1", Connected(START + 61, 0))
    session.feed("1", Gap(START + 62, 100, "rotated away"))
    session.feed("1", Rotated(START + 63, None, "renamed"))
    assert {server.link.state for server in session.servers} == {LinkState.LIVE}
    assert all(server.gaps == ["rotated away"] for server in session.servers)
    session.finish("1")
    assert {server.link.state for server in session.servers} == {LinkState.ENDED}


def test_lines_before_the_engine_is_known_are_counted_at_once_and_read_later() -> None:
    session = Session()
    server = session.add("1", "/logs/a.log")
    feed(session, "1", "gpu-1:3:4 [0] NCCL INFO NCCL_PROTO set by environment to LL\nbash: hello\n")
    assert (server.lines, server.engine, server.lives) == (2, None, [])
    feed(session, "1", BASE, offset=72)
    assert (server.lines, server.engine) == (18, "sglang")
    assert server.life is not None
    assert server.life.env == {"NCCL_PROTO": "LL"}


def test_times_without_a_date_are_null_and_still_tell_windows() -> None:
    ticks = "".join(
        f"(APIServer pid=7) INFO {'12-31 23:59' if tick < 3 else '01-01 00:00'}:{(30 + 10 * tick) % 60:02} "
        f"[loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        f"Avg generation throughput: {50 + tick / 10} tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 35.1%, Prefix cache hit rate: 0.0%\n"
        for tick in range(8)
    )
    session = session_of(ticks)
    session.finish()
    (server,) = document_of(session).servers
    assert "no_date" in {notice.kind for notice in server.notices}
    (run,) = server.runs
    assert (run.first_sample_at, run.last_sample_at) == (None, None)
    assert (run.decode.clean, run.decode.excluded.after_idle) == (7, 0)


JOURNAL = "2026-02-26T16:{}+0100 gpu01 {}: {}\n"


def journalled(minute: int, pid: int, text: str) -> str:
    return "".join(JOURNAL.format(f"{minute:02}:00", f"python3[{pid}]", line) for line in text.splitlines())


@pytest.mark.parametrize(
    ("status", "state"),
    [("code=exited, status=1/FAILURE", "crashed"), ("code=killed, status=15/TERM", "exited"),
     ("code=killed, status=9/KILL", "crashed"), ("code=exited, status=0/SUCCESS", "exited")],
)  # fmt: skip
def test_systemd_tells_the_end_of_a_life_and_begins_the_next(status: str, state: str) -> None:
    said = "spec.service: Main process exited, " + status, "Started spec.service - the server."
    text = (
        journalled(40, 1, decodes(0, 8, 100.0))
        + "".join(JOURNAL.format("41:00", "systemd[1]", line) for line in said)
        + journalled(42, 2, decodes(120, 8, 50.0))
    )
    session = session_of(text)
    (server,) = session.servers
    assert [life.state.value for life in server.lives] == [state, "serving"]
    assert [life.statistics.samples for life in server.lives] == [8, 8]


def test_service_that_compose_saw_ending_has_crashed() -> None:
    session = session_of(BOTH + "spec-1 exited with code 137\nbase-1 exited with code 0\n")
    assert [server.life.state.value for server in session.servers if server.life] == ["exited", "crashed"]


def test_names_out_of_foreign_objects_cannot_steer_a_terminal() -> None:
    text = "".join(
        json.dumps(
            {
                "MESSAGE": line,
                "_PID": str(number),
                "_SYSTEMD_UNIT": f"a\x1b[2J{number}.service",
                "__REALTIME_TIMESTAMP": "999999999999999999",
            }
        )
        + "\n"
        for line in BASE.splitlines()
        for number in (1, 2)
    )
    session = session_of(text)
    session.finish()
    assert [server.name for server in document_of(session).servers] == ["a?[2J1", "a?[2J2"]


def test_thousands_of_labels_are_no_streams_of_their_own() -> None:
    text = "".join(f"word{number} | nothing\n" for number in range(5000))
    session = session_of(BASE + text)
    (server,) = session.servers
    assert (server.lines, server.samples) == (5016, 14)
