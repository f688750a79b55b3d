"""The verdict band: what somebody acts on who reads nothing else."""

from __future__ import annotations

from specmon.monitor.snapshot import (
    ComparisonView,
    Difference,
    Headline,
    MarkKind,
    RunState,
    ServerView,
    Severity,
    Trust,
    TrustView,
    Verdict,
)
from specmon.monitor.trustwords import looks_like, percent
from specmon.monitor.verdict import Judged, load_of

_CAUSES_SHOWN = 3
# What a point of the checklist that does not hold is called in the band; the others have words of their own there.
_FAILED = {"method": "another measure contradicts these figures"}


def headline_of(
    baseline: ServerView | None,
    speculative: ServerView | None,
    comparison: ComparisonView | None,
    judged: Judged | None,
    trust: TrustView,
    others: tuple[ServerView, ...] = (),
    differences: tuple[Difference, ...] = (),
) -> Headline:
    """The first of these that holds: crash, baseline not trusted, no data, the verdict."""
    for view, side in ((baseline, "BASELINE"), (speculative, "SPECULATIVE")):
        if view is not None and view.state is RunState.CRASHED:
            return Headline(Severity.ALERT, f"{side} CRASHED", view.name, crash_of(view))
    if trust.state is Trust.DIVERGED:
        return _not_trusted(comparison, trust, judged)
    if baseline is None or speculative is None or comparison is None or judged is None:
        return _no_pair(baseline, speculative, trust, others)
    for view, side in ((baseline, "baseline"), (speculative, "speculative")):
        if view.level is None or view.level.decode_tok_s is None:
            return Headline(Severity.INFO, "NO DATA", f"{side}: {view.no_data_reason}", _trusted(trust))
    return _verdict(comparison, judged, trust, differences)


def _not_trusted(comparison: ComparisonView | None, trust: TrustView, judged: Judged | None) -> Headline:
    sentence = f"{_pair_of(trust)}{looks_like(trust)}"
    against = comparison.against_reference if comparison is not None else None
    cause = likely_cause(trust.causes)
    parts = [f"likely cause: {cause}"] if cause else []
    if comparison is not None and comparison.speedup is not None and against is not None:
        parts.append(f"{comparison.speedup:.2f}× apparent, {against.speedup:.2f}× against the reference")
        if judged is not None and judged.moved:
            parts.append(judged.moved)
    why = " · ".join(parts) or "no difference in conditions is known"
    return Headline(Severity.ALERT, "BASELINE NOT TRUSTED", sentence, why)


def likely_cause(causes: tuple[Difference, ...]) -> str:
    """The differences that are known to matter or came with the change, in few words; empty without one."""
    weighty = [cause for cause in causes if cause.weight == "matters" or cause.began_with]
    if not weighty:
        return ""
    unset = [cause.name for cause in weighty if cause.kind == "env" and cause.now is None]
    if len(unset) == len(weighty):
        return f"{_listed(unset)} set in the reference, unset now"
    return "; ".join(_words(cause) for cause in weighty[:_CAUSES_SHOWN])


def _words(cause: Difference) -> str:
    before, now = cause.shortened()
    if before is None:
        return f"{cause.name} is {now}"
    if now is None:
        return f"{cause.name}={before} missing"
    return f"{cause.name} {before} → {now}"


def _listed(names: list[str]) -> str:
    more = len(names) - _CAUSES_SHOWN
    return ", ".join(names[:_CAUSES_SHOWN]) + (f" (+{more})" if more > 0 else "")


def crash_of(view: ServerView) -> str:
    """What the log says of a server's last crash."""
    crashes = [mark.text for mark in view.marks if mark.kind is MarkKind.CRASH]
    return crashes[-1] if crashes else view.no_data_reason


