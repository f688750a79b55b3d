"""The charts: what is hollow, what sets the scale, and words that nothing runs through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.held import Measure
from specmon.monitor.snapshot import Mark, MarkKind, SamplePoint, Snapshot
from specmon.ui import plot
from specmon.ui.chart import changed_span
from specmon.ui.drawing import aligned, draw, sketch
from specmon.ui.plot import Plot, Window
from specmon.ui.timeaxis import time_axis

from . import pictures

END = 3000.0


def _points(values: list[tuple[float, float]], *, excluded: str | None = None, running: int = 1) -> list[SamplePoint]:
    return [SamplePoint(at, tok_s, running, tok_s / 40, 10.0, excluded) for at, tok_s in values]


def _rows(points: list[SamplePoint], *, ascii_only: bool = False, **more: object) -> list[str]:
    made = Plot(
        tuple(sorted(points, key=lambda point: point.at)), (), plot.THROUGHPUT, Window(END - 300, END, True), 0.0, 100.0
    )
    picture = draw(replace(made, **more), 60, 12, ascii_only=ascii_only)  # type: ignore[arg-type]  # fields of a Plot
    return ["".join(text for text, _ in row) for row in picture]


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("measure", [plot.THROUGHPUT, plot.ACCEPTANCE])
def test_a_column_with_clean_samples_is_never_hollow(measure: Measure, ascii_only: bool) -> None:
    clean = _points([(END - 300 + i * 0.5, 80.0) for i in range(600)])
    # One in every column is left out, and the window ends with an idle stretch of left-out ones only.
    spoilt = _points([(END - 300 + i * 5 + 0.1, 40.0) for i in range(60)], excluded="after_prefill")
    high = 100.0 if measure is plot.THROUGHPUT else 2.5
    shown = "\n".join(_rows(clean + spoilt, measure=measure, high=high, ascii_only=ascii_only)[:-1])
    assert "◦" not in shown
    assert ("#" if ascii_only else "⣿") in shown


def test_a_column_of_left_out_samples_only_is_hollow() -> None:
    clean = _points([(END - 300 + i * 0.5, 80.0) for i in range(300)])
    spoilt = _points([(END - 60, 40.0)], excluded="after_idle")
    assert sum(row.count("◦") for row in _rows(clean + spoilt)) == 1


def test_a_sample_between_others_of_its_column_changes_nothing_that_is_drawn() -> None:
    values = [(END - 300 + i * 0.5, 70.0 + i % 3) for i in range(600)]
    made = Plot(tuple(_points(values)), (), plot.THROUGHPUT, Window(END - 300, END, True), 0.0, 100.0)
    for value, is_same in ((71.5, True), (40.0, False)):
        more = replace(made, points=tuple(_points([*values, (END - 0.5, value)])))
        assert (sketch(more, 60, 12) == sketch(made, 60, 12)) is is_same
        assert (draw(more, 60, 12) == draw(made, 60, 12)) is is_same


def _two_levels() -> Snapshot:
    story = pictures.diverged()
    assert story.baseline is not None
    assert story.speculative is not None
    busy = _points([(pictures.NOW - 290 + i * 0.5, 3600.0) for i in range(200)], running=8)
    base, spec = (
        replace(view, points=(*busy, *(p for p in view.points if p.at > pictures.NOW - 190)))
        for view in (story.baseline, story.speculative)
    )
    return replace(story, baseline=base, speculative=spec)


def test_the_scale_fits_the_level_of_the_big_number_on_both_sides() -> None:
    found = _two_levels()
    assert plot.shared_top(found, plot.THROUGHPUT, [88.8]) == 100.0
    assert found.baseline is not None
    assert found.baseline.level is not None
    # Where that level has no sample in the window, the others set it.
    alone = replace(found.baseline, level=replace(found.baseline.level, running=2))
    assert plot.shared_top(replace(found, baseline=alone), plot.THROUGHPUT, []) == 4000.0


def test_other_levels_are_dim_and_a_note_says_so() -> None:
    own = _points([(END - 150 + i * 0.5, 80.0) for i in range(300)])
    near = _points([(END - 300 + i * 0.5, 40.0) for i in range(150)], running=2)
    beyond = _points([(END - 220 + i * 0.5, 900.0) for i in range(100)], running=8)
    made = Plot((*near, *beyond, *own), (), plot.THROUGHPUT, Window(END - 300, END, True), 0.0, 100.0, running=1)
    picture = draw(made, 90, 12)
    parts = {part for row in picture for _, part in row}
    assert {"other", "line"} <= parts
    text = "\n".join("".join(run for run, _ in row) for row in picture)
    assert "at 1 running, others beyond the scale ↑" in text
    assert "others dim" in "\n".join(_rows([*near, *own], running=1))
    assert "at 1 running" not in "\n".join(_rows(own, running=1))


_kinds = st.sampled_from(MarkKind)
_marks = st.lists(st.builds(Mark, st.floats(END - 310, END), _kinds, st.just("")), max_size=12)


@given(_marks, st.integers(30, 120), st.floats(5, 95))
def test_no_mark_runs_through_the_name_of_the_reference(marks: list[Mark], width: int, line: float) -> None:
    points = _points([(END - 300 + i * 0.5, 60.0) for i in range(600)])
    made = Plot(
        tuple(points), tuple(marks), plot.THROUGHPUT, Window(END - 300, END, True), 0.0, 100.0, "", line, "ref 88.8"
    )
    rows = ["".join(text for text, _ in row) for row in draw(made, width, 12)]
    assert all(len(row) == width for row in rows)
    named = [row for row in rows if "ref" in row or "88" in row]
    assert all(" ref 88.8 " in row for row in named)
    if not marks:
        assert named


@given(_marks, st.integers(12, 120))
def test_words_of_the_time_axis_never_meet(marks: list[Mark], cells: int) -> None:
    row = "".join(char for char, _ in time_axis(marks, Window(END - 300, END, True), cells))
    assert row.endswith("now")
    assert len(row) == cells
    words = [word for word in row.replace("┴", "─").split("─") if word]
    assert set(words) <= {"−5 min", "now", *MarkKind}


@given(st.lists(st.sampled_from("ab"), min_size=6, max_size=6), st.lists(st.sampled_from("ab"), min_size=6, max_size=6))
def test_only_the_cells_that_changed_are_painted(before: list[str], after: list[str]) -> None:
    old, new = tuple((char, char) for char in before), tuple((char, char) for char in after)
    span = changed_span(old, new)
    if span is None:
        assert old == new
        return
    start, end = span
    assert before[:start] == after[:start]
    assert before[end:] == after[end:]
    assert before[start] != after[start]
    assert before[end - 1] != after[end - 1]


@pytest.mark.parametrize("span_s", [60.0, 300.0, 1800.0])
@pytest.mark.parametrize("cells", [20, 70, 150])
def test_the_picture_moves_on_every_other_second_at_most(span_s: float, cells: int) -> None:
    ticks = [END + i / 4 for i in range(80)]
    windows = [aligned(Window(now - span_s, now, True), cells) for now in ticks]
    assert len(set(windows)) <= 11
    step = max(2.0, span_s / cells)
    assert all(0 <= window.end - now < step + span_s / cells for window, now in zip(windows, ticks, strict=True))


@given(st.integers(0, 5999), st.floats(60, 99), st.integers(30, 150), st.sampled_from(MarkKind))
def test_one_high_sample_of_thousands_is_drawn_at_its_height(
    place: int, spike: float, width: int, kind: MarkKind
) -> None:
    values = [(END - 300 + i * 0.05, 20.0) for i in range(6000)]
    values[place] = (values[place][0], spike)
    made = Plot(tuple(_points(values)), (), plot.THROUGHPUT, Window(END - 300, END, False, True), 0.0, 100.0)
    plain = draw(made, width, 12)
    top = next(row for row in range(11) if any(part == "line" for _, part in plain[row]))
    # A row of eleven stands for nine: the highest row with a line is the one of the spike.
    assert abs((11 - top) * 100 / 11 - spike) <= 100 / 11 + 2
    # A mark that stands elsewhere takes nothing from it, a cursor shows what lies under it.
    far = values[(place + 3000) % 6000][0]
    marked = draw(replace(made, marks=(Mark(far, kind, ""),), cursor=values[place][0]), width, 12)
    assert sum(len(text) for text, part in marked[0] if part.startswith("mark")) == 1
    assert any(part == "cursor" and text not in (" ", "╏") for text, part in marked[top])


@given(st.floats(60, 30 * 86400), st.integers(5, 280), st.floats(0, 5000))
def test_a_window_of_all_that_is_held_begins_no_later_than_that(span_s: float, cells: int, more_s: float) -> None:
    end = END + more_s
    drawn = aligned(Window(end - span_s, end, True, is_whole=True), cells)
    step = max(drawn.span_s / cells, 2.0)
    assert drawn.start <= end - span_s + 1e-3 or drawn.span_s / cells < 2.0
    assert end - 1e-3 <= drawn.end <= end + 2 * step
    assert drawn.span_s <= span_s * 1.1 * cells / (cells - 1) + 1e-3
