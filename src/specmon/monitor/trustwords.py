"""The sentence that says how a baseline stands against its reference."""

from __future__ import annotations

from specmon.analysis.drift import SAMPLES_NEEDED
from specmon.analysis.noise import NoiseLevel, NoiseSource
from specmon.monitor.snapshot import Trust, TrustView
from specmon.references.model import Reference
from specmon.shares import signed_percent


def waiting(seen: int) -> str:
    """Too little is known so far."""
    return f"waiting for clean baseline samples ({seen} of {SAMPLES_NEEDED})"


def not_recorded(reference: Reference, running: int | None) -> str:
    """The reference lacks the level that is measured."""
    known = ", ".join(str(level.running) for level in reference.levels)
    return f"reference {reference.name} records no speed at {running} running (it has {known})"


def sentence_of(view: TrustView, noise: NoiseLevel) -> str:
    """The state with its numbers."""
    measured, recorded, deviation = view.measured_tok_s, view.reference_tok_s, view.deviation
    if measured is None or recorded is None or deviation is None or view.state is Trust.WAITING:
        return waiting(view.samples_seen)
    pair = f"{measured:.1f} tok/s, reference {view.reference} {recorded:.1f} ({percent(deviation)})"
    return f"{pair}{_meaning(view, deviation)}{looks_like(view)}{_noise(noise)}"


def _meaning(view: TrustView, deviation: float) -> str:
    tolerance = tolerance_words(view.tolerance or 0.0)
    if view.state is Trust.DIVERGED:
        if abs(deviation) <= (view.tolerance or 0.0):
            return f": it was beyond {tolerance} and is not clearly back yet"
        way = "slower" if view.direction == "slower" else "faster, so the reference is stale"
        return f": {way}, beyond {tolerance}"
    if view.state is Trust.DRIFTING:
        return f": inside {tolerance}, but off" if abs(deviation) <= (view.tolerance or 0.0) else ": evidence mounts"
    return ": back to its reference" if view.state is Trust.RECOVERED else ""


def looks_like(view: TrustView) -> str:
    """ ", looks like `untuned` 62.9" when another reference fits."""
    if view.better_match is None or view.better_match_tok_s is None:
        return ""
    return f", looks like `{view.better_match}` {view.better_match_tok_s:.1f}"


def _noise(noise: NoiseLevel) -> str:
    """Said when the samples wander so much more than recorded that they are judged by what they do now."""
    if noise.source is not NoiseSource.LIVE or noise.recorded is None:
        return ""
    return f"; its samples wander by {noise.sigma * 100:.1f} %, {noise.recorded * 100:.1f} % was recorded"


def tolerance_words(tolerance: float) -> str:
    """ "±5 %", "±7.5 %"."""
    return f"±{tolerance * 100:.2g} %" if tolerance < 0.1 else f"±{tolerance * 100:.0f} %"


def percent(share: float) -> str:
    """ "−34 %": a signed share with the sign that typesetters use; one digit below 10 %."""
    return signed_percent(share, 1 if abs(share) * 100 < 9.95 else 0)
