"""Every figure of a picture, explained: what the explain screen lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from specmon.monitor.explainpair import figures_of_pair, figures_of_trust
from specmon.monitor.explainside import figures_of_side
from specmon.monitor.explanation import Explanation as Explanation
from specmon.monitor.explanation import Formula as Formula
from specmon.monitor.explanation import SourceLine as SourceLine
from specmon.monitor.explanation import Unit as Unit
from specmon.monitor.snapshot import Snapshot

_NUMBER = re.compile(r"([−-]?)([\d,]*\.?\d+)")
_BY_SIGN = {"×": (Unit.TIMES,), "%": (Unit.CHANGE, Unit.SHARE)}
_WITHOUT_SIGN = (Unit.TOK_S, Unit.LENGTH, Unit.MS, Unit.COUNT)


def figure_of(word: str, figures: Iterable[Explanation]) -> str | None:
    """The first figure that a number of a sentence ("1.21×", "−29 %", "62.9") is, as far as its digits tell."""
    found = _NUMBER.search(word)
    if found is None:
        return None
    units = next((units for sign, units in _BY_SIGN.items() if sign in word), _WITHOUT_SIGN)
    digits = found[2].replace(",", "")
    value = float(digits) * (-1 if found[1] else 1) / (100 if "%" in word else 1)
    decimals = len(digits.partition(".")[2]) + (2 if "%" in word else 0)
    off = 0.5001 * 10.0**-decimals
    known = (each for each in figures if each.unit in units and each.value is not None)
    return next((each.id for each in known if abs((each.value or 0.0) - value) <= off), None)


def explanations_of(snapshot: Snapshot) -> tuple[Explanation, ...]:
    """The comparison first, then the reference, both sides, and the servers that are not compared."""
    step_ms = snapshot.baseline.reference_cycle_ms if snapshot.baseline is not None else None
    found = [*figures_of_pair(snapshot), *figures_of_trust(snapshot.trust, step_ms)]
    for side in ("baseline", "speculative"):
        if (view := getattr(snapshot, side)) is not None:
            found += figures_of_side(view, side)
    for view in snapshot.others:
        found += figures_of_side(view, view.name)
    return tuple(found)
