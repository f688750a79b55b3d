"""Progress lines of llama.cpp: a live speed of requests that go on, and never a sample."""

from __future__ import annotations

import pytest

from specmon.monitor.session import Session
from specmon.monitor.snapshot import RunState, ServerView
from specmon.monitor.underway import LIVE_FOR_S
from specmon.reports import plain_lines
from specmon.reports.document import document_of
from specmon.sources.events import Chunk, Connected

_NOW = 1_000.0
_BEGINNING = """\
0.00.004.794 I srv  llama_server: initializing ...
0.01.000.000 I srv  llama_server: listening on http://127.0.0.1:8080
0.02.000.000 I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0
"""
_SECOND = "0.02.500.000 I slot launch_slot_: id  1 | task 9 | processing task, is_child = 0\n"
_END = """\
0.12.000.000 I slot print_timing: id  0 | task 1 |        eval time =   10000.00 ms /   201 tokens \
(   50.00 ms per token,    20.00 tokens per second)
0.12.000.001 I slot      release: id  0 | task 1 | stop processing: n_tokens = 210, truncated = 0
"""


def _progress(second: int, tok_s: float, *, slot: int = 0, task: int = 1) -> str:
    return (
        f"0.{second:02}.000.000 I slot print_timing: id  {slot} | task {task} | "
        f"n_gen = {100 + second:6}, tg =  18.67 t/s, tg_3s = {tok_s:6.2f} t/s\n"
    )


class _Log:
    def __init__(self) -> None:
        self.session = Session()
        self.session.add("1", "/logs/llama.log")
        self._end = 0

    def write(self, text: str, at: float = _NOW) -> _Log:
        self.session.feed("1", Chunk(at, self._end, text.encode()))
        self._end += len(text)
        return self

    def view(self, now: float = _NOW) -> ServerView:
        picture = self.session.snapshot(now)
        (view,) = [side for side in (picture.baseline, picture.speculative, *picture.others) if side is not None]
        return view


def test_running_request_has_a_live_speed_and_an_age() -> None:
    log = _Log().write(_BEGINNING + _progress(5, 18.85)).write(_progress(8, 16.5), _NOW + 3)
    view = log.view(_NOW + 5)
    assert (view.live_tok_s, view.live_requests, view.age_s, view.is_stale) == (16.5, 1, 2.0, False)
    assert view.state is RunState.SERVING


def test_requests_that_run_together_add_up() -> None:
    view = _Log().write(_BEGINNING + _SECOND + _progress(5, 18.0) + _progress(6, 12.0, slot=1, task=9)).view()
    assert (view.live_tok_s, view.live_requests) == (30.0, 2)


def test_live_speed_is_no_sample_and_in_no_level() -> None:
    log = _Log().write(_BEGINNING + _progress(5, 18.85) + _progress(8, 18.25))
    view = log.view()
    assert (view.samples, view.level, view.points, view.last_tok_s) == (0, None, (), None)
    log.session.finish()
    (server,) = document_of(log.session).servers
    assert (server.lines.samples, server.runs[-1].decode.levels) == (0, [])


@pytest.mark.parametrize(
    "after",
    [
        _END,
        "0.09.000.000 I slot      release: id  0 | task 1 | stop processing: n_tokens = 9, truncated = 0\n",  # given up
        "0.09.000.000 I slot launch_slot_: id  0 | task 7 | processing task, is_child = 0\n",
        "0.09.000.000 I srv  update_slots: all slots are idle\n",
        "0.09.000.000 I srv    operator(): cleaning up before exit...\n",
        "0.00.004.794 I srv  llama_server: initializing ...\n",
    ],
)
def test_live_speed_ends_with_its_request(after: str) -> None:
    log = _Log().write(_BEGINNING + _progress(5, 18.85))
    assert log.view().live_tok_s == 18.85
    assert log.write(after).view().live_tok_s is None


def test_request_that_falls_silent_is_not_shown_as_running() -> None:
    log = _Log().write(_BEGINNING + _progress(5, 18.85))
    assert log.view(_NOW + LIVE_FOR_S).live_tok_s == 18.85
    assert log.view(_NOW + LIVE_FOR_S + 1).live_tok_s is None


def test_progress_from_before_we_looked_is_of_unknown_age() -> None:
    text = _BEGINNING + _progress(5, 18.85)
    session = Session()
    session.feed("1", Connected(_NOW, 0, len(text)))
    session.feed("1", Chunk(_NOW, 0, text.encode()))
    (view,) = session.snapshot(_NOW).others
    assert view.live_tok_s is None


def test_plain_lines_mark_it_as_live() -> None:
    log = _Log().write(_BEGINNING + _progress(5, 18.85))
    assert "live 18.9 tok/s, no data: no decode line yet" in "\n".join(plain_lines(log.session.snapshot(_NOW)))
    for task in (1, 20, 21, 30):
        launch = f"0.13.000.000 I slot launch_slot_: id  0 | task {task} | processing task, is_child = 0\n"
        log.write(launch + (_END.replace("task 1 |", f"task {task} |") if task != 30 else _progress(20, 17.0, task=30)))
    (base,) = plain_lines(log.session.snapshot(_NOW))[1:]
    assert base.startswith("base 20.1 tok/s")
    assert base.endswith("live 17.0 tok/s")
