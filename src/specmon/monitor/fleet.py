"""All servers of a session as rows of one table, those that need attention first."""

from __future__ import annotations

from collections.abc import Iterable

from specmon.monitor.headline import crash_of, likely_cause
from specmon.monitor.snapshot import FleetRow, LinkState, Role, RunState, ServerView, Severity, Trust, TrustView

# Fine and unremarkable servers keep their places: one that pauses for a moment must not jump about.
_PLACES = {Severity.ALERT: 0, Severity.WARNING: 1, Severity.INFO: 2, Severity.OK: 2}
_TRUSTED = {Trust.MATCHES: "trusted", Trust.RECOVERED: "trusted again"}


def fleet_row(view: ServerView, trust: TrustView, side: Role | None = None) -> FleetRow:
    """A server's row; `trust` is how it stands against the reference, when it is a baseline."""
    level = view.level
    has_speed = level is not None and level.decode_tok_s is not None
    is_baseline = view.role is not Role.SPECULATIVE
    severity, word, reason = _attention(view, trust if is_baseline else TrustView(), has_speed=has_speed)
    return FleetRow(
        key=view.key,
        name=view.name,
        severity=severity,
        word=word,
        sentence=f"{word}: {reason}" if reason else word,
        role=view.role,
        state=view.link.state.value if view.state is RunState.UNKNOWN else view.state.value,
        engine=view.engine,
        running=level.running if level is not None else view.running,
        tok_s=level.decode_tok_s if level is not None else None,
        delivered_tok_s=level.delivered_tok_s if level is not None else None,
        accept_len=level.accept_len if level is not None and view.role is Role.SPECULATIVE else None,
        deviation=trust.deviation if is_baseline else None,
        trust=trust.state if is_baseline else Trust.NO_REFERENCE,
        age_s=view.age_s,
        is_stale=view.is_stale,
        side=side,
    )


def in_order(rows: Iterable[FleetRow]) -> tuple[FleetRow, ...]:
    """Alerts, then warnings, then all others; within each of them the order in which they came."""
    return tuple(sorted(rows, key=lambda row: _PLACES[row.severity]))


def _attention(view: ServerView, trust: TrustView, *, has_speed: bool) -> tuple[Severity, str, str]:
    """How loud a server is, the word, and the reason: the first of these that holds."""
    if view.state is RunState.CRASHED:
        return Severity.ALERT, "crashed", crash_of(view)
    if view.link.state is LinkState.REFUSED:
        return Severity.ALERT, "refused", view.link.detail
    if trust.state is Trust.DIVERGED:
        cause = likely_cause(trust.causes)
        return Severity.ALERT, "diverged", f"{trust.sentence}; likely cause: {cause}" if cause else trust.sentence
    if view.link.state is LinkState.WAITING:
        return Severity.WARNING, "no link", view.link.detail
    if view.state is RunState.EXITED:
        return Severity.WARNING, "ended", view.no_data_reason
    if trust.state is Trust.DRIFTING:
        return Severity.WARNING, "drifting", trust.sentence
    if view.speculation == "inactive":
        return Severity.WARNING, "inactive", "the server is set to speculate, but accepts no draft"
    if not has_speed:
        return Severity.INFO, "no data", view.no_data_reason
    if view.is_stale:
        return Severity.INFO, "silent", "no new sample"
    if trust.state in _TRUSTED:
        return Severity.OK, "ok", f"{_TRUSTED[trust.state]}: {trust.sentence}"
    return Severity.OK, "ok", trust.sentence
