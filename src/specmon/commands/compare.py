"""`specmon compare`: a sweep of speculative runs against one baseline, as a ranked table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from specmon.analysis.load import Band
from specmon.commands.clients import attach_clients, read_clients
from specmon.commands.dialects import reader_of
from specmon.commands.metrics import attach_metrics, read_metrics
from specmon.commands.places import SshOptions, parse_sides
from specmon.commands.reading import read_all, refuse_twice, without_twins
from specmon.commands.reference import chosen_reference, other_references
from specmon.commands.span import chosen_window, newest_of_files
from specmon.errors import ConfigError
from specmon.monitor.asking import asked_load
from specmon.monitor.ranking import Ranking, rank
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.visible import visible

_DECIDED = ("faster", "slower", "equal")


def compare(
    *,
    sources: Sequence[str],
    baseline: Sequence[str],
    reference: str | None,
    reference_tok_s: str | None,
    running: str | None,
    form: Literal["text", "json", "markdown", "csv"],
    clients: Sequence[str],
    metrics: Sequence[str],
    ssh: SshOptions,
    since: str | None,
    until: str | None,
    run: int | None,
    warm_up_s: float,
    format_files: Sequence[Path],
) -> int:
    """Print the ranking; 0, 2 when a log could not be read, 3 when no row has a verdict."""
    if not sources:
        raise ConfigError("compare needs speculative logs: name files, capture directories or HOST:PATH.")
    given = without_twins(parse_sides(sources, baseline, ()))
    refuse_twice(given)
    results = read_clients(clients)
    looks = read_metrics(metrics)
    window = chosen_window(since, until, lambda: newest_of_files([address for _, address in given]))
    level = asked_load(running)
    session = Session(
        reference=chosen_reference(reference, reference_tok_s),
        others=other_references(reference),
        running=level,
        reader=reader_of(format_files, window),
        warm_up_s=warm_up_s,
        is_watched=False,
    )
    unread = read_all(session, given, ssh)
    attach_metrics(session, looks, window=window)
    attach_clients(session, results, format_files=format_files, window=window)
    ranking = _ranked(session, level, run)
    if not ranking.baselines and not unread:
        raise ConfigError("compare needs something to compare with: give the baseline's log with --baseline.")
    for reason in unread:
        click.echo(f"specmon: {visible(reason)}", err=True)
    _print(session, ranking, form)
    if unread:
        return 2
    return 0 if any(row.verdict in _DECIDED for row in ranking.rows) else 3


def _ranked(session: Session, level: int | Band | None, run: int | None) -> Ranking:
    baselines = [server for server in session.servers if server.declared is Role.BASELINE]
    others = [server for server in session.servers if server.declared is not Role.BASELINE]
    if run is not None and not any(len(server.lives) >= run for server in others):
        most = max((len(server.lives) for server in others), default=0)
        raise ConfigError(f"no log has a run number {run}: the longest has {most}. Choose another --run.")
    names = session.names(by_log=True)  # the settings of a sweep often run on one port, one after the other
    contrary = [server for server in baselines if server.logged_role is Role.SPECULATIVE]
    if contrary:
        raise ConfigError(
            f"{names[contrary[0].key]}: its log is that of a speculative server, so it is no baseline. "
            "Check which log belongs to --baseline."
        )
    reference = session.reference
    if reference is not None and baselines and session.reference_misfit(baselines[0]) is not None:
        reference = None
    return rank(baselines, others, names, load=level, run=run, reference=reference)


def _print(session: Session, ranking: Ranking, form: Literal["text", "json", "markdown", "csv"]) -> None:
    from specmon.reports import sweep

    match form:
        case "json":
            click.echo(sweep.sweep_json(session, ranking))
        case "csv":
            click.echo(sweep.sweep_csv(session, ranking))
        case "markdown":
            click.echo(sweep.sweep_markdown(ranking))
        case _:
            from rich.console import Console

            sweep.sweep_text(ranking, Console(highlight=False))
