"""The report as a page: Markdown for a pull request or a wiki, HTML for a file that is sent around."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from specmon import __version__
from specmon.monitor.session import Session
from specmon.reports.cells import markdown, markdown_table
from specmon.reports.outline import LEVEL_HEADINGS, Outline, ServerOutline, outline_of
from specmon.visible import visible

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;"
    "background:#fff}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse}"
    "th,td{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #ccc;font-variant-numeric:tabular-nums}"
    "li{margin:.2rem 0}@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}"
    "th,td{border-color:#444}}"
)


def to_markdown(session: Session) -> str:
    """The report in Markdown, without a line end."""
    outline = outline_of(session)
    parts = [f"**{markdown(outline.opening)}**", _bullets(outline.lines)]
    for server in outline.servers:
        parts.append(f"### {markdown(server.head)}")
        parts.append(_bullets(server.lines))
        if server.levels:
            parts.append(markdown_table(LEVEL_HEADINGS, server.levels, right=range(len(LEVEL_HEADINGS))))
        parts.append(_bullets([*_more(server), *(f"! {notice}" for notice in server.notices)]))
    if outline.advice:
        parts += ["### What to do next", _bullets(outline.advice)]
    return "\n\n".join(part for part in parts if part)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)


def _more(server: ServerOutline) -> Sequence[str]:
    return [f"{server.more_levels} more levels: see --format json"] if server.more_levels else []


def to_html(session: Session) -> str:
    """The report as one HTML file that loads nothing and runs nothing."""
    outline = outline_of(session)
    parts = [f"<h1>{_text(outline.opening)}</h1>", _list(outline.lines)]
    for server in outline.servers:
        parts += [f"<h2>{_text(server.head)}</h2>", _list(server.lines), _table(server)]
        parts.append(_list([*_more(server), *(f"! {notice}" for notice in server.notices)]))
    if outline.advice:
        parts += ["<h2>What to do next</h2>", _list(outline.advice)]
    return _document(outline, "\n".join(part for part in parts if part))


def _document(outline: Outline, body: str) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(outline.opening)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n"
        f"<p><small>specmon {_text(__version__)}</small></p>\n</body>\n</html>"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _list(lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>\n{items}\n</ul>" if items else ""


def _table(server: ServerOutline) -> str:
    if not server.levels:
        return ""
    head = "".join(f"<th>{_text(heading)}</th>" for heading in LEVEL_HEADINGS)
    rows = "\n".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>" for cells in server.levels)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