def _no_pair(
    baseline: ServerView | None, speculative: ServerView | None, trust: TrustView, others: tuple[ServerView, ...]
) -> Headline:
    present = baseline or speculative
    if present is None and others:
        stranger = others[0]
        if stranger.state is RunState.CRASHED:
            return Headline(Severity.ALERT, "SERVER CRASHED", stranger.name, crash_of(stranger))
        reason = stranger.no_data_reason or "its log does not say whether it speculates"
        return Headline(Severity.INFO, "NO DATA", f"{stranger.name}: {reason}", "")
    if present is None:
        return Headline(Severity.INFO, "WAITING", "for the first line of a server", "")
    side, other = ("baseline", "speculative") if baseline is not None else ("speculative", "baseline")
    if present.level is None or present.level.decode_tok_s is None:
        return Headline(Severity.INFO, "NO DATA", f"{side}: {present.no_data_reason}", f"no {other} server yet")
    sentence = f"{side} {present.level.decode_tok_s:.1f} tok/s at {present.level.running} running"
    if trust.state in (Trust.MATCHES, Trust.RECOVERED):
        return Headline(Severity.OK, "BASELINE MATCHES", _pair_of(trust), f"no {other} server to compare with")
    if trust.state is Trust.DRIFTING:
        return Headline(Severity.WARNING, "BASELINE DRIFTS", _pair_of(trust), f"no {other} server to compare with")
    return Headline(Severity.INFO, "ONE SERVER", sentence, f"no {other} server to compare with")


def _verdict(
    comparison: ComparisonView, judged: Judged, trust: TrustView, differences: tuple[Difference, ...]
) -> Headline:
    word = {
        Verdict.FASTER: "SPECULATIVE WINS",
        Verdict.SLOWER: "SPECULATIVE LOSES",
        Verdict.EQUAL: "NO DIFFERENCE",
        Verdict.NOT_COMPARABLE: "NOT COMPARABLE",
        Verdict.CANNOT_TELL: "CANNOT TELL",
    }[comparison.verdict]
    severity = {
        Verdict.FASTER: Severity.OK,
        Verdict.SLOWER: Severity.ALERT,
        Verdict.EQUAL: Severity.INFO,
    }.get(comparison.verdict, Severity.WARNING)
    if comparison.verdict in (Verdict.NOT_COMPARABLE, Verdict.CANNOT_TELL) or comparison.speedup is None:
        reason = judged.sentence.removeprefix(comparison.verdict).lstrip(": ")
        why = [f"! {judged.moved}"] if judged.moved else []
        return Headline(severity, word, reason, " · ".join([*why, _trusted(trust)]))
    sentence = f"{comparison.speedup:.2f}×"
    if comparison.speedup_ci95 is not None:
        low, high = comparison.speedup_ci95
        sentence += f" (95 % CI {low:.2f} – {high:.2f}) at {load_of(judged.comparison)}"
    if judged.comparison.is_delivery_different and comparison.delivered_speedup is not None:
        sentence += f", delivered {comparison.delivered_speedup:.2f}×"
    parts = []
    if judged.moved:
        parts.append(f"! {judged.moved}")
    if failed := [
        _FAILED[point.id] for point in comparison.checklist if point.state == "failed" and point.id in _FAILED
    ]:
        parts.append(f"! {', '.join(failed)}")
    if judged.shared:
        parts.append("! both on the same GPUs at the same time: each slows the other")
    if judged.elsewhere:
        parts.append(f"! {judged.elsewhere}")
    if others := [difference.name for difference in differences if difference.weight == "matters"]:
        # A speed-up that may have another reason than speculation: said first, since the line can be cut.
        parts.append(f"! not the only difference: {_listed(others)}")
    if comparison.accept_len is not None and comparison.break_even_accept_len is not None:
        parts.append(f"accept {comparison.accept_len:.2f}, break-even {comparison.break_even_accept_len:.2f}")
    parts.append(_trusted(trust))
    return Headline(severity, word, sentence, " · ".join(parts))


def _trusted(trust: TrustView) -> str:
    if trust.state is Trust.NO_REFERENCE:
        return trust.sentence or "baseline without a reference"
    if trust.state is Trust.WAITING:
        return f"baseline not checked yet ({trust.samples_seen} of {trust.samples_needed} samples)"
    word = {Trust.MATCHES: "trusted", Trust.RECOVERED: "trusted again", Trust.DRIFTING: "drifting"}.get(trust.state, "")
    if trust.measured_tok_s is None or trust.reference_tok_s is None or trust.deviation is None:
        return f"baseline {word}: {trust.sentence}"
    # Short, so that 80 columns hold it behind accept length and break-even.
    return f"baseline {word}: {trust.measured_tok_s:.1f} (ref {trust.reference_tok_s:.1f}, {percent(trust.deviation)})"


def _pair_of(trust: TrustView) -> str:
    if trust.measured_tok_s is None or trust.reference_tok_s is None or trust.deviation is None:
        return trust.sentence
    return f"{trust.measured_tok_s:.1f} tok/s, reference {trust.reference_tok_s:.1f} ({percent(trust.deviation)})"
