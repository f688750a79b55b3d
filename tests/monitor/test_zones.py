"""A run carries a zone only where its own stamps do."""

from __future__ import annotations

import json

import pytest

from specmon.monitor.session import Session
from specmon.reports.document import document_of
from specmon.sources.events import Chunk

from .lines import START, decodes, launch, ready

_BARE = launch(0) + ready(5) + decodes(6, 4)
_LATER = launch(100) + ready(105) + decodes(106, 4)


def _zoned(text: str) -> str:
    """The same record in front of which a logger of its own puts the stamp, with a zone."""
    return "".join(
        f"{stamp.lstrip('[')}+00:00 INFO sglang: {body}\n"
        for stamp, _, body in (line.replace(" TP0]", "]").partition("] ") for line in text.splitlines())
    )


def _carried(text: str) -> str:
    """llama.cpp has only an uptime, so that docker's stamp with its zone counts."""
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"2026-02-26T16:40:{second:02}.5Z"}) + "\n"
        for second, line in enumerate(text.splitlines())
    )


_LLAMA = """\
0.00.004.794 I srv  llama_server: initializing ...
0.01.000.000 I srv  llama_server: listening on http://127.0.0.1:8080
0.02.000.000 I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0
0.12.000.000 I slot print_timing: id  0 | task 1 |        eval time =   10000.00 ms /   201 tokens ( 49.75 ms per \
token, 20.00 tokens per second)
0.12.000.001 I slot      release: id  0 | task 1 | stop processing: n_tokens = 210, truncated = 0
"""


def _stamps(text: str, size: int) -> list[str]:
    session = Session()
    session.add("1", "/logs/a.log")
    data = text.encode()
    for offset in range(0, len(data), size):
        session.feed("1", Chunk(START, offset, data[offset : offset + size]))
    session.finish()
    (server,) = document_of(session).servers
    return ["" if run.last_sample_at is None else run.last_sample_at[19:] for run in server.runs]


@pytest.mark.parametrize("size", [64, 700, 1 << 20])
@pytest.mark.parametrize(
    ("text", "zones"),
    [
        (_BARE + _LATER, ["", ""]),
        (_zoned(_BARE) + _zoned(_LATER), ["+00:00", "+00:00"]),
        (_zoned(_BARE) + _LATER, ["+00:00", ""]),
        (_BARE + _zoned(_LATER), ["", "+00:00"]),
        (_zoned(_BARE) + _LATER + _zoned(_LATER.replace("16:41", "16:51")), ["+00:00", "", "+00:00"]),
        (_carried(_LLAMA) + _LATER, [".500+00:00", ""]),
        (_BARE + _carried(_LLAMA), ["", ".500+00:00"]),
    ],
    ids=["none", "both", "first", "second", "first and third", "carried first", "carried second"],
)
def test_each_run_has_the_zone_of_its_own_stamps(text: str, zones: list[str], size: int) -> None:
    assert _stamps(text, size) == zones
