"""`specmon reference record`: a measured baseline becomes a reference, or one more session of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import click

from specmon.commands.places import SshOptions
from specmon.commands.recordings import Measured, Wanted, measure
from specmon.commands.reference import folder_to_write, tell
from specmon.errors import SpecmonError
from specmon.references.diff import compare_references
from specmon.references.files import change
from specmon.references.keeping import is_harmless_text, kept, require_harmless_texts
from specmon.references.model import Reference
from specmon.references.pooling import overlapping, with_session
from specmon.references.store import parse, require_name
from specmon.references.writing import rewritten, text_of
from specmon.reports.reference import change_text, level_line, moment_text
from specmon.visible import visible

CANNOT_TELL = 3
_LEFT_OUT_TOLD = 4


class _NotRecorded(SpecmonError):
    """A recording that would make the reference worse."""


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
    recordings = [_harmless(one.as_reference(name)).model_copy(update=given) for one in measured]
    clock_note = measured[-1].recording.recorded_at_note
    written: list[Reference] = []

    def make(before: str | None) -> str:
        known = None if before is None or is_replaced else parse(before, str(path), warn=tell, now=now)
        start = recordings[0] if known is None else _joined(known, recordings[0], is_forced=is_forced)
        reference = reduce(lambda one, more: _joined(one, more, is_forced=is_forced), recordings[1:], start)
        reference = reference.model_copy(update=given)
        require_harmless_texts(reference)
        newest = clock_note if known is None or known.recorded_at != reference.recorded_at else ""
        if known is None or before is None:
            text = text_of(reference, moment_note=newest)
        else:
            text = rewritten(before, reference, moment_note=newest)
        written.append(parse(text, str(path), now=now))
        return text

    try:
        change(path, make)
    except _NotRecorded as error:
        tell(f"{name} is not recorded: {error}")
        return CANNOT_TELL
    _tell_written(path, written[-1], measured)
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


def _harmless(reference: Reference) -> Reference:
    """What comes from a log without its secrets: a table loses the entry, a text goes as a whole."""
    texts = ("host", "engine", "engine_version", "model")
    dropped = {name: None for name in texts if not is_harmless_text(getattr(reference, name) or "")}
    return reference.model_copy(update={**dropped, "fingerprint": kept(reference.fingerprint)})


def _joined(known: Reference, new: Reference, *, is_forced: bool) -> Reference:
    """The reference with one more session, or _NotRecorded when that belongs to another reference."""
    (session,) = new.sessions
    mattering = [one for one in compare_references(known, new) if one.weight == "matters"]
    if mattering:
        listed = "; ".join(change_text(one, " then, now ") for one in mattering)
        text = f"it was recorded under other conditions ({listed}). Another environment is another reference"
        if not is_forced:
            raise _NotRecorded(f"{text}: choose another name, --replace, or --force.")
        tell(f"{known.name}: {text}, but --force adds the session.")
    is_other_host = bool(known.host and new.host) and known.host != new.host
    if (same := overlapping(known.sessions, session, is_other_host=is_other_host)) is not None:
        when = moment_text(same.recorded_at)
        text = f"it holds a session of this run already ({when}), and one run looked at twice is no second session"
        if not is_forced:
            raise _NotRecorded(f"{text}: record another start of the server, or --replace.")
        tell(f"{known.name}: {text}, but --force adds it.")
    joined = with_session(known, session)
    prints = known.fingerprint
    gained = {
        table: getattr(new.fingerprint, table)
        for table in ("flags", "env", "versions", "gpu")
        if getattr(prints, table) is None and getattr(new.fingerprint, table) is not None
    }
    if "env" in gained:
        gained |= {"env_is_partial": new.fingerprint.env_is_partial, "env_from": new.fingerprint.env_from}
    facts = {
        name: getattr(new, name)
        for name in ("host", "engine", "engine_version", "model")
        if getattr(known, name) is None and getattr(new, name) is not None
    }
    return joined.model_copy(update={**facts, "fingerprint": prints.model_copy(update=gained)})


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
