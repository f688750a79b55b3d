"""`specmon reference record`: a measured baseline becomes a reference, or one more session of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from specmon.commands.places import SshOptions
from specmon.commands.recordings import Measured, Wanted, measure
from specmon.commands.reference import folder_to_write, tell
from specmon.commands.reference_write import NotRecorded, write_sessions
from specmon.references.model import Reference
from specmon.references.store import require_name
from specmon.reports.reference import level_line
from specmon.visible import visible

CANNOT_TELL = 3
_LEFT_OUT_TOLD = 4


def record(
    *,
    name: str,
    sources: Sequence[str],
    out: Path | None,
    note: str | None,
    tolerance: float | None,
    host: str | None,
    running: int | None,
    is_forced: bool,
    is_replaced: bool,
    since: str | None,
    until: str | None,
    run: int | None,
    warm_up_s: float,
    format_files: Sequence[Path],
    ssh: SshOptions,
) -> int:
    """Measure and write; 0, or 3 with the reasons when it is not worth recording."""
    require_name(name)
    path = folder_to_write(out) / f"{name}.toml"
    now = datetime.now(UTC).replace(microsecond=0)
    wanted = Wanted(sources, since, until, run, warm_up_s, running, format_files)
    measured = measure(wanted, ssh, is_forced=is_forced, now=now)
    if not _tell_faults(name, measured, is_forced=is_forced):
        return CANNOT_TELL
    changes: dict[str, object] = {"note": note, "tolerance": tolerance, "host": host}
    given = {field: value for field, value in changes.items() if value is not None}
    try:
        written = write_sessions(
            path,
            [one.as_reference(name) for one in measured],
            now=now,
            tell=tell,
            changes=given,
            is_forced=is_forced,
            is_replaced=is_replaced,
            clock_note=measured[-1].recording.recorded_at_note,
        )
    except NotRecorded as error:
        tell(f"{name} is not recorded: {error}")
        return CANNOT_TELL
    _tell_written(path, written, measured)
    return 0


def _tell_faults(name: str, measured: Sequence[Measured], *, is_forced: bool) -> bool:
    """Say what speaks against each recording; whether all of them may be written all the same."""
    may_go_on = True
    for one in measured:
        is_taken = not one.recording.faults or (is_forced and one.recording.can_be_forced)
        may_go_on = may_go_on and is_taken
        for fault in one.recording.faults:
            word = "recorded all the same, by --force" if is_taken else "not recorded"
            tell(f"{name} is {word}: {one.source}: {fault}.")
    if not may_go_on and any(one.recording.can_be_forced for one in measured if one.recording.faults):
        tell("--force records it all the same.")
    return may_go_on


def _tell_written(path: Path, reference: Reference, measured: Sequence[Measured]) -> None:
    count = len(reference.sessions)
    click.echo(visible(f"{reference.name}: {path}, {count} session{'s' * (count != 1)}"))
    for level in reference.levels:
        click.echo(f"  {level_line(reference, level)}")
    for one in measured:
        taken = {level.running for level in one.recording.session.level}
        untaken = [text for text in one.recording.left_out if int(text.split(maxsplit=1)[0]) not in taken]
        for text in untaken[:_LEFT_OUT_TOLD]:
            tell(f"left out: {text}.")
        if len(untaken) > _LEFT_OUT_TOLD:
            tell(f"left out: {len(untaken) - _LEFT_OUT_TOLD} levels more, none of which is fit.")
    prints = reference.fingerprint
    if prints.is_empty:
        tell("the log tells nothing of the conditions (no launch line), so a later change of them will not be seen.")
    elif prints.env is None:
        tell("the environment is not known: a log does not tell it. It is asked for while the server runs.")
