"""The picture of a session as a few lines of plain text, for terminals without room and for pipes."""

from __future__ import annotations

from itertools import islice

from specmon.monitor.headline import likely_cause
from specmon.monitor.phaserecords import PhasePart
from specmon.monitor.snapshot import FleetRow, LinkState, SamplePoint, ServerView, Severity, Snapshot, Trust, Verdict
from specmon.monitor.trustwords import looks_like, percent
from specmon.visible import visible

_GLYPHS = {Severity.OK: "✓", Severity.INFO: "~", Severity.WARNING: "!", Severity.ALERT: "✗"}
_BARS = "▁▂▃▄▅▆▇█"
_SPARK_CELLS = 8


_ASCII = str.maketrans(
    {"✓": "OK", "✗": "FAIL", "!": "WARN", "×": "x", "–": "-", "−": "-", "±": "+-", "…": "...", "→": ">"}
)
_ASCII_BARS = str.maketrans(_BARS, "_.-:=+*#")


def plain_lines(snapshot: Snapshot, *, is_ascii: bool = False) -> list[str]:
    """The verdict, then a line a server, those that need attention first behind the two that are compared.

    Colour is never needed to read them.
    """
    lines = [_verdict(snapshot)]
    top = max((point.tok_s for view in _sides(snapshot) for point in _newest(view)), default=0.0)
    if snapshot.baseline is not None:
        lines.append(_server("base", snapshot.baseline, top, _reference(snapshot)))
    if snapshot.speculative is not None:
        lines.append(_server("spec", snapshot.speculative, top, _speculative(snapshot)))
    if phases := _phases(snapshot):
        lines.append(phases)
    others = {view.key: view for view in snapshot.others}
    rows = {row.key: row for row in snapshot.fleet if row.key in others}
    for key in (*rows, *(key for key in others if key not in rows)):
        lines.append(_server(others[key].name, others[key], top, _attention(rows.get(key))))
    shown = [visible(line) for line in lines]
    return [line.translate(_ASCII_BARS).translate(_ASCII) for line in shown] if is_ascii else shown


def phase_notices(snapshot: Snapshot) -> list[tuple[str, str]]:
    """What is to be said of phase lines and metrics pages of the two that are compared: server and notice."""
    views = (view for view in (snapshot.baseline, snapshot.speculative) if view is not None)
    return [(view.name, notice) for view in views for notice in view.phases.notices]


def _phases(snapshot: Snapshot) -> str:
    """ "cycle base decode 15.7 …; spec draft 0.61 verify 28.7 (96 %) … ms (probe); verify 1.83× …"; "" without any."""
    told = []
    for side, view in (("base", snapshot.baseline), ("spec", snapshot.speculative)):
        if view is None:
            continue
        if view.phases.fault:
            told.append(f"{side} phases not shown: {view.phases.fault}")
        elif view.phases.parts:
            parts = " ".join(_part(part) for part in view.phases.parts)
            told += filter(None, [f"{side} {parts} ms ({view.phases.source})", view.phases.sentence])
    if snapshot.verify_cost is not None:
        told.append(f"verify {snapshot.verify_cost.multiple:.2f}× {snapshot.verify_cost.step}")
    return f"cycle {'; '.join(told)}" if told else ""


def _part(part: PhasePart) -> str:
    share = f" ({part.share * 100:.0f} %)" if part.share is not None and part.share >= 0.5 else ""
    return f"{part.name.replace('_', '-')} {part.ms:.{1 if part.ms >= 1 else 2}f}{share}"


def _attention(row: FleetRow | None) -> str:
    """Of a server that is not compared: its role, its accept length or its reference, and what is wrong with it."""
    if row is None:
        return ""
    parts = [row.role.value]
    if row.accept_len is not None:
        parts.append(f"acc {row.accept_len:.2f}")
    if row.deviation is not None:
        parts.append(f"{percent(row.deviation)} against ref")
    if row.severity in (Severity.ALERT, Severity.WARNING):
        parts.append(f"{_GLYPHS[row.severity]} {row.word}")
    return "  ".join(parts)


