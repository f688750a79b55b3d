"""A baseline that became slower within its run: the figures mix two speeds, and everything says so."""

from __future__ import annotations

import pytest

from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, Severity, Trust
from specmon.references.model import Reference, ReferenceLevel

from .lines import decode, feed, launch, ready

SPEC = "".join(decode(5 + second, 75.9, accept=2.1) for second in range(60))


def log(before: int, after: int) -> str:
    speeds = [88.8] * before + [62.9] * after
    return launch(0) + ready(2) + "".join(decode(3 + second, speed) for second, speed in enumerate(speeds))


def session(before: int, after: int, reference: Reference | None = None) -> Session:
    made = Session(reference=reference)
    made.add("b", "/logs/b.log", role=Role.BASELINE)
    made.add("s", "/logs/s.log", role=Role.SPECULATIVE)
    feed(made, "b", log(before, after))
    feed(made, "s", launch(0, speculative_algorithm="EAGLE3", port=30001) + ready(2) + SPEC)
    made.finish()
    return made


def test_the_verdict_says_when_it_moved_and_what_holds_since() -> None:
    judged = session(60, 40).judge()
    assert judged is not None
    (reason,) = [reason for reason in judged.reasons if "moved" in reason]
    assert "the baseline moved within its run at 16:41:03: cycle 11.3 → 15.9 ms" in reason
    assert "since then 1.21×" in reason


def test_the_band_says_so_first() -> None:
    headline = session(60, 40).snapshot(0.0).headline
    assert headline.why.startswith("! baseline moved within the run; since then 1.21×")


def test_a_steady_pair_has_no_such_word() -> None:
    judged = session(100, 0).judge()
    assert judged is not None
    assert not judged.moved
    assert not [reason for reason in judged.reasons if "moved" in reason]


@pytest.mark.parametrize("after", [44, 48, 50, 52, 60])
def test_deviation_is_that_of_the_present_speed_wherever_it_moved(after: int) -> None:
    reference = Reference(name="tuned", levels=(ReferenceLevel(running=1, tok_s=88.8, sigma=0.01),))
    picture = session(100 - after, after, reference).snapshot(0.0)
    assert picture.trust.state is Trust.DIVERGED
    assert picture.trust.deviation == pytest.approx(-0.29, abs=0.01)
    assert picture.headline.severity is Severity.ALERT
    assert "0.85× against the reference" in picture.headline.why
