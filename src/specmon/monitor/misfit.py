"""Whether a reference is one for this server at all: of its model and engine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from specmon.events import Json
from specmon.monitor.server import ServerMonitor

if TYPE_CHECKING:
    from specmon.references.model import Reference

_LATER_BY_S = 86400.0  # a log without a zone may be as far from UTC


def misfit_of(reference: Reference, server: ServerMonitor) -> str | None:
    """Why the reference says nothing about this server; None when it fits, or when nobody knows."""
    launch = server.life.launch if server.life is not None else None
    model = launch.model if launch is not None else None
    if reference.model is not None and model is not None and _tail(reference.model) != _tail(model):
        return (
            f"reference {reference.name} is of the model {reference.model}, this server runs {model}: "
            "give a reference of the same model"
        )
    if reference.engine is not None and server.engine is not None and reference.engine != server.engine:
        return (
            f"reference {reference.name} was recorded with {reference.engine}, this is the log of {server.engine}: "
            "give a reference of the same engine"
        )
    sizes = _ranks_of(reference.fingerprint.flags), _ranks_of(None if launch is None else launch.flags)
    if None not in sizes and sizes[0] != sizes[1]:
        return (
            f"reference {reference.name} is a sum over {sizes[0]} data-parallel ranks, this server runs {sizes[1]}: "
            "give a reference of the same number"
        )
    return None


def _ranks_of(flags: Mapping[str, Json] | None) -> int | None:
    """How many data-parallel ranks a launch line asks for; None where it does not say."""
    named = [flags.get(name) for name in ("dp_size", "data_parallel_size")] if flags else []
    return next((size for size in named if isinstance(size, int) and not isinstance(size, bool)), None)


def later_than(reference: Reference, server: ServerMonitor) -> str | None:
    """That the reference was recorded after this log was written, which is unusual and not wrong."""
    last = server.life.last_sample_at if server.life is not None else None
    recorded_at = reference.recorded_at
    if recorded_at is None or last is None:
        return None
    if recorded_at.tzinfo is None:
        recorded_at = recorded_at.replace(tzinfo=UTC)
    if recorded_at.timestamp() <= last + _LATER_BY_S:
        return None
    return (
        f"Reference {reference.name} was recorded on {recorded_at:%Y-%m-%d}, after this log was written: "
        "the log is held against a younger baseline. Check that this is what you mean."
    )


def _tail(model: str) -> str:
    return PurePosixPath(model).name.lower()
