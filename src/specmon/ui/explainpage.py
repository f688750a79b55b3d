"""One figure explained as rows: the figure, what it means, how it is made, what it rests on, what is in doubt."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.explaining import Explanation, SourceLine
from specmon.monitor.logpage import LineView
from specmon.ui import figures
from specmon.ui.linescreen import broken
from specmon.ui.livescreen import Page
from specmon.ui.look import Look
from specmon.ui.opened import written
from specmon.ui.row import fit_ends, flow, piece, visible

_LABEL = 11  # cells before the text of a fact
_WIDEST = 110  # cells of a line that is read
_RAW_ROWS = 6  # of the line
_SHORT = 16  # rows below which none is left blank
_MOST_ROWS = 12  # of one text


class ExplainPage(Page):
    """The chosen figure."""

    figure: Explanation | None = None
    line: LineView | None = None  # where it rests on one, and it is still held

    def __init__(self, look: Look) -> None:
        super().__init__(look, id="explained")

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Everything that is known of it."""
        if self.figure is None:
            return [Content.assemble((" no figure yet", "$foreground"))]
        rows = explained_rows(self.figure, self.line, min(width, _WIDEST))
        return [row for row in rows if row.plain.strip()] if height < _SHORT else rows


def explained_rows(figure: Explanation, line: LineView | None, width: int) -> list[Content]:
    """The rows of one figure."""
    rows = [
        fit_ends([piece((f" {figure.name}", "bold $brand"))], [piece((f"{figure.subject} ", "$quiet"), rank=1)], width),
        *_head(figure, width),
        Content(""),
        *_text(" ", figure.meaning, width, "$foreground"),
        Content(""),
    ]

    def fact(label: str, text: str, style: str = "$foreground") -> None:
        rows.extend(_text(f" {label:<{_LABEL - 1}}", text, width, style))

    for formula in figure.formulas:
        fact("formula", formula.words, "bold $foreground")
        result = written(Explanation(figure.id, "", "", "", formula.unit, formula.value))
        fact("", f"= {formula.filled} = {result}")
        if formula.note:
            fact("", f"({formula.note})", "$quiet")
    if figure.value is not None or figure.word:
        if figure.interval:
            fact("interval", figure.interval)
        if figure.used:
            fact("samples", figure.used)
        if figure.left_out:
            fact("left out", "in this run, each counted under the first reason that holds:", "$quiet")
            for reason, count in figure.left_out:
                fact("", f"{count:,} {reason}")
        if figure.span is not None:
            fact("time", _span(*figure.span))
    if figure.own_word:
        fact("log says", figure.own_word)
    if figure.source is not None:
        rows += _source(figure.source, line, width)
    rows.append(Content(""))
    doubts = figure.doubts or (("none is known",) if figure.value is not None or figure.word else ())
    sign = "! " if figure.doubts else ""
    for index, doubt in enumerate(doubts):
        fact("doubts" if index == 0 else "", sign + doubt, "$caution" if figure.doubts else "$quiet")
    return rows


def _head(figure: Explanation, width: int) -> list[Content]:
    if figure.value is None and figure.none_because:
        return _text(" ", f"no data: {figure.none_because}", width, "bold $foreground")
    value = written(figure) if figure.value is not None or figure.word else ""
    return _text(
        f" {value}{'   ' if value and figure.extra else ''}", figure.extra, width, "$foreground", "bold $foreground"
    )


def _source(source: SourceLine, line: LineView | None, width: int) -> list[Content]:
    place = "" if source.position is None else f", byte {source.position:,}"
    rows = _text(f" {'line':<{_LABEL - 1}}", f"{source.path}{place}, {figures.clock(source.at)}", width, "$foreground")
    indent = " " * _LABEL
    if line is None:
        return [*rows, *_text(indent, "its text is no longer held here", width, "$quiet")]
    shown = broken(visible(line.raw or "no longer held"), max(8, width - _LABEL - 1), at_blanks=True)
    rows += [Content.assemble(indent, (part, "$foreground")) for part in shown[:_RAW_ROWS]]
    if line.verdict:
        rows += _text(indent, line.verdict, width, "$quiet")
    return rows


def _text(head: str, text: str, width: int, style: str, head_style: str = "$quiet") -> list[Content]:
    """A text behind its label, its further rows below its beginning."""
    lines = flow(visible(text), max(8, width - len(head) - 1), _MOST_ROWS) or [""]
    return [
        Content.assemble((head if index == 0 else " " * len(head), head_style), (part, style))
        for index, part in enumerate(lines)
    ]


def _span(first: float, last: float) -> str:
    return f"{figures.clock(first)} to {figures.clock(last)} ({figures.age(last - first)}), by the log's clock"
