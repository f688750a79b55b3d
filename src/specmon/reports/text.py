"""The result for people on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specmon.monitor.session import Session
from specmon.reports.outline import LEVEL_HEADINGS, ServerOutline, outline_of
from specmon.visible import visible


def to_text(session: Session, console: Console) -> None:
    """Print the report of a session on a console. Server text is never read as markup."""
    outline = outline_of(session)
    _say(console, outline.opening, style="bold")
    for line in outline.lines:
        _say(console, f"  {line}")
    for server in outline.servers:
        console.print()
        _print_server(server, console)
    if outline.advice:
        console.print()
        console.print(Text("What to do next", style="bold"))
        for step in outline.advice:
            _say(console, f"  - {step}")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line, never wrapped by us: a terminal does that, and a file should hold whole sentences."""
    console.print(Text(visible(text), style=style), soft_wrap=True)


def _print_server(server: ServerOutline, console: Console) -> None:
    _say(console, server.head, style="bold")
    for line in server.lines:
        _say(console, f"  {line}")
    if server.levels:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")  # 76 columns, no ruling
        for heading in LEVEL_HEADINGS:
            table.add_column(heading, justify="right", no_wrap=True)
        for cells in server.levels:
            table.add_row(*cells)
        console.print(Padding(table, (0, 0, 0, 2)))
    if server.more_levels:
        console.print(Text(f"  {server.more_levels} more levels: see --format json"))
    for notice in server.notices:
        _say(console, f"  ! {notice}")
