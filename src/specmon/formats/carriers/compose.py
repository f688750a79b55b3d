"""docker compose (and docker service logs): `spec-1  | `, in colour or not.

>>> spec-1      | [2026-01-01 10:00:00 TP0] Decode batch. …
>>> model_sglang_1  | …
>>> llm_spec.1.x3ha7@gpu01    | …
>>> spec-1 exited with code 137
"""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope, Label

START = rb"[A-Za-z0-9][\w.@-]{0,127}+(?: {1,64}+\|(?=[ \n\x1b]|\Z)| exited with code \d)"
_ENDED = re.compile(rb"([A-Za-z0-9][\w.@-]{0,127}+) (?=exited with code \d)")
_PREFIX = re.compile(rb"([A-Za-z0-9][\w.@-]{0,127}+) {1,64}+\|(?: |(?=\n)|\Z)")


def unwrap(line: Envelope) -> bool:
    """Take the service's name off."""
    match = _PREFIX.match(line.text)
    if match is None and (match := _ENDED.match(line.text)):
        line.is_supervisor = True
    if match is None:
        return False
    name = match[1].decode("ascii", "replace")
    line.text = line.text[match.end() :]
    line.name(Label(("compose", name), (name,)))
    return True
