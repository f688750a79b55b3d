"""The figures of the comparison and of the reference, explained from the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from specmon.analysis.comparison import EQUAL_BAND, SAMPLES_NEEDED
from specmon.monitor.explanation import Explanation, Formula, Unit, excess, formula, number, quotient
from specmon.monitor.snapshot import ComparisonView, RunState, Snapshot, Trust, TrustView, Verdict
from specmon.monitor.trustwords import tolerance_words
from specmon.shares import percent, signed_percent

_POINTS = {
    "reproduces": "the baseline is not the recorded one",
    "method": "another measure contradicts these figures",
    "only_speculation": "speculation is not the only difference",
    "right_level": "another load tells another story",
}
_NOTHING = ComparisonView(Verdict.CANNOT_TELL, "")
_SAME_EVIDENCE = "the same by the identity R = 1000 · A · B / C, so no second piece of evidence"


def figures_of_pair(snapshot: Snapshot) -> Iterator[Explanation]:
    """Every figure that needs both servers."""
    comparison = snapshot.comparison
    reason = "it needs clean samples of both servers" if comparison is None else comparison.sentence
    doubts = _doubts(snapshot)
    for each in _comparison(comparison or _NOTHING, snapshot):
        why = "" if each.value is not None or each.id == "comparison.verdict" else reason
        yield replace(each, subject="comparison", doubts=doubts, none_because=each.none_because or why)


def figures_of_trust(trust: TrustView, step_ms: float | None = None) -> Iterator[Explanation]:
    """The measured baseline against the recorded one, whose step took `step_ms`; nothing without a reference."""
    if trust.reference is None:
        return
    used = f"{trust.samples_seen:,} clean samples of the baseline, {trust.samples_needed} needed"
    for each in (*_trust(trust), _step(trust, step_ms)):
        why = "" if each.value is not None else trust.sentence or "no clean sample of the baseline yet"
        yield replace(each, subject="reference", used=each.used or used, none_because=why)


def _make(figure: str, name: str, meaning: str, unit: Unit, value: float | None) -> Explanation:
    return Explanation(id=figure, subject="", name=name, meaning=meaning, unit=unit, value=value)


def _comparison(found: ComparisonView, snapshot: Snapshot) -> Iterator[Explanation]:
    base, spec = found.baseline_level, found.speculative_level
    used = ""
    if base is not None and spec is not None:
        at = f"{base.running} running"
        if found.running_range is not None:
            at = "{} to {} running, per request".format(*found.running_range)
        used = f"{base.clean:,} and {spec.clean:,} clean samples (baseline, speculative) at {at}"
    yield replace(
        _make(
            "comparison.verdict",
            "verdict",
            f"The word for the interval of the speed-up: faster when all of it lies above 1, slower when below, equal "
            f"when it lies in {EQUAL_BAND[0]} to {EQUAL_BAND[1]}, else nobody can tell. Below {SAMPLES_NEEDED} clean "
            "samples a side there is none.",
            Unit.TIMES,
            None,
        ),
        word=found.verdict.value if snapshot.comparison is not None else "",
        extra=found.sentence,
        formulas=_speedup(found),
        interval=_interval(found),
        used=used,
    )
    speedup = _make(
        "comparison.speedup",
        "speed-up",
        "Decode throughput of the speculative server over that of the baseline measured now, at the same load"
        + (": apparent, as that baseline is not the recorded one." if found.against_reference is not None else "."),
        Unit.TIMES,
        found.speedup,
    )
    yield replace(speedup, formulas=_speedup(found), interval=_interval(found), used=used)
    against = found.against_reference
    if against is not None:
        told = _make(
            "comparison.speedup_ref",
            "speed-up against the reference",
            "Decode throughput of the speculative server over the speed that was recorded for the baseline.",
            Unit.TIMES,
            against.speedup,
        )
        decode = spec.decode_tok_s if spec is not None else None
        yield replace(
            told,
            formulas=quotient("R spec / R reference", decode, against.tok_s, against.speedup, Unit.TIMES),
            used=used,
        )
    yield replace(
        _make(
            "comparison.delivered",
            "delivered speed-up",
            "The same for the delivered throughput: with prefill stalls, as clients see it.",
            Unit.TIMES,
            found.delivered_speedup,
        ),
        formulas=quotient(
            "delivered spec / delivered base",
            spec.delivered_tok_s if spec is not None else None,
            base.delivered_tok_s if base is not None else None,
            found.delivered_speedup,
            Unit.TIMES,
        ),
        used=used,
    )
    yield from _lengths(found, snapshot, used)
    yield from _by_level(found)


def _speedup(found: ComparisonView) -> tuple[Formula, ...]:
    base, spec = found.baseline_level, found.speculative_level
    if base is None or spec is None:
        return ()
    made = quotient("R spec / R base", spec.decode_tok_s, base.decode_tok_s, found.speedup, Unit.TIMES)
    if not made or not spec.accept_len or not spec.cycle_ms or not base.cycle_ms:
        return made
    step = base.cycle_ms / (base.accept_len or 1.0)
    filled = f"{number(spec.accept_len)} × {number(step)} / {number(spec.cycle_ms)}"
    value = spec.accept_len * step / spec.cycle_ms
    return made + formula("A · S / C", filled, value, found.speedup, Unit.TIMES, _SAME_EVIDENCE)


def _interval(found: ComparisonView) -> str:
    if found.speedup_ci95 is None or found.speedup is None:
        return ""
    low, high = found.speedup_ci95
    text = f"95 %: {number(low)} to {number(high)}"
    errors = [level.decode_error for level in (found.baseline_level, found.speculative_level) if level is not None]
    base, spec = errors if len(errors) == 2 else (None, None)
    if base is None or spec is None:
        return text
    joined = spec.joined(base)
    made = (
        f"the standard errors of both sides joined, {number(base.standard_error)} and {number(spec.standard_error)} of "
        f"ln(tok/s), with {joined.freedom:.0f} degrees of freedom"
    )
    between = (
        ""
        if found.between is None
        else f", and the {percent(found.between, 1)} by which sessions of the reference differ"
    )
    return f"{text}: {made}{between}"


def _lengths(found: ComparisonView, snapshot: Snapshot, used: str) -> Iterator[Explanation]:
    base, spec, against = found.baseline_level, found.speculative_level, found.against_reference
    cycle = spec.cycle_ms if spec is not None else None
    accept = spec.accept_len if spec is not None else None
    even = found.break_even_accept_len
    meaning = (
        "The accept length below which speculation loses: how many {step} a cycle of the speculative server takes."
    )
    step = base.cycle_ms / (base.accept_len or 1.0) if base is not None and base.cycle_ms is not None else None
    yield replace(
        _make(
            "comparison.break_even",
            "break-even accept length",
            meaning.format(step="steps of the baseline"),
            Unit.LENGTH,
            even,
        ),
        formulas=quotient("A* = C / S", cycle, step, even, Unit.LENGTH),
        used=used,
    )
    if against is not None:
        told = against.break_even_accept_len
        yield replace(
            _make(
                "comparison.break_even_ref",
                "break-even with the reference",
                meaning.format(step="steps of the recorded baseline"),
                Unit.LENGTH,
                told,
            ),
            formulas=quotient("A* = C / S reference", cycle, against.step_ms, told, Unit.LENGTH),
            used=used,
        )
    text = "How far the accept length lies above its break-even. It equals the speed-up less 1: the same figures."
    yield replace(
        _make("comparison.headroom", "headroom", text, Unit.CHANGE, found.headroom),
        formulas=excess("A / A* − 1", accept, even, found.headroom),
        used=used,
    )
    if against is not None:
        yield replace(
            _make("comparison.headroom_ref", "headroom with the reference", text, Unit.CHANGE, against.headroom),
            formulas=excess("A / A* − 1", accept, against.break_even_accept_len, against.headroom),
            used=used,
        )
    cost = snapshot.verify_cost
    if cost is not None:
        view = snapshot.speculative
        verify = next((part.ms for part in view.phases.parts if part.name == "verify"), None) if view else None
        yield replace(
            _make(
                "comparison.verify",
                "verify multiple",
                f"What a verify forward costs in steps of the baseline: {cost.step}.",
                Unit.TIMES,
                cost.multiple,
            ),
            formulas=quotient("verify / step", verify, cost.step_ms, cost.multiple, Unit.TIMES),
        )


def _by_level(found: ComparisonView) -> Iterator[Explanation]:
    for level in found.levels:
        text = f"The speed-up at {level.running} running requests."
        told = _make(
            f"comparison.level.{level.running}", f"speed-up at {level.running} running", text, Unit.TIMES, level.speedup
        )
        pair = level.speculative_tok_s, level.baseline_tok_s
        yield replace(
            told,
            formulas=quotient("R spec / R base", *pair, level.speedup, Unit.TIMES),
            used=f"{level.baseline_clean:,} and {level.speculative_clean:,} clean samples (baseline, speculative)",
            none_because="" if level.speedup is not None else "a side has no clean sample there",
        )


def _doubts(snapshot: Snapshot) -> tuple[str, ...]:
    found = snapshot.comparison
    told = []
    if snapshot.trust.state is Trust.DIVERGED:
        told.append(f"The baseline is not trusted: {snapshot.trust.sentence}.")
    if found is not None:
        told += [f"{_POINTS[point.id].capitalize()}." for point in found.checklist
                 if point.state == "failed" and point.id in _POINTS and point.id != "reproduces"]  # fmt: skip
        told += [f"{reason[:1].upper()}{reason[1:]}." for reason in found.reasons]
    for side, view in (("baseline", snapshot.baseline), ("speculative", snapshot.speculative)):
        if view is not None and (view.is_stale or view.is_ended_run):
            is_over = view.is_ended_run or view.state in (RunState.EXITED, RunState.CRASHED)
            told.append(
                f"The {side} server {'has ended' if is_over else 'is silent'}: these are its last known figures."
            )
    return tuple(told)


# -- the reference -------------------------------------------------------------------------------


def _trust(trust: TrustView) -> Iterator[Explanation]:
    at = "" if trust.running is None else f" at {trust.running} running"
    yield _make(
        "trust.reference",
        "recorded speed",
        f"What the reference {trust.reference} recorded for the baseline{at}.",
        Unit.TOK_S,
        trust.reference_tok_s,
    )
    yield _make(
        "trust.measured",
        "measured speed",
        "The baseline now: its decode throughput, or that since it left its reference where that was within the run.",
        Unit.TOK_S,
        trust.measured_tok_s,
    )
    yield replace(
        _make(
            "trust.deviation",
            "deviation",
            "How far the measured baseline lies from the recorded one.",
            Unit.CHANGE,
            trust.deviation,
        ),
        formulas=excess("measured / recorded − 1", trust.measured_tok_s, trust.reference_tok_s, trust.deviation),
    )
    words = "" if trust.tolerance is None else f"{tolerance_words(trust.tolerance)}, both ways"
    yield replace(
        _make(
            "trust.tolerance",
            "tolerance",
            "What the baseline may differ from its reference: 5 %, or three times what the recorded sessions differ by "
            "where that is more, unless the reference sets another one.",
            Unit.SHARE,
            trust.tolerance,
        ),
        extra=words,
    )
    yield _evidence(trust)


def _step(trust: TrustView, step_ms: float | None) -> Explanation:
    told = _make(
        "trust.step",
        "recorded step time",
        "The decode step of the recorded baseline: as the reference says, else by the identity from its speed.",
        Unit.MS,
        step_ms,
    )
    if trust.running is None or not trust.reference_tok_s:
        return told
    filled = f"1000 × {trust.running} / {number(trust.reference_tok_s)}"
    value = 1000 * trust.running / trust.reference_tok_s
    return replace(told, formulas=formula("S = 1000 · B / R reference", filled, value, step_ms, Unit.MS))


def _evidence(trust: TrustView) -> Explanation:
    found = trust.evidence
    text = (
        "Whether the baseline has left its reference: a cumulative sum (CUSUM) of ln(C / C reference), less half the "
        "tolerance a sample, over the threshold from which it counts: from 1.00× on (2.00× is the most that is kept). "
        "The baseline has diverged when the median since the change lies beyond the tolerance as well."
    )
    share = found.mounted / found.threshold if found is not None and found.threshold else None
    told = _make("trust.evidence", "drift evidence / threshold", text, Unit.TIMES, share)
    if found is None:
        return told
    way = "slower" if found.is_slower else "faster"
    parts = [f"towards {way}" if found.mounted else "none has mounted", f"noise {percent(found.sigma, 2)} of the cycle"]
    if found.median is not None and found.beyond is not None:
        parts.append(f"median since the change {signed_percent(found.median)}, needed {percent(found.beyond, 1)}")
    return replace(
        told,
        formulas=quotient("sum / threshold", found.mounted, found.threshold, share, Unit.TIMES),
        extra=", ".join(parts),
    )
