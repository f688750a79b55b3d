"""`specmon summary`: what logs come to, without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from specmon.commands.clients import attach_clients, read_clients
from specmon.commands.dialects import reader_of
from specmon.commands.metrics import attach_metrics, read_metrics
from specmon.commands.places import SshOptions, parse_sides
from specmon.commands.reading import read_all, refuse_twice
from specmon.commands.reference import chosen_reference, other_references
from specmon.commands.span import chosen_window, newest_of_files, require_run
from specmon.errors import ConfigError
from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.visible import visible


def summary(
    *,
    sources: Sequence[str],
    baseline: Sequence[str],
    speculative: Sequence[str],
    reference: str | None,
    reference_tok_s: str | None,
    running: str | None,
    ssh: SshOptions,
    since: str | None,
    until: str | None,
    run: int | None,
    warm_up_s: float,
    format_files: Sequence[Path],
    clients: Sequence[str],
    metrics: Sequence[str],
    form: Literal["text", "json", "markdown", "csv", "html"],
) -> int:
    """Print what the logs come to; 0, or 2 when one of them could not be read."""
    given = parse_sides(sources, baseline, speculative)
    if not given:
        raise ConfigError("summary needs a log: name a file, a capture directory, HOST:PATH or - for stdin.")
    refuse_twice(given)
    window = chosen_window(since, until, lambda: newest_of_files([address for _, address in given]))
    results = read_clients(clients) if clients else []
    looks = read_metrics(metrics)
    session = Session(
        reference=chosen_reference(reference, reference_tok_s),
        others=other_references(reference),
        reader=reader_of(format_files, window),
        run=run,
        warm_up_s=warm_up_s,
        running=asked_load(running),
        is_watched=False,
    )
    unread = read_all(session, given, ssh)
    require_run(session, run)
    attach_metrics(session, looks, window=window)
    attach_clients(session, results, format_files=format_files, window=window)
    for reason in unread:
        click.echo(f"specmon: {visible(reason)}", err=True)
    _print(session, form)
    return 2 if unread else 0


def _print(session: Session, form: Literal["text", "json", "markdown", "csv", "html"]) -> None:
    match form:  # each form is imported when it is asked for
        case "json":
            from specmon.reports.document import to_json

            click.echo(to_json(session))
        case "csv":
            from specmon.reports.levels import to_csv

            click.echo(to_csv(session))
        case "markdown":
            from specmon.reports.pages import to_markdown

            click.echo(to_markdown(session))
        case "html":
            from specmon.reports.pages import to_html

            click.echo(to_html(session))
        case _:
            from rich.console import Console

            from specmon.reports.text import to_text

            to_text(session, Console(highlight=False))
