"""Reads whole files through the pipeline that also runs live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from specmon.analysis.load import Band
from specmon.errors import UnreadableInput
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference
from specmon.sources.events import Chunk, Connected

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """One log to read to its end; `stream` is None when it could not be opened, for the given reason."""

    source: str
    stream: BinaryIO | None
    role: Role | None = None
    label: str | None = None
    fingerprint: Fingerprint | None = None
    unreadable: str = ""


def summarise(
    inputs: Iterable[Input], *, reference: Reference | None = None, running: int | Band | None = None, now: float = 0.0
) -> Session:
    """Feed each input to its end, one after another, and finish the session."""
    session = Session(reference=reference, running=running, mode="replay")
    for number, given in enumerate(inputs):
        key = f"{number}:{given.source}"
        session.add(key, given.source, role=given.role, label=given.label)
        if given.stream is None:
            session.mark_unreadable(key, given.source, given.unreadable or "the source cannot be opened")
            continue
        try:
            _read(session, key, given.stream, now)
        except (OSError, UnreadableInput) as error:
            session.mark_unreadable(key, given.source, f"{given.source}: {error}")
        if given.fingerprint is not None:
            session.attach_fingerprint(key, given.fingerprint)
    session.finish()
    return session


def _read(session: Session, key: str, stream: BinaryIO, now: float) -> None:
    session.feed(key, Connected(now, 0))
    offset = 0
    while data := stream.read(CHUNK_BYTES):
        session.feed(key, Chunk(now, offset, data))
        offset += len(data)
