"""`specmon check`: the gate for CI and scripts. Judged like the screen; the answer is the exit status."""

from __future__ import annotations

import os
import re
import tempfile
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
from specmon.monitor.gate import DEFAULT_WORDS, Gate, exit_code_of, listed_words, words_of
from specmon.monitor.session import Session
from specmon.visible import visible

Form = Literal["text", "json", "github", "junit"]
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")


def check(
    *,
    sources: Sequence[str],
    baseline: Sequence[str],
    speculative: Sequence[str],
    reference: str | None,
    reference_tok_s: str | None,
    min_samples: int,
    tolerance: str | None,
    running: str | None,
    fail_on: str | None,
    form: Form,
    report: Path | None,
    clients: Sequence[str],
    metrics: Sequence[str],
    ssh: SshOptions,
    since: str | None,
    until: str | None,
    run: int | None,
    warm_up_s: float,
    format_files: Sequence[Path],
) -> int:
    """Print the answers; 0 all well, 1 a question failed, 2 wrong input, 3 a question without an answer."""
    if fail_on == "help":
        click.echo("\n".join(listed_words()))
        return 0
    words = DEFAULT_WORDS if fail_on is None else words_of(fail_on)
    given = parse_sides(sources, baseline, speculative)
    if not given:
        raise ConfigError("check needs a log: name a file, a capture directory, HOST:PATH or - for stdin.")
    refuse_twice(given)
    recorded = chosen_reference(reference, reference_tok_s)
    if tolerance is not None:
        if recorded is None:
            raise ConfigError("--tolerance is that of a reference: give --reference NAME as well.")
        recorded = recorded.model_copy(update={"tolerance": parse_share(tolerance)})
    results = read_clients(clients)
    looks = read_metrics(metrics)
    window = chosen_window(since, until, lambda: newest_of_files([address for _, address in given]))
    session = Session(
        reference=recorded,
        others=other_references(reference),
        running=asked_load(running),
        reader=reader_of(format_files, window),
        run=run,
        warm_up_s=warm_up_s,
        is_watched=False,
    )
    faults = read_all(session, given, ssh)
    require_run(session, run)
    attach_metrics(session, looks, window=window)
    attach_clients(session, results, format_files=format_files, window=window)
    faults += [notice.text for notice in session.notices() if notice.kind.startswith("several_")]
    answers = Gate(session, min_samples).answers(words)
    exit_code = exit_code_of(answers, is_input_wrong=bool(faults))
    for fault in faults:
        click.echo(f"specmon: {visible(fault)}", err=True)

    def written(wanted: Form) -> str:
        from specmon.reports import gate

        match wanted:
            case "json":
                return gate.gate_json(session, answers, exit_code)
            case "github":
                return gate.gate_github(answers, exit_code, faults)
            case "junit":
                return gate.gate_junit(answers, exit_code, faults)
            case _:
                return gate.gate_text(answers, exit_code, faults)

    if report is not None:
        write_report(report, written(form))
    click.echo(written("text" if report is not None else form))
    return exit_code


def parse_share(text: str) -> float:
    """`5%` or `0.05`; ConfigError for everything that could be either."""
    match = _SHARE.fullmatch(text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match is not None else 0.0
    if not 0 < share < 1:
        raise ConfigError(f"--tolerance {text!r}: write a share between 0 and 1, such as 5% or 0.05.")
    return share


def write_report(path: Path, text: str) -> None:
    """All of a report or nothing, so that a CI system never reads half of one; into a pipe or a device as it comes."""
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as file:
                file.write(text + "\n")
        else:
            _replace(path.resolve(), text + "\n")  # what a symbolic link points to, so that it stays one
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"--report {path}: {reason}. Name a file in a folder that can be written.") from error


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename; nothing stays behind when that fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
