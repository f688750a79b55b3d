"""What was written before anybody looked has no arrival time, also where nobody knows how much it is."""

from __future__ import annotations

from specmon.monitor.session import Session
from specmon.sources.events import CaughtUp, Chunk, Connected
from tests.monitor.lines import decodes, launch


def test_lines_of_a_source_that_is_behind_have_not_just_arrived() -> None:
    session = Session()
    server = session.add("1", "docker:spec")
    old, new = (launch(0) + decodes(1, 20, 80.0)).encode(), decodes(30, 1, 80.0).encode()
    session.feed("1", Connected(1000.0, 0, is_behind=True))
    session.feed("1", Chunk(1000.0, 0, old))
    assert server.samples == 20
    assert server.arrived_at is None
    session.feed("1", CaughtUp(1001.0))
    session.feed("1", Chunk(1002.0, len(old), new))
    assert server.arrived_at == 1002.0
