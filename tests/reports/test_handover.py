"""What is handed on of a session: a verdict to paste, a chart, a folder of files."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.snapshot import Mark, MarkKind, Role, SamplePoint, ServerView, Snapshot
from specmon.reports.bundle import bundle_of
from specmon.reports.chart import HEIGHT, MEASURES, WIDTH, chart_svg
from specmon.reports.verdict import verdict_markdown
from tests.ui import pictures

from .test_document import _BASE, _SPEC
from .test_text import _session

TOK_S, CYCLE_MS, ACCEPT_LEN = MEASURES
HOSTILE = "</svg><script>alert(1)</script>\x1b]52;c;AAAA\x07"


def test_verdict_holds_the_sentence_both_speeds_and_the_cause() -> None:
    text = verdict_markdown(pictures.diverged())
    assert text.startswith("**✗ BASELINE NOT TRUSTED**")
    assert "62.9" in text
    assert "88.8" in text
    assert "`NCCL_PROTO`" in text
    assert "| speculative gpu02:30000 |" in text
    assert "1.21×" in text
    assert "0.85×" in text


def test_verdict_of_nothing_says_that_there_is_nothing() -> None:
    assert verdict_markdown(Snapshot()).splitlines() == ["**\\~ NO DATA** no server yet", "", "specmon"]


def test_words_of_a_server_are_no_markup_in_the_verdict() -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    text = verdict_markdown(replace(story, baseline=replace(story.baseline, name="a|b<script>\x1b[2J")))
    assert "a\\|b\\<script\\>" in text
    assert "\x1b" not in text


def test_chart_draws_both_sides_the_reference_and_the_restart() -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    assert story.speculative is not None
    drawing = chart_svg(TOK_S, [story.baseline, story.speculative])
    assert drawing is not None
    words = " ".join(ElementTree.fromstring(drawing).itertext())
    assert "decode throughput, tok/s" in words
    assert "reference 88.8" in words
    assert "restart" in words
    assert drawing.count('stroke="#2f6fde"') >= 2  # legend and line
    assert "baseline gpu01:30000" in words


def test_chart_without_a_figure_is_none() -> None:
    story = pictures.diverged()
    assert story.baseline is not None
    assert chart_svg(ACCEPT_LEN, [replace(story.baseline, points=())]) is None
    assert chart_svg(TOK_S, []) is None


def test_words_of_a_server_are_text_in_a_chart() -> None:
    view = ServerView(
        "1", HOSTILE, "x", Role.UNKNOWN, points=(SamplePoint(0, 1.0, 1, None, None), SamplePoint(9, 2.0, 1, None, None))
    )
    drawing = chart_svg(TOK_S, [replace(view, marks=(Mark(4, MarkKind.CRASH, HOSTILE),))])
    assert drawing is not None
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()}
    assert tags <= {"svg", "rect", "path", "text", "circle", "title"}


_VALUES = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1e4)


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=True), st.floats(0, 1e6), _VALUES, st.sampled_from([None, "after_idle"])),
        max_size=40,
    )
)
def test_any_samples_make_a_picture_inside_its_frame(rows: list[tuple[float, float, float | None, str | None]]) -> None:
    points = tuple(SamplePoint(at, tok_s, 1, accept, accept, why) for at, tok_s, accept, why in rows)
    view = ServerView("1", "a", "a", Role.BASELINE, points=points)
    for measure in MEASURES:
        drawing = chart_svg(measure, [view])
        if drawing is None:
            continue
        for circle in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(circle.attrib["cx"]) <= WIDTH
            assert 0 <= float(circle.attrib["cy"]) <= HEIGHT


def test_spike_among_ten_thousand_samples_survives() -> None:
    points = tuple(SamplePoint(float(at), 200.0 if at == 5000 else 60.0, 1, None, None) for at in range(10_000))
    drawing = chart_svg(TOK_S, [ServerView("1", "a", "a", Role.BASELINE, points=points)])
    assert drawing is not None
    assert len(drawing) < 60_000
    line = next(
        element.attrib["d"]
        for element in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}path")
        if "stroke-linecap" in element.attrib
    )
    heights = [float(part.split()[1]) for part in line.replace("M", "L").split("L") if part]
    assert min(heights) < 70
    assert sorted(heights)[1] > 150


def test_bundle_is_the_report_with_charts_the_document_and_the_samples() -> None:
    session = _session(_BASE, _SPEC)
    picture = session.snapshot(math.inf)
    files = bundle_of(session, picture)
    assert set(files) == {
        *("report.md", "summary.json", "levels.csv", "samples.csv"),
        *("tok_s.svg", "cycle_ms.svg", "accept_len.svg"),
    }
    assert "![decode throughput, tok/s](tok_s.svg)" in files["report.md"]
    assert json.loads(files["summary.json"])["comparison"]["verdict"] == "faster"
    rows = list(csv.DictReader(io.StringIO(files["samples.csv"])))
    views = [view for view in (picture.baseline, picture.speculative) if view is not None]
    assert len(rows) == sum(len(view.points) for view in views)
    assert {row["role"] for row in rows} == {"baseline", "speculative"}
    assert float(rows[0]["tok_s"]) == pytest.approx(views[0].points[0].tok_s)
    assert any(row["excluded"] == "first_after_start" for row in rows)
