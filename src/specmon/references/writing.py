"""The text of a reference file: written anew, or an existing one with new figures and everything else as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from specmon.references.fingerprint import UNSET_FLAGS

if TYPE_CHECKING:
    from pydantic import JsonValue
    from tomlkit import TOMLDocument
    from tomlkit.items import InlineTable, Item, Table

    from specmon.references.fingerprint import Fingerprint
    from specmon.references.model import Reference, ReferenceLevel, ReferenceSession

# A file that begins with the first line must end with the last one, so that a cut is seen wherever it lies.
FIRST_LINE = "# A reference of specmon. Edit it as you like, but leave its first and its last line."
LAST_LINE = "# end of the reference"

_HEAD = ("name", "note", "recorded_at", "host", "engine", "engine_version", "model", "tolerance")
_LEVEL = ("running", "n", "tok_s", "tok_s_ci95", "cycle_ms", "sigma", "spread", "context_tokens")
_TABLES = ("flags", "env", "env_from", "versions", "gpu")


def is_cut(text: str) -> bool:
    """Whether a text that we wrote lacks its end."""
    return text.startswith(FIRST_LINE) and not text.rstrip().endswith(LAST_LINE)


def text_of(reference: Reference, *, moment_note: str = "") -> str:
    """A new file; `moment_note` says whose clock `recorded_at` is on."""
    return "\n".join([FIRST_LINE, *_lines(reference, moment_note), "", LAST_LINE, ""])


def rewritten(text: str, reference: Reference, *, moment_note: str = "") -> str:
    """An existing text with the figures of `reference`. Comments, order, and keys that we do not know stay.

    The text must be that of a reference of which this one is the successor: levels and sessions are only added or
    changed, and tables of the fingerprint are added where there were none.
    """
    import tomlkit

    body = text.rstrip()
    is_ours = body.endswith(LAST_LINE)
    document = tomlkit.parse(body.removesuffix(LAST_LINE).rstrip() + "\n")
    for name in _HEAD[1:]:
        value = getattr(reference, name)
        if value is not None and name in type(reference).model_fields and _differs(document.get(name), value):
            is_default = name not in document and value == type(reference).model_fields[name].default
            if not is_default:
                document[name] = _item(value, moment_note if name == "recorded_at" else "")
    _change_levels(document, reference)
    _add_sessions(document, reference.sessions)
    _add_fingerprint(document, reference)
    written = tomlkit.dumps(document).rstrip() + "\n"
    return f"{written}\n{LAST_LINE}\n" if is_ours else written


def storable(value: JsonValue) -> JsonValue:
    """A flag's value as TOML can hold it, which has no null and no half characters."""
    if isinstance(value, dict):
        return {storable_text(name): storable(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return ["None" if inner is None else storable(inner) for inner in value]
    return storable_text(value) if isinstance(value, str) else value


def storable_text(text: str) -> str:
    """A text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _lines(reference: Reference, moment_note: str) -> Iterator[str]:
    yield f"schema = {reference.schema_version}"
    for name in _HEAD:
        value = getattr(reference, name)
        if value is None or (name == "note" and not value):
            continue
        comment = f"  # {moment_note}" if name == "recorded_at" and moment_note else ""
        yield f"{name} = {_item(value).as_string()}{comment}"
    for level in reference.levels:
        yield from ("", "[[level]]")
        for name, figure in _figures(level):
            yield f"{name} = {_item(figure).as_string()}"
    for session in reference.sessions:
        yield from ("", "[[session]]", *_session_lines(session))
    fingerprint = reference.fingerprint
    if facts := _fingerprint_facts(fingerprint, _TABLES):
        yield from ("", "[fingerprint]")
        yield from (f"{name} = {item.as_string()}" for name, item in facts)
    for name in _TABLES:
        if _is_told(fingerprint, name):
            yield from ("", f"[fingerprint.{name}]")
            table = _set(getattr(fingerprint, name))
            yield from (f"{_key(key)} = {_item(value).as_string()}" for key, value in table.items())


def _session_lines(session: ReferenceSession) -> Iterator[str]:
    for name, value in _session_facts(session):
        yield f"{name} = {_item(value).as_string()}"
    yield "level = ["
    yield from (f"    {_inline(level).as_string()}," for level in session.level)
    yield "]"


def _session_facts(session: ReferenceSession) -> list[tuple[str, datetime | int]]:
    named = (("recorded_at", session.recorded_at), ("started_at", session.started_at), ("run", session.run))
    return [(name, value) for name, value in named if value is not None]


def _figures(level: ReferenceLevel) -> list[tuple[str, object]]:
    return [(name, value) for name in _LEVEL if (value := getattr(level, name)) is not None]


def _change_levels(document: TOMLDocument, reference: Reference) -> None:
    import tomlkit

    tables = document["level"]
    there = {table["running"]: table for table in tables}
    for level in reference.levels:
        if (table := there.get(level.running)) is None:
            table = tomlkit.table()
            _begin(table, tables[-1].as_string())
            tables.append(table)
            _fill(table, level)
            table.add(tomlkit.nl())
        else:
            _fill(table, level)


def _fill(table: Table, level: ReferenceLevel) -> None:
    figures = dict(_figures(level))
    for name in _LEVEL:
        if name not in figures:
            table.pop(name, None)
        elif _differs(table.get(name), figures[name]):
            table[name] = _item(figures[name])


def _add_sessions(document: TOMLDocument, sessions: tuple[ReferenceSession, ...]) -> None:
    import tomlkit

    if "session" not in document and sessions:
        document["session"] = tomlkit.aot()
    for session in sessions[len(document.get("session", ())) :]:
        table = tomlkit.table()
        there = document["session"]
        _begin(table, there[-1].as_string() if there else document.as_string())
        for name, value in _session_facts(session):
            table[name] = _item(value)
        levels = tomlkit.array().multiline(True)
        for level in session.level:
            levels.append(_inline(level))
        table["level"] = levels
        table.add(tomlkit.nl())
        there.append(table)


def _add_fingerprint(document: TOMLDocument, reference: Reference) -> None:
    import tomlkit

    fingerprint = reference.fingerprint
    if fingerprint.is_empty:
        return
    if "fingerprint" not in document:
        document["fingerprint"] = tomlkit.table(is_super_table=True)
    there = document["fingerprint"]
    gained = [name for name in _TABLES if _is_told(fingerprint, name) and name not in there]
    for name, item in _fingerprint_facts(fingerprint, gained):
        there[name] = item
    for name in gained:
        new = tomlkit.table()
        _begin(new, document.as_string())
        for key, value in _set(getattr(fingerprint, name)).items():
            new[key] = _item(value)
        there[name] = new


def _is_told(fingerprint: Fingerprint, name: str) -> bool:
    """An empty table was looked at and holds nothing, which is worth a line; but most have no origins."""
    table = getattr(fingerprint, name)
    return table is not None and (bool(table) or name != "env_from")


def _fingerprint_facts(fingerprint: Fingerprint, tables: Sequence[str]) -> list[tuple[str, Item]]:
    """What a file says of some tables beside them."""
    import tomlkit

    found: list[tuple[str, Item]] = []
    if "env" in tables and fingerprint.env_is_partial:
        found.append(("env_is_partial", tomlkit.item(True)))
    if tables and fingerprint.unread:
        found.append(("unread", _names([storable_text(reason) for reason in fingerprint.unread])))
    if "flags" in tables and (unset := _unset(fingerprint.flags)):
        found.append((UNSET_FLAGS, _names(unset)))
    return found


def _begin(table: Table, before: str) -> None:
    """An empty line before the header of a new table, unless the text before it ends with one."""
    if not before.endswith("\n\n"):
        table.trivia.indent = "\n"


def _item(value: object, comment: str = "") -> Item:
    import tomlkit

    if isinstance(value, tuple):
        value = [int(end) if isinstance(end, float) and end.is_integer() else end for end in value]
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline[key] = _item(inner)
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array
    item = tomlkit.item(storable_text(value) if isinstance(value, str) else value)
    if comment:
        item.comment(comment)
    return item


def _inline(level: ReferenceLevel) -> InlineTable:
    import tomlkit

    inline = tomlkit.inline_table()
    for name, figure in _figures(level):
        inline[name] = _item(figure)
    return inline


def _names(names: list[str]) -> Item:
    import tomlkit

    array = tomlkit.array()
    for name in names:
        array.append(name)
    return array.multiline(True) if sum(map(len, names)) > 80 else array


def _key(name: str) -> str:
    import tomlkit

    return tomlkit.key(name).as_string()


def _set(table: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {storable_text(name): storable(value) for name, value in table.items() if value is not None}


def _unset(table: Mapping[str, JsonValue] | None) -> list[str]:
    return [storable_text(name) for name, value in (table or {}).items() if value is None]


def _differs(there: object, value: object) -> bool:
    if isinstance(value, tuple):
        return not isinstance(there, list) or tuple(there) != value
    return there != value
