"""Why the speed-up of a session is what it is, in words."""

from __future__ import annotations

from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.monitor.verdict import Judged, attribution_of


def why_of(session: Session, judged: Judged) -> str | None:
    """What of the speed-up the accept length, the cycle and its phases make, and what moved since the run before."""
    baseline, speculative = session.pair()
    if baseline is None or speculative is None or baseline.life is None or speculative.life is None:
        return None
    return attribution_of(judged.comparison, baseline.life, speculative.life, _life_before(speculative))


def _life_before(server: ServerMonitor) -> Life | None:
    """The life before the judged one, when it speculated too."""
    before = [life for life in server.lives if server.life is not None and life.index < server.life.index]
    return before[-1] if before and before[-1].role is Role.SPECULATIVE else None
