"""The comparison and the reference of a session, in the words of the JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.snapshot import CheckPoint, Difference, Trust, TrustView
from specmon.monitor.verdict import Judged
from specmon.monitor.why import why_of
from specmon.reports.contract import (
    AgainstModel,
    CauseModel,
    CheckModel,
    ComparisonModel,
    DifferenceModel,
    ReferenceModel,
    SharesModel,
)
from specmon.reports.times import stamp


def comparison_of(session: Session) -> ComparisonModel | None:
    """Filled when exactly one baseline and one speculative server were given."""
    judged = session.judge()
    baseline, speculative = session.pair()
    if judged is None or baseline is None or speculative is None:
        return None
    if baseline.life is None or speculative.life is None:
        return None
    names = session.names()
    from specmon.references.diff import compare  # what it needs is of no use to a single server

    differences = compare(baseline.life.conditions, speculative.life.conditions, is_speculation_expected=True)
    checklist = session.checklist(judged, differences)
    return comparison_model(
        judged,
        (names[baseline.key], names[speculative.key]),
        differences,
        checklist,
        why_of(session, judged),
    )


def comparison_model(
    judged: Judged,
    names: tuple[str, str],
    differences: Sequence[Difference],
    checklist: Sequence[CheckPoint],
    attribution: str | None,
) -> ComparisonModel:
    """A comparison of any two lives, called `names` (baseline, speculative)."""
    found = judged.comparison
    return ComparisonModel(
        running=found.running,
        running_range=found.running_range,
        baseline=names[0],
        speculative=names[1],
        speedup=found.speedup,
        ci95=found.ci95,
        delivered_speedup=found.delivered_speedup,
        delivered_ci95=found.delivered_ci95,
        prefill_share=SharesModel(
            baseline=found.baseline.prefill_share if found.baseline is not None else None,
            speculative=found.speculative.prefill_share if found.speculative is not None else None,
        ),
        accept_len=found.accept_len,
        break_even_accept_len=found.break_even_accept_len,
        headroom=found.headroom,
        verdict=found.verdict,
        sentence=judged.sentence,
        reasons=list(judged.reasons),
        attribution=attribution,
        checklist=[CheckModel(id=point.id, state=point.state, evidence=point.evidence) for point in checklist],
        differences=[
            DifferenceModel(
                kind=difference.kind,
                name=difference.name,
                baseline=difference.before,
                speculative=difference.now,
                weight=difference.weight,
            )
            for difference in differences
        ],
        against_reference=_against(judged),
    )


def reference_of(session: Session) -> ReferenceModel | None:
    """The baseline against the reference that was asked for; null when none was."""
    reference = session.reference
    if reference is None:
        return None
    baseline, _ = session.pair()
    watch = session.trust_of(baseline) if baseline is not None else None
    if baseline is None or watch is None:
        return ReferenceModel(
            name=reference.name,
            server=None,
            running=None,
            samples_seen=0,
            samples_needed=TrustView().samples_needed,
            direction=None,
            state=Trust.WAITING.value,
            deviation=None,
            since=None,
            causes=[],
        )
    view = session.trust_view(baseline, is_exact=True)
    deviation = _deviation(session, baseline, view)
    return ReferenceModel(
        name=reference.name,
        server=session.names()[baseline.key],
        running=view.running,
        samples_seen=view.samples_seen,
        samples_needed=view.samples_needed,
        direction=view.direction,
        state=view.state.value,
        deviation=deviation,
        since=stamp(view.since, baseline.utc_offset_s),
        causes=[
            CauseModel(kind=cause.kind, name=cause.name, reference=cause.before, now=cause.now, weight=cause.weight)
            for cause in view.causes
        ],
        better_match=view.better_match,
    )


def _deviation(session: Session, baseline: ServerMonitor, view: TrustView) -> float | None:
    """decode_tok_s of the level / the reference's tok_s - 1."""
    if baseline.life is None or view.running is None or view.reference_tok_s is None:
        return None
    level = baseline.life.figures().level_at(view.running)
    if level is None or level.decode_tok_s is None:
        return None
    return level.decode_tok_s / view.reference_tok_s - 1


def _against(judged: Judged) -> AgainstModel | None:
    against = judged.against
    if against is None:
        return None
    return AgainstModel(
        speedup=against.speedup,
        delivered_speedup=against.delivered_speedup,
        break_even_accept_len=against.break_even_accept_len,
        headroom=against.headroom,
        verdict=against.verdict,
        sentence=judged.against_sentence,
    )
