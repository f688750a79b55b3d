"""How much is worked out anew for a picture: counted, as the time depends on the machine."""

from __future__ import annotations

import pytest

from specmon.analysis.combine import combine_levels
from specmon.analysis.shift import shift_of
from specmon.monitor import loglines, moved
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role

from .lines import START, decodes, feed, launch, ready

PAST = 400  # samples of each server


class Pair:
    """A baseline and a speculative server whose logs grow by a sample each."""

    def __init__(self) -> None:
        self.session = Session()
        self.logs = {
            "b": launch(0) + ready(2) + decodes(3, PAST),
            "s": launch(0, speculative_algorithm="EAGLE3") + ready(2) + decodes(3, PAST, 75.9, accept=2.1),
        }
        self.samples = PAST
        self.session.add("b", "/logs/b.log", role=Role.BASELINE)
        self.session.add("s", "/logs/s.log", role=Role.SPECULATIVE)
        for key, text in self.logs.items():
            feed(self.session, key, text)

    def go_on(self) -> None:
        """One more sample of each."""
        second = 3 + self.samples
        for key, text in (("b", decodes(second, 1)), ("s", decodes(second, 1, 75.9, accept=2.1))):
            feed(self.session, key, text, offset=len(self.logs[key]))
            self.logs[key] += text
        self.samples += 1


@pytest.fixture
def pair() -> Pair:
    return Pair()


def counted(monkeypatch: pytest.MonkeyPatch, target: str, function: object) -> list[object]:
    calls: list[object] = []

    def note(*values: object, **named: object) -> object:
        calls.append(values)
        return function(*values, **named)  # type: ignore[operator]  # handed on as they came

    monkeypatch.setattr(target, note)
    return calls


def test_figures_of_a_long_level_are_not_summed_up_for_every_picture(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.session.snapshot(START)
    summed = counted(monkeypatch, "specmon.analysis.run.combine_levels", combine_levels)
    looked = counted(monkeypatch, "specmon.monitor.moved.shift_of", shift_of)
    for second in range(20):
        pair.go_on()
        pair.session.snapshot(START + second)
    assert len(summed) == len(looked) == 2 * 20 // (PAST // 100)


def test_figures_are_made_whole_once_nothing_comes_any_more(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.session.snapshot(START)
    pair.go_on()
    picture = pair.session.snapshot(START)
    assert picture.baseline is not None
    assert picture.baseline.level is not None
    assert (picture.baseline.samples, picture.baseline.level.samples) == (PAST + 1, PAST)
    picture = pair.session.snapshot(START + 2)
    for view in (picture.baseline, picture.speculative):
        assert view is not None
        assert view.level is not None
        assert view.level.samples == PAST + 1
    summed = counted(monkeypatch, "specmon.analysis.run.combine_levels", combine_levels)
    for second in range(3, 9):
        assert pair.session.snapshot(START + second).version == picture.version
    assert not summed


def test_only_lines_that_somebody_looks_at_become_text(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch, "specmon.monitor.loglines.line_text", loglines.line_text)
    for second in range(3):
        pair.go_on()
        log = pair.session.snapshot(START + second).log
        assert [line.server for line in log[-2:]] == ["b.log", "s.log"]
    assert len(log) > PAST
    assert log.names(200) == {"b.log", "s.log"}
    assert len(made) == 6


def test_a_step_is_looked_for_again_with_other_figures(pair: Pair) -> None:
    life = pair.session.server("b").life
    assert life is not None
    last_shift = moved.LastShift()
    assert last_shift.of(life.statistics, life.figures().levels[0]) is None
    for _ in range(60):
        text = decodes(3 + pair.samples, 1, 80.0)
        feed(pair.session, "b", text, offset=len(pair.logs["b"]))
        pair.logs["b"] += text
        pair.samples += 1
    assert last_shift.of(life.statistics, life.figures().levels[0]) is not None
