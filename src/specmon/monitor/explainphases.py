"""The phases of a server's cycle, explained from its part of the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from specmon.monitor.explanation import Explanation, Formula, Unit, excess, formula, number, quotient
from specmon.monitor.phaserecords import PhaseLevel, PhasePart, PhasesView

_MEANINGS = {
    "draft": "the draft model proposes tokens",
    "verify": "the target model checks all of them in one forward",
    "draft_extend": "the draft model takes in what was accepted",
    "decode": "the target model makes one token a request",
    "other": "what no phase accounts for: the cycle less its phases",
}


def figures_of_phases(phases: PhasesView, key: str, subject: str, cycle_ms: float | None) -> Iterator[Explanation]:
    """Each phase, the whole, and how that agrees with the throughput, whose cycle is `cycle_ms`."""
    shown = phases.shown
    if shown is None or not shown.parts:
        return
    at = "" if shown.running is None else f" at {shown.running} running"
    used = f"mean of {shown.cycles:,} cycles{at}, measured by {phases.source_words}"
    for part in shown.parts:
        told = _MEANINGS.get(part.name, "a phase that the source names so")
        yield Explanation(
            id=f"{key}.phase.{part.name}",
            subject=subject,
            name=f"phase {_words(part)}",
            meaning=f"A part of the cycle, in the mean over cycles: {told}.",
            unit=Unit.MS,
            value=part.ms,
            formulas=_formulas(part, shown),
            used=used,
        )
    if shown.cycle_ms is None:
        return
    filled = " + ".join(number(part.ms) for part in shown.parts)
    added = math.fsum(part.ms for part in shown.parts)
    whole = Explanation(
        id=f"{key}.phase.cycle",
        subject=subject,
        name="cycle by the phases",
        meaning="The mean wall time of a cycle as the source of the phases gives it.",
        unit=Unit.MS,
        value=shown.cycle_ms,
        formulas=formula(" + ".join(map(_words, shown.parts)), filled, added, shown.cycle_ms, Unit.MS),
        used=used,
    )
    yield whole
    identity = phases.identity
    if identity is not None and identity.off is not None:
        yield replace(
            whole,
            id=f"{key}.phase.identity",
            name="residual against the identity",
            meaning="How far the cycle of the phases lies from the 1000 · A · B / R of the log's throughput: each "
            "checks the other, as they are measured apart.",
            unit=Unit.CHANGE,
            value=identity.off,
            formulas=excess("C by the phases / C by the identity − 1", shown.cycle_ms, cycle_ms, identity.off),
            extra=identity.text,
        )


def _words(part: PhasePart) -> str:
    return part.name.replace("_", " ")


def _formulas(part: PhasePart, shown: PhaseLevel) -> tuple[Formula, ...]:
    found: tuple[Formula, ...] = ()
    if part.name == "other" and shown.cycle_ms is not None:
        rest = [each.ms for each in shown.parts if each.name != "other"]
        filled = " − ".join(number(each) for each in (shown.cycle_ms, *rest))
        found = formula("cycle − phases", filled, shown.cycle_ms - math.fsum(rest), part.ms, Unit.MS)
    return (*found, *quotient("share of the cycle", part.ms, shown.cycle_ms, part.share, Unit.SHARE))