def _verdict(snapshot: Snapshot) -> str:
    headline, trust = snapshot.headline, snapshot.trust
    glyph = _GLYPHS[headline.severity]
    if trust.state is Trust.DIVERGED and trust.deviation is not None:
        parts = (percent(trust.deviation) + looks_like(trust), likely_cause(trust.causes))
        return f"{glyph} {headline.word} {'   '.join(part for part in parts if part)}"
    caution = headline.why.split(" · ", 1)[0] if headline.why.startswith("!") else ""
    return "   ".join(part for part in (f"{glyph} {headline.word}", headline.sentence, caution) if part)


def _server(side: str, view: ServerView, top: float, extra: str) -> str:
    level = view.level
    if level is None or level.decode_tok_s is None:
        reason = f"no data: {_broken_link(view) or view.no_data_reason}"
        return f"{side} {_live(view)}, {reason}" if view.live_tok_s is not None else f"{side} {reason}"
    delivered = f" delivered {level.delivered_tok_s:.1f}" if level.delivered_tok_s is not None else ""
    ages = [_age(view) if view.is_stale else "", _broken_link(view)]
    age = f" ({', '.join(filter(None, ages))})" if any(ages) else ""
    parts = [f"{side} {level.decode_tok_s:.1f} tok/s{delivered}{age}", _spark(view, top), _live(view), extra]
    return "  ".join(part for part in parts if part)


def _live(view: ServerView) -> str:
    """The speed of requests that go on, by their own progress lines: no sample."""
    if view.live_tok_s is None:
        return ""
    return f"live {view.live_tok_s:.1f} tok/s" + (
        f" of {view.live_requests} requests" if view.live_requests > 1 else ""
    )


def _broken_link(view: ServerView) -> str:
    if view.link.state is LinkState.WAITING:
        return f"{view.link.detail.rstrip('.')}; waiting, tried again by itself"
    return view.link.detail if view.link.state is LinkState.REFUSED else ""


def _age(view: ServerView) -> str:
    if view.is_ended_run and view.age_s is not None:
        return f"ended run, written {_long_ago(view.age_s)} ago"
    if view.age_s is None or view.state.value in ("exited", "crashed"):
        return str(view.state.value)
    return f"{view.age_s:.0f} s old"


def _long_ago(age_s: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if age_s >= 2 * size:
            return f"{age_s / size:.0f} {unit}"
    return f"{age_s:.0f} s"


def _reference(snapshot: Snapshot) -> str:
    trust = snapshot.trust
    return f"ref {trust.reference_tok_s:.1f}" if trust.reference_tok_s is not None else ""


def _speculative(snapshot: Snapshot) -> str:
    view, comparison = snapshot.speculative, snapshot.comparison
    parts = []
    if view is not None and view.level is not None and view.level.accept_len is not None:
        parts.append(f"acc {view.level.accept_len:.2f}")
    if comparison is not None and comparison.speedup is not None and comparison.verdict is not Verdict.NOT_COMPARABLE:
        parts.append(f"{comparison.speedup:.2f}×")
        if comparison.delivered_speedup is not None:
            parts.append(f"delivered {comparison.delivered_speedup:.2f}×")
        if comparison.against_reference is not None and snapshot.trust.state is Trust.DIVERGED:
            parts.append(f"{comparison.against_reference.speedup:.2f}× of reference")
    return "  ".join(parts)


def _sides(snapshot: Snapshot) -> list[ServerView]:
    return [view for view in (snapshot.baseline, snapshot.speculative, *snapshot.others) if view is not None]


def _newest(view: ServerView) -> list[SamplePoint]:
    running = view.level.running if view.level is not None else None
    wanted = (point for point in reversed(view.points) if point.excluded is None and point.running == running)
    return list(islice(wanted, _SPARK_CELLS))[::-1]


def _spark(view: ServerView, top: float) -> str:
    """The newest clean samples, all servers on one scale from zero."""
    if top <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(point.tok_s / top * len(_BARS)))] for point in _newest(view))
