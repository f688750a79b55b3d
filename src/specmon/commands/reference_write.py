"""A measured baseline goes into a reference file: as a reference of its own, or as one more session of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path

from specmon.errors import SpecmonError
from specmon.references.diff import compare_references
from specmon.references.files import change
from specmon.references.keeping import is_harmless_text, kept, require_harmless_texts
from specmon.references.model import Reference
from specmon.references.pooling import overlapping, with_session
from specmon.references.store import parse
from specmon.references.writing import rewritten, text_of
from specmon.reports.reference import change_text, moment_text

Tell = Callable[[str], None]


class NotRecorded(SpecmonError):
    """A recording that would make the reference worse: why, and what to do on a command line."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason}: {advice}" if advice else f"{reason}.")
        self.reason = reason


def write_sessions(
    path: Path,
    recordings: Sequence[Reference],
    *,
    now: datetime,
    tell: Tell,
    changes: Mapping[str, object] | None = None,
    is_forced: bool = False,
    is_replaced: bool = False,
    is_new: bool = False,
    clock_note: str = "",
) -> Reference:
    """Write recordings of one baseline, each a reference with one session, and return what the file then says.

    `changes` are fields that the user gave. `is_new` refuses a file that is there, `is_replaced` forgets it.
    NotRecorded when the file is one of another environment or has the session already; ConfigError when it cannot be
    read or written. The file is then as it was.
    """
    given = dict(changes or {})
    harmless = [without_secrets(each).model_copy(update=given) for each in recordings]
    written: list[Reference] = []

    def make(before: str | None) -> str:
        if is_new and before is not None:
            raise NotRecorded(f"there is a reference {path.stem} already")
        known = None if before is None or is_replaced else parse(before, str(path), warn=tell, now=now)
        start = harmless[0] if known is None else _joined(known, harmless[0], is_forced=is_forced, tell=tell)
        reference = reduce(lambda one, more: _joined(one, more, is_forced=is_forced, tell=tell), harmless[1:], start)
        reference = reference.model_copy(update=given)
        require_harmless_texts(reference)
        newest = clock_note if known is None or known.recorded_at != reference.recorded_at else ""
        if known is None or before is None:
            text = text_of(reference, moment_note=newest)
        else:
            text = rewritten(before, reference, moment_note=newest)
        written.append(parse(text, str(path), now=now))
        return text

    change(path, make)
    return written[-1]


def without_secrets(reference: Reference) -> Reference:
    """What comes from a log without its secrets: a table loses the entry, a text goes as a whole."""
    texts = ("host", "engine", "engine_version", "model")
    dropped = {name: None for name in texts if not is_harmless_text(getattr(reference, name) or "")}
    return reference.model_copy(update={**dropped, "fingerprint": kept(reference.fingerprint)})


def _joined(known: Reference, new: Reference, *, is_forced: bool, tell: Tell) -> Reference:
    """The reference with one more session, or NotRecorded when that belongs to another reference."""
    (session,) = new.sessions
    mattering = [one for one in compare_references(known, new) if one.weight == "matters"]
    if mattering:
        listed = "; ".join(change_text(one, " then, now ") for one in mattering)
        text = f"it was recorded under other conditions ({listed}). Another environment is another reference"
        if not is_forced:
            raise NotRecorded(text, "choose another name, --replace, or --force.")
        tell(f"{known.name}: {text}, but --force adds the session.")
    is_other_host = bool(known.host and new.host) and known.host != new.host
    if (same := overlapping(known.sessions, session, is_other_host=is_other_host)) is not None:
        when = moment_text(same.recorded_at)
        text = f"it holds a session of this run already ({when}), and one run looked at twice is no second session"
        if not is_forced:
            raise NotRecorded(text, "record another start of the server, or --replace.")
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
