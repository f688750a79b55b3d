"""Another reference while a session runs: everything follows, as if it had been asked for from the start."""

from __future__ import annotations

from typing import Any

import pytest

from specmon.monitor.rebuild import rebuild
from specmon.monitor.session import Session
from specmon.monitor.snapshot import MarkKind, Trust
from specmon.references.model import Reference, ReferenceLevel
from specmon.sources.events import Chunk

from .lines import decodes, launch, ready

LOG = launch(0) + ready(5) + decodes(6, 30, 88.8) + launch(300) + ready(305) + decodes(306, 30, 62.9)
TUNED = Reference(name="tuned", levels=(ReferenceLevel(running=1, tok_s=88.8, sigma=0.01),))
UNTUNED = Reference(name="untuned", levels=(ReferenceLevel(running=1, tok_s=62.9, sigma=0.01),))


def session(reference: Reference | None, *, is_fed: bool = True) -> Session:
    made = Session(reference=reference, others=lambda: (TUNED, UNTUNED))
    made.add("b", "base.log")
    if is_fed:
        made.feed("b", Chunk(0.0, 0, LOG.encode()))
    return made


def told(session: Session) -> dict[str, Any]:
    """Everything on a picture that a reference has a say in."""
    picture = session.snapshot(1e9)
    assert picture.baseline is not None
    return {
        "trust": picture.trust,
        "headline": picture.headline,
        "events": picture.events,
        "line": picture.baseline.reference_tok_s,
        "marks": picture.baseline.marks,
        "fleet": picture.fleet,
    }


@pytest.mark.parametrize("first", [None, TUNED, UNTUNED], ids=lambda each: each.name if each else "none")
@pytest.mark.parametrize("then", [None, TUNED, UNTUNED], ids=lambda each: each.name if each else "none")
def test_reference_chosen_later_is_as_one_asked_for_from_the_start(
    first: Reference | None, then: Reference | None
) -> None:
    changed = session(first)
    told(changed)  # what was drawn before must not stay
    changed.hold_against(then, lambda: (TUNED, UNTUNED))
    assert told(changed) == told(session(then))


def test_choice_is_what_the_next_samples_are_held_against() -> None:
    changed = session(TUNED)
    assert told(changed)["trust"].state is Trust.DIVERGED
    assert any(mark.kind is MarkKind.DRIFT for mark in told(changed)["marks"])
    changed.hold_against(UNTUNED)
    # The life before the restart was another than this one, the present one is it.
    assert told(changed)["trust"].state in (Trust.MATCHES, Trust.RECOVERED)
    more = decodes(500, 20, 40.0)
    changed.feed("b", Chunk(0.0, len(LOG.encode()), more.encode()))
    assert told(changed)["trust"].state is Trust.DIVERGED
    changed.hold_against(None)
    assert told(changed)["trust"].state is Trust.NO_REFERENCE


def test_choice_holds_for_a_past_that_is_read_at_the_same_time() -> None:
    """The backfill began under one reference and is joined under another."""
    both = LOG.encode()
    half = len((launch(0) + ready(5) + decodes(6, 30, 88.8)).encode())
    changed = session(TUNED, is_fed=False)
    changed.remember("b")
    changed.feed("b", Chunk(0.0, half, both[half:]))
    steps = rebuild(changed, "b", [(0, both[:half])])
    next(steps)
    changed.hold_against(UNTUNED, lambda: (TUNED, UNTUNED))
    for _ in steps:
        pass
    assert told(changed) == told(session(UNTUNED))
