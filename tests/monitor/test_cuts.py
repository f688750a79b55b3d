"""How the stream is cut into chunks never changes what comes out."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.monitor.session import Session
from specmon.references.model import Reference, ReferenceLevel
from specmon.reports import to_json
from specmon.sources.events import Chunk

from .lines import START, decode, decodes, launch, plain, prefill, ready, server_of

_LOG = "".join(
    [
        launch(0),
        "loading: 10%\rloading: 100%\n",
        ready(5),
        prefill(6),
        decodes(6, 4),
        decode(8, 50.0),
        decodes(9, 12),
        "Decode batch, #running-req: 1, gen thr\n",
        decodes(14, 3, running=2),
        decodes(20, 6, 50.0),
        plain(30, "SIGTERM received. signum=15 frame=None. Draining requests and shutting down..."),
        launch(60, tp_size=4),
        ready(65),
        decodes(66, 7, 70.0),
        decodes(70, 6, 100.0),
        decodes(75, 2, 100.0)[:-20],
    ]
).encode()
_REFERENCE = Reference(name="tuned", levels=(ReferenceLevel(running=1, tok_s=100.0),))


def _document(cuts: list[int], log: bytes = _LOG) -> str:
    session = Session(reference=_REFERENCE)
    session.add("b", "/logs/b.log")
    edges = [0, *sorted(cuts), len(log)]
    for start, end in itertools.pairwise(edges):
        if end > start:
            session.feed("b", Chunk(START, start, log[start:end]))
            session.snapshot(START)  # looking in between must not matter either
    session.finish()
    return to_json(session)


_WHOLE = _document([])


@pytest.mark.parametrize(
    ("end", "samples"),
    [(": 100.00, #queue-req: 0", 3), (": 100.00,", 3), (": 100.00 ", 3), (": 100.00", 2), (": 100", 2), ("", 2)],
)
def test_last_line_without_its_end_counts_when_its_figure_is_whole(end: str, samples: int) -> None:
    head, _, _ = decode(1).partition(": 100.00")
    server = server_of(decodes(0, 2) + head + end)
    assert (server.samples, server.lines, server.unparsed) == (samples, 2, 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(_LOG)), max_size=12))
def test_cutting_anywhere_gives_the_same_document(cuts: list[int]) -> None:
    assert _document(cuts) == _WHOLE


# A logging set-up of its own prints milliseconds, the engine's does not: both kinds of stamps in one log. The window
# of a line is 0.04 s, so the fine stamps show idle times that the coarse ones cannot.
_MIXED = "".join(
    line.replace(" TP0]", f".{37 * number % 1000:03} TP0]") if number % 7 in (2, 3, 4) else line
    for number, line in enumerate(
        launch(0).splitlines(keepends=True) + [decode(second / 2, 1000.0) for second in range(10, 60)]
    )
).encode()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(_MIXED)), max_size=12))
def test_stamps_of_two_kinds_are_judged_the_same_however_they_are_cut(cuts: list[int]) -> None:
    assert _document(cuts, _MIXED) == _document([], _MIXED)


def test_stamps_of_two_kinds_show_what_they_can() -> None:
    excluded = json.loads(_document([], _MIXED))["servers"][0]["runs"][0]["decode"]["excluded"]
    assert 0 < excluded["after_idle"] < 40


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
def test_even_chunks_give_the_same_document(size: int) -> None:
    assert _document(list(range(size, len(_LOG), size))) == _WHOLE
