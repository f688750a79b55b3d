"""Which changes of the verdict are told: each once, none too often, an alert at once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.announcing import Announcer
from specmon.monitor.snapshot import Headline, Severity

WINS = Headline(Severity.OK, "SPECULATIVE WINS", "1.21×")
CANNOT = Headline(Severity.INFO, "CANNOT TELL", "4 clean samples")
ALERT = Headline(Severity.ALERT, "BASELINE NOT TRUSTED", "62.9 tok/s, reference 88.8", "NCCL_PROTO missing")
CRASHED = Headline(Severity.ALERT, "CRASHED", "gpu01")


def test_first_verdict_is_no_news_and_the_same_one_never_is() -> None:
    announcer = Announcer(gap_s=60)
    assert [announcer.see(WINS, float(second)) for second in range(300)] == [None] * 300


def test_change_is_told_once_with_its_cause() -> None:
    announcer = Announcer(gap_s=60)
    announcer.see(WINS, 0)
    told = announcer.see(ALERT, 1)
    assert told is not None
    assert (told.before, told.word) == ("SPECULATIVE WINS", "BASELINE NOT TRUSTED")
    assert told.text == "62.9 tok/s, reference 88.8 · NCCL_PROTO missing"
    assert announcer.see(ALERT, 2) is None


def test_what_changes_within_the_gap_is_told_when_it_is_over_if_it_still_holds() -> None:
    announcer = Announcer(gap_s=60)
    announcer.see(ALERT, 0)
    assert announcer.see(WINS, 1) is not None
    assert announcer.see(CANNOT, 2) is None
    assert announcer.see(CANNOT, 60) is None
    told = announcer.see(CANNOT, 61)
    assert told is not None
    assert told.word == "CANNOT TELL"


def test_flicker_that_ends_where_it_began_is_not_told() -> None:
    announcer = Announcer(gap_s=60)
    announcer.see(CANNOT, 0)
    announcer.see(WINS, 1)
    assert announcer.see(CANNOT, 2) is None
    assert announcer.see(WINS, 90) is None


def test_alert_waits_for_no_good_news_but_for_another_alert() -> None:
    announcer = Announcer(gap_s=60)
    announcer.see(CANNOT, 0)
    assert announcer.see(WINS, 1) is not None
    assert announcer.see(ALERT, 2) is not None
    assert announcer.see(CRASHED, 3) is None
    assert announcer.see(CRASHED, 62) is not None


@given(st.lists(st.tuples(st.sampled_from([WINS, CANNOT, ALERT, CRASHED]), st.floats(0.01, 40)), max_size=60))
def test_two_of_a_kind_are_never_told_within_the_gap(steps: list[tuple[Headline, float]]) -> None:
    announcer, now, told = Announcer(gap_s=60), 0.0, []
    for headline, pause in steps:
        now += pause
        if (announcement := announcer.see(headline, now)) is not None:
            told.append((now, announcement))
            assert announcement.before != announcement.word
    alerts = [at for at, each in told if each.severity is Severity.ALERT]
    assert all(later - earlier >= 59.999 for earlier, later in pairwise(alerts))
    quiet = [(at, each) for at, each in told if each.severity is not Severity.ALERT]
    assert all(at - max((earlier for earlier, _ in told if earlier < at), default=-60.0) >= 59.999 for at, _ in quiet)
