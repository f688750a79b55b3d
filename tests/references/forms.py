"""References as the tests need them."""

from __future__ import annotations

from datetime import UTC, datetime

from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel, ReferenceSession

DAY = datetime(2026, 2, 20, 10, 0, tzinfo=UTC)


def level(tok_s: float, running: int = 1, **figures: object) -> ReferenceLevel:
    """A level with a speed and whatever else is given."""
    return ReferenceLevel.model_validate({"running": running, "tok_s": tok_s, **figures})


def session(*levels: ReferenceLevel, day: int = 20, run: int | None = 1) -> ReferenceSession:
    """A recording of ten minutes on a day of February 2026."""
    start = DAY.replace(day=day)
    return ReferenceSession(started_at=start, recorded_at=start.replace(minute=10), run=run, level=levels)


def reference(*sessions: ReferenceSession, env: dict[str, str] | None = None) -> Reference:
    """A reference as the first recording makes it."""
    (first, *_) = sessions
    return Reference(
        name="tuned",
        recorded_at=first.recorded_at,
        host="gpu01",
        engine="sglang",
        engine_version="0.5.9",
        model="/models/m",
        levels=first.level,
        sessions=sessions,
        fingerprint=Fingerprint(env=env, flags={"tp_size": 8, "quantization": None}),
    )
