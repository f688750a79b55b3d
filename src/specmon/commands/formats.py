"""`specmon formats`: which dialects there are, whether a format file is right, what is read out of a log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from specmon.commands.dialects import Found, formats_folder, found_dialects, read_text
from specmon.errors import ConfigError
from specmon.formats.contest import Contest
from specmon.formats.custom import CustomDialect, FaultyFormat, parse_format
from specmon.formats.custom.fields import FIELDS, KINDS
from specmon.formats.custom.samples import Outcome
from specmon.formats.custom.units import crossed_unit
from specmon.formats.detect import Detector
from specmon.visible import visible


def list_formats(*, format_files: tuple[Path, ...]) -> int:
    """Print one line for each dialect, and a sentence for each that is left out."""
    found = found_dialects(format_files)
    rows = [(one.engine, one.origin, _samples(one), visible(one.place)) for one in found if one.dialect is not None]
    heads = ("engine", "origin", "samples", "where from")
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(3)]
    for row in (heads, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join((*cells, row[3])).rstrip())
    click.echo(f"Your own formats are read from {visible(str(formats_folder()))}")
    for one in found:
        if one.fault:
            click.echo(f"specmon: {visible(one.fault)}", err=True)
        elif isinstance(one.dialect, CustomDialect):
            for sentence in shadows(one.dialect, found):
                click.echo(f"specmon: {visible(sentence)}", err=True)
    return 0


def test_format(*, file: Path) -> int:
    """Run the samples of a file; 1 when one fails."""
    try:
        dialect = parse_format(read_text(file), str(file))
    except FaultyFormat as error:
        raise ConfigError(str(error)) from error
    run = dialect.outcomes()
    for outcome in run:
        _print_outcome(outcome)
    failed = sum(not outcome.is_right for outcome in run)
    what = "reads logs of its own" if dialect.model.owns_logs else "adds phases to the logs of other engines"
    click.echo(f"{dialect.engine}: {len(run) - failed} of {len(run)} samples are right; it {what}.")
    for sentence in [*crossed(dialect), *shadows(dialect, found_dialects())]:
        click.echo(f"specmon: {visible(sentence)}", err=True)
    return 1 if failed else 0


def crossed(dialect: CustomDialect) -> list[str]:
    """Samples whose cycle cannot belong to their throughput: a sentence for the first one."""
    for number, sample in enumerate(dialect.model.samples, start=1):
        line = dialect.reader.read(sample.line.encode())
        if line is None or line.kind != "decode" or not {"cycle_ms", "tok_s"} <= line.figures.keys():
            continue
        figures = (line.figures.get(name, 1.0) for name in ("cycle_ms", "tok_s", "accept_len", "running"))
        if text := crossed_unit(*figures):
            return [f"sample {number} of {dialect.engine}: {text}"]
    return []


def list_fields() -> int:
    """Print all that a pattern can name."""
    click.echo("kinds of lines")
    for kind, meaning in KINDS.items():
        click.echo(f"  {kind:<18}{meaning}")
    click.echo("\nfields: the named groups of a pattern, or the keys of its `set`")
    for name, field in FIELDS.items():
        unit = f"[{field.unit}]" if field.unit else ""
        click.echo(
            f"  {name:<18}{unit:<15}{field.meaning}  ({', '.join(field.kinds) if len(field.kinds) < 5 else 'all'})"
        )
    return 0


def shadows(dialect: CustomDialect, found: Iterable[Found]) -> list[str]:
    """What other dialects read among the samples of a format: one sentence for each of them."""
    others = [one.dialect for one in found if one.dialect is not None and one.engine != dialect.engine]
    detector = Detector([one for one in others if not isinstance(one, CustomDialect)])
    contest = Contest(detector, [one for one in others if isinstance(one, CustomDialect)])
    first: dict[str, int] = {}
    if not dialect.model.owns_logs:
        return []
    for number, sample in enumerate(dialect.model.samples, start=1):
        line = dialect.reader.read(sample.line.encode())
        if line is not None and line.kind in ("decode", "prefill"):
            for engine in contest.readers_of(sample.line.encode()):
                first.setdefault(engine, number)
    return [
        f"{engine} reads sample {number} of {dialect.engine} as well; a log goes to whose lines it has more of, and "
        f"{'to the built-in one' if not engine.startswith('custom:') else 'to the first'} at a tie."
        for engine, number in first.items()
    ]


def _samples(one: Found) -> str:
    if not isinstance(one.dialect, CustomDialect):
        return "-"
    run = one.dialect.outcomes()
    return f"{sum(outcome.is_right for outcome in run)} of {len(run)}"


def _print_outcome(outcome: Outcome) -> None:
    head = "ok  " if outcome.is_right else "FAIL"
    read = "  ".join(f"{name}={value}" for name, value in outcome.fields.items())
    click.echo(f"{head} sample {outcome.number}: {visible(outcome.line)}")
    click.echo(f"       {outcome.pattern}: {visible(read)}" if read else f"       {outcome.pattern}")
    for difference in outcome.differences:
        click.echo(f"       {visible(str(difference))}")
