"""`specmon reference diff`: the conditions and speeds of two references, or of a reference and a log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from specmon.commands.places import SshOptions
from specmon.commands.recordings import Wanted, measure
from specmon.commands.reference import loaded, reference_folders, tell
from specmon.references.diff import compare_references
from specmon.references.keeping import kept
from specmon.references.store import is_path, named_file
from specmon.reports.reference import difference_lines, speed_lines, speeds_json
from specmon.visible import visible

CANNOT_TELL = 3


def diff(
    *,
    before: str,
    now: str,
    run: int | None,
    warm_up_s: float,
    running: int | None,
    since: str | None,
    until: str | None,
    format_files: Sequence[Path],
    ssh: SshOptions,
    form: Literal["text", "json"],
) -> int:
    """Print what differs: 0 when nothing that matters does, 1 when something does, 3 when a log proves nothing."""
    left = loaded(before)[1]
    if _is_reference(now):
        right = loaded(now)[1]
    else:
        wanted = Wanted([now], since, until, run, warm_up_s, running, format_files)
        (one, *more) = measure(wanted, ssh, is_forced=True, now=datetime.now(UTC))
        for other in more:
            tell(f"{other.source} is left out: one log is compared.")
        if not one.recording.session.level:
            for fault in one.recording.faults:
                tell(f"{one.source}: {fault}.")
            return CANNOT_TELL
        for fault in one.recording.faults:
            tell(f"{one.source}: {fault}; its figures stand here all the same.")
        right = one.as_reference(one.source)
        right = right.model_copy(update={"fingerprint": kept(right.fingerprint)})
    differences = compare_references(left, right)
    if form == "json":
        document = {
            "schema_version": 1,
            "a": left.name,
            "b": right.name,
            "speeds": speeds_json(left, right),
            "differences": [asdict(difference) for difference in differences],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        for line in (*speed_lines(left, right), *difference_lines(differences, left, right)):
            click.echo(visible(line))
    return 1 if any(difference.weight == "matters" for difference in differences) else 0


def _is_reference(text: str) -> bool:
    """A name that a folder has, or the path of a TOML file; everything else is a SOURCE."""
    if is_path(text):
        return text.endswith(".toml")
    if named_file(text, reference_folders()) is not None:
        return True
    return text != "-" and not any(sign in text for sign in ":*?[=") and not Path(text).exists()
