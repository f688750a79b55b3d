"""Every figure of a picture, explained: what the explain screen lists."""

from __future__ import annotations

from specmon.monitor.explainpair import figures_of_pair, figures_of_trust
from specmon.monitor.explainside import figures_of_side
from specmon.monitor.explanation import Explanation as Explanation
from specmon.monitor.explanation import Formula as Formula
from specmon.monitor.explanation import SourceLine as SourceLine
from specmon.monitor.explanation import Unit as Unit
from specmon.monitor.snapshot import Snapshot


def explanations_of(snapshot: Snapshot) -> tuple[Explanation, ...]:
    """The comparison first, then the reference, both sides, and the servers that are not compared."""
    found = [*figures_of_pair(snapshot), *figures_of_trust(snapshot.trust)]
    for side in ("baseline", "speculative"):
        if (view := getattr(snapshot, side)) is not None:
            found += figures_of_side(view, side)
    for view in snapshot.others:
        found += figures_of_side(view, view.name)
    return tuple(found)
