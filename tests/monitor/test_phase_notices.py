"""Lines of the probe that give no figure are counted and told, and never shown as numbers."""

from __future__ import annotations

import pytest

from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session

from .lines import decodes, feed, plain

GOOD = "specmon-phase v1 cycles=40 running=1 decode_ms=9.800 cycle_ms=10.000"


def server_of(*bodies: str) -> ServerMonitor:
    session = Session()
    session.add("1", "/logs/base.log")
    feed(session, "1", decodes(0, 12) + "".join(plain(20 + index, body, "TP0") for index, body in enumerate(bodies)))
    session.finish()
    return session.servers[0]


def refusals(server: ServerMonitor) -> list[str]:
    return [notice.text for notice in notices_of(server, is_finished=True) if notice.kind == "phases_refused"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (GOOD.replace("v1", "v2"), ("1 phase line not counted", "written in version 2", "Update specmon")),
        (GOOD[:50], ("1 phase line not counted", "cut short", "not from a terminal")),
        (GOOD.replace("9.800", "11.0"), ("1 phase line not counted", "more than the whole cycle", "report one")),
        (GOOD.replace("9.800", "-9.8"), ("1 phase line not counted", "`decode_ms=-9.8`", "no time")),
        (GOOD.replace("10.000", "nan"), ("1 phase line not counted", "`cycle_ms=nan`", "no time")),
    ],
)
def test_a_line_that_cannot_be_right_is_told_and_gives_no_phases(line: str, parts: tuple[str, ...]) -> None:
    server = server_of(line)
    (text,) = refusals(server)
    for part in parts:
        assert part in text
    assert server.life is not None
    assert server.life.phases is None


def test_good_lines_beside_it_still_count() -> None:
    server = server_of(GOOD, GOOD[:50], GOOD, GOOD[:40])
    (text,) = refusals(server)
    assert text.startswith("2 phase lines not counted")
    assert server.life is not None
    phases = server.life.phases
    assert phases is not None
    assert (phases.cycles, dict(phases.ms)) == (80, {"decode": 9.8})


def test_a_figure_from_the_log_cannot_steer_the_terminal() -> None:
    (text,) = refusals(server_of(GOOD.replace("9.800", "\x1b]0;owned\x07" + "9" * 200)))
    assert text.isprintable()
    assert len(text) < 400


def test_without_such_lines_nothing_is_told() -> None:
    assert refusals(server_of(GOOD)) == []
