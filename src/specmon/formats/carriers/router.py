"""llama.cpp's router, which passes the lines of its children on behind their ports: `[53409] `.

Each child serves a model of its own, so the children are servers of their own. The port stays in front of the line:
the dialect knows it.
"""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope, Label

GROUP = "router"
START = (
    rb"\[\d{2,5}\] (?=\d{1,9}\.\d\d\.\d{3}\.\d{3} |(?:slot|srv|main|que) |main: "
    rb"|[ \t]{0,8}(?:prompt eval|eval|total) time +=|draft acceptance|[ \t]{0,8}graphs reused)"
)
_PORT = re.compile(rb"\[(\d{2,5})\] ")


def unwrap(line: Envelope) -> bool:
    """Note the port; nothing is taken off. Inside another carrier's label all children count as one server."""
    if line.label is None and (match := _PORT.match(line.text)):
        port = match[1].decode()
        line.label = Label((GROUP, port), (port,))
    return False
