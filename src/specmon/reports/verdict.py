"""The verdict of this moment as a few lines of Markdown, to be pasted into a chat or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from specmon.monitor.snapshot import CheckPoint, ServerView, Severity, Snapshot, Trust
from specmon.monitor.trustwords import percent
from specmon.reports.cells import markdown, markdown_table
from specmon.reports.times import stamp

_SIGNS = {Severity.OK: "✓", Severity.INFO: "~", Severity.WARNING: "!", Severity.ALERT: "✗"}
_STATES = {"ok": "✓", "failed": "✗", "unknown": "?"}
_HEADINGS = ("", "decode tok/s", "95 %", "delivered", "B", "accept", "cycle ms", "clean")
_NONE, _UNSET = "–", "unset"


def verdict_markdown(snapshot: Snapshot) -> str:
    """The verdict, what it rests on, and the figures of all servers; without a last line end."""
    headline = snapshot.headline
    opening = f"{_SIGNS[headline.severity]} {headline.word}"
    parts = [f"**{markdown(opening)}**" + (f" {markdown(headline.sentence)}" if headline.sentence else "")]
    parts.append("\n".join(f"- {markdown(line)}" for line in _evidence(snapshot)))
    rows = [_row(side, view) for side, view in _servers(snapshot)]
    parts.append(markdown_table(_HEADINGS, rows, right=range(1, len(_HEADINGS))) if rows else "")
    comparison = snapshot.comparison
    parts.append("\n".join(_point(point) for point in comparison.checklist) if comparison is not None else "")
    parts.append(_signature(snapshot))
    return "\n\n".join(part for part in parts if part)


def _evidence(snapshot: Snapshot) -> Iterator[str]:
    comparison, trust = snapshot.comparison, snapshot.trust
    if snapshot.headline.why:
        yield snapshot.headline.why
    if comparison is not None:
        yield comparison.sentence
        if comparison.against_reference is not None:
            yield comparison.against_reference.sentence
    if trust.state is not Trust.NO_REFERENCE and trust.sentence:
        yield trust.sentence
    for cause in trust.causes:
        before, now = cause.shortened()
        yield f"{cause.name}: {before or _UNSET} in the reference, {now or _UNSET} now ({cause.weight})"


def _servers(snapshot: Snapshot) -> Iterator[tuple[str, ServerView]]:
    sides = (("baseline", snapshot.baseline), ("speculative", snapshot.speculative))
    yield from ((side, view) for side, view in sides if view is not None)
    yield from ((view.role.value, view) for view in snapshot.others)


def _row(side: str, view: ServerView) -> tuple[str, ...]:
    name, level = f"{side} {view.name}", view.level
    if level is None:
        return (f"{name}: no data, {view.no_data_reason}", *[_NONE] * (len(_HEADINGS) - 1))
    interval = level.decode_tok_s_ci95
    return (
        f"{name} (ended)" if view.is_ended_run else name,
        _number(level.decode_tok_s, 1),
        _NONE if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}",
        _number(level.delivered_tok_s, 1),
        str(level.running),
        _number(level.accept_len, 2),
        _number(level.cycle_ms, 2),
        str(level.clean),
    )


def _point(point: CheckPoint) -> str:
    return f"- {_STATES.get(point.state, '?')} {markdown(point.evidence)}"


def _signature(snapshot: Snapshot) -> str:
    at = stamp(snapshot.now)
    trust = snapshot.trust
    parts = ["specmon", *([at] if at else [])]
    if trust.reference is not None:
        deviation = "" if trust.deviation is None else f" ({percent(trust.deviation)})"
        parts.append(f"reference {trust.reference}{deviation}")
    return markdown(" · ".join(parts))


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"
