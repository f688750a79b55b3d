"""One thing that a reader must know before believing a server's figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is part of the JSON contract, `text` is for people."""

    kind: str
    text: str
