"""Tools that print several files one after another: `tail -F A B` and `grep PATTERN A B`.

>>> ==> logs/spec.log <==
>>> logs/spec.log:[2026-01-01 10:00:00 TP0] Decode batch. …
>>> logs/spec.log:128:INFO 01-01 10:00:00 [loggers.py:127] Engine 000: …
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from specmon.formats.carriers.envelope import Envelope, Label

HEADER = re.compile(rb"==> ([^\n]{1,1024}?) <==[ \t]{0,8}\Z")
# A name is only taken off what is a record behind it; grep puts `-` behind the names of lines around a match.
_NAME = rb"[\w./@+-]{1,200}\.(?:log|out|err|txt|stderr)(?:\.\d{1,4})?"
_RECORD = (
    rb"(?=\[20\d\d-|\[\d\d/\d\d/20|\([A-Z][\w.-]{2,40} pid=\d|(?:INFO|WARNING|ERROR) \d\d-\d\d "
    rb"|20\d\d-\d\d-\d\d[T ]|\d{1,9}\.\d\d\.\d{3}\.\d{3} [IWED] )"
)
START = rb"(?:==> [^\n]{1,1024} <==|" + _NAME + rb"[:-](?:\d{1,10}[:-])?" + _RECORD + rb")"
_PREFIX = re.compile(rb"(" + _NAME + rb")[:-](?:\d{1,10}[:-])?" + _RECORD)


def unwrap(line: Envelope) -> bool:
    """Take the file's name off."""
    if header := HEADER.match(line.text):
        line.label = label_of(header[1])
        line.is_header = True
        return False
    if (match := _PREFIX.match(line.text)) is None:
        return False
    line.text = line.text[match.end() :]
    line.name(label_of(match[1]))
    return True


def label_of(path: bytes) -> Label:
    """The label of the lines of a file."""
    text = path.decode("utf-8", "replace")
    name = PurePosixPath(text).name or text
    return Label(("file", text), (name, text))
