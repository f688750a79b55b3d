"""A real session behind a real screen: a feed that a test fills, with the desk that the commands give it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from specmon.commands.desk import SessionDesk
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Snapshot
from specmon.references.model import Reference
from specmon.ui.app import SpecmonApp
from tests.monitor.lines import START, decodes, feed, launch, ready

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STEADY = launch(0) + ready(5) + decodes(6, 40, 62.9)
SPEC = launch(
    0,
    port=30001,
    speculative_algorithm="EAGLE3",
    speculative_num_steps=2,
    speculative_num_draft_tokens=3,
    speculative_eagle_topk=1,
) + decodes(6, 40, 75.9, accept=2.1)


class SessionFeed:
    """Shows a session that stands still until somebody feeds it."""

    controls = None

    def __init__(self, session: Session) -> None:
        self.session = session

    async def run(self) -> None:
        await asyncio.Event().wait()

    def put(self, key: str, side: Role) -> None:
        self.session.put(key, side)

    def snapshot(self) -> Snapshot:
        return self.session.snapshot(START + 60)

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]]) -> None:
        self.session.hold_against(reference, others)


def session_of(logs: Mapping[str, str] | None = None, *, against: Reference | None = None) -> Session:
    """A session that goes on; the logs are `base` and `spec` unless a test gives others."""
    session = Session(reference=against)
    for key, text in (logs or {"base": STEADY, "spec": SPEC}).items():
        session.add(key, f"gpu01:/logs/{key}.log")
        feed(session, key, text)
    return session


def app_of(session: Session, folder: Path, *, ascii_only: bool = False) -> SpecmonApp:
    """The screen of a session; references lie in `folder`."""
    source = SessionFeed(session)
    return SpecmonApp(source, ascii_only=ascii_only, desk=SessionDesk(source, (folder,), now=lambda: NOW))
