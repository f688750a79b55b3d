"""Markdown, HTML and CSV: the same report, and what a log says is only ever text in it."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from specmon.reports import to_json
from specmon.reports.cells import cell, markdown, markdown_table
from specmon.reports.levels import to_csv
from specmon.reports.pages import to_html, to_markdown

from .test_document import _BASE, _SPEC
from .test_text import _session

HOSTILE = (
    "[2026-02-26 16:39:00] server_args=ServerArgs(model_path='/m/<script>alert(1)</script>|`x`[a](javascript:b)', "
    "tp_size=1)\n"
)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_holds_the_report_and_nothing_that_runs() -> None:
    page = _Tags()
    page.feed(to_html(_session(HOSTILE + _BASE, _SPEC)))
    assert page.tags <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "ul", "li"),
        *("table", "thead", "tbody", "tr", "th", "td", "p", "small"),
    }
    assert "Speculation decodes faster: 1.50×" in page.text
    assert "<script>alert(1)</script>" in page.text  # as text


def test_markdown_holds_the_report_and_no_markup_of_a_log() -> None:
    page = to_markdown(_session(HOSTILE + _BASE, _SPEC))
    assert page.startswith("**Speculation decodes faster: 1.50×")
    assert "| 1 | 19/20 | 100.0 |" in page
    assert "\\<script\\>alert(1)" in page
    assert "<script>" not in page
    assert "\\[a\\](javascript" in page


def test_csv_has_a_line_a_level_named_by_the_json_paths() -> None:
    session = _session(_BASE, _SPEC)
    rows = list(csv.DictReader(io.StringIO(to_csv(session))))
    document = json.loads(to_json(session))
    levels = [level for server in document["servers"] for level in server["runs"][0]["decode"]["levels"]]
    assert len(rows) == len(levels) == 2
    for row, level, server in zip(rows, levels, document["servers"], strict=True):
        assert row["servers[].role"] == server["role"]
        prefix = "servers[].runs[].decode.levels[]"
        assert float(row[f"{prefix}.decode_tok_s"]) == level["decode_tok_s"]
        assert float(row[f"{prefix}.decode_tok_s_ci95[1]"]) == level["decode_tok_s_ci95"][1]
        assert float(row[f"{prefix}.tok_s.median"]) == level["tok_s"]["median"]
        assert row["servers[].runs[].launch.model"] == ""  # null: the log does not say


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, "0"),
        (-1.5, "-1.5"),
        (True, "true"),
        ("plain", "plain"),
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2", "'-2"),
        ("a\nb", "a^Jb"),
    ],
)
def test_cell_is_never_a_formula(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_markdown_table_keeps_its_columns() -> None:
    table = markdown_table(("a", "b|c"), [("1|2", "x\ny")], right=(1,))
    assert table.splitlines() == ["| a | b\\|c |", "| --- | ---: |", "| 1\\|2 | x^Jy |"]
    assert markdown("*a* <b> `c d`") == "\\*a\\* \\<b\\> \\`c d\\`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("NCCL_PROTO, NCCL_ALGO (+3)", "`NCCL_PROTO`, `NCCL_ALGO` (+3)"),
        ("read /var/log/my_server.log.", "read `/var/log/my_server.log`."),
        ("looks like `untuned` 62.9", "looks like `untuned` 62.9"),
        ("_x_ __init__ a|b_c", "\\_x\\_ \\_\\_init\\_\\_ a\\|`b_c`"),
        ("`a` b` c_d", "`a` b\\` `c_d`"),
    ],
)
def test_names_in_markdown_are_code_and_can_be_copied(text: str, shown: str) -> None:
    assert markdown(text) == shown
