"""`specmon summary`: what logs come to, without a screen."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from specmon.commands.dialects import reader_of
from specmon.commands.places import Hosts, SshOptions, expanded, local_folder, open_source, parse_sides
from specmon.commands.reference import chosen_reference, other_references
from specmon.commands.span import chosen_window, newest_of_files, require_run
from specmon.errors import ConfigError, SpecmonError
from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import LocalPlace, SourceAddress
from specmon.sources.events import Refused, SourceEvent
from specmon.sources.files import is_pipe, read_whole
from specmon.visible import visible

if TYPE_CHECKING:
    from specmon.captures.reader import CapturedLog


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
    format_files: Sequence[Path],
    form: Literal["text", "json"],
) -> int:
    """Print what the logs come to; 0, or 2 when one of them could not be read."""
    given = parse_sides(sources, baseline, speculative)
    if not given:
        raise ConfigError("summary needs a log: name a file, a capture directory, HOST:PATH or - for stdin.")
    window = chosen_window(since, until, lambda: newest_of_files([address for _, address in given]))
    session = Session(
        reference=chosen_reference(reference, reference_tok_s),
        others=other_references(reference),
        reader=reader_of(format_files, window),
        run=run,
        running=asked_load(running),
        is_watched=False,
    )
    unread = _finished(_read_all(session, given, ssh), given)
    session.finish()
    require_run(session, run)
    for reason in unread:
        click.echo(f"specmon: {visible(reason)}", err=True)
    if form == "json":
        from specmon.reports.document import to_json

        click.echo(to_json(session))
    else:
        from rich.console import Console

        from specmon.reports.text import to_text

        console = Console(highlight=False)
        to_text(session, console)
    return 2 if unread else 0


def _finished(
    reading: Coroutine[object, None, list[str]], given: Sequence[tuple[Role | None, SourceAddress]]
) -> list[str]:
    """What a coroutine answers. Files of this machine never make it wait, so they need no event loop."""
    if all(_is_at_hand(address) for _, address in given):
        try:
            reading.send(None)
        except StopIteration as end:
            unread: list[str] = end.value
            return unread
    import asyncio

    return asyncio.run(reading)


def _is_at_hand(address: SourceAddress) -> bool:
    """A file of this machine; a pipe may let one wait."""
    return isinstance(address.place, LocalPlace) and (address.place.is_glob or not is_pipe(address.place.path))


async def _read_all(session: Session, given: Sequence[tuple[Role | None, SourceAddress]], ssh: SshOptions) -> list[str]:
    """Feed every source to its end, one after the other; what could not be read comes back as sentences."""
    unread: list[str] = []
    async with Hosts(ssh) as hosts:
        for role, address in given:
            try:
                singles = list(expanded(address))
            except SpecmonError as error:
                unread.append(_give_up(session, address, role, error))
                continue
            for single in singles:
                try:
                    await _read(session, single, role, hosts)
                except SpecmonError as error:
                    unread.append(_give_up(session, single, role, error))
    return unread


async def _read(session: Session, address: SourceAddress, role: Role | None, hosts: Hosts) -> None:
    if (folder := local_folder(address)) is not None and (folder / "manifest.toml").is_file():
        from specmon.captures.reader import open_capture

        for log in open_capture(folder).logs:
            _read_captured(session, folder, log, role)
        return
    key = _next_key(session)
    session.add(key, address.name, role=role, label=address.label)
    if isinstance(address.place, LocalPlace) and _is_at_hand(address):
        _feed(session, key, read_whole(address.place.path))
    else:
        async for event in open_source(address, hosts, follow=False).events():
            _feed(session, key, (event,))
    session.finish(key)


def _read_captured(session: Session, folder: Path, log: CapturedLog, role: Role | None) -> None:
    key = _next_key(session)
    declared = role or (None if log.server.role == "unknown" else Role(log.server.role))
    session.add(key, str(folder / log.path.name), role=declared)
    _feed(session, key, read_whole(str(log.path)))
    session.finish(key)
    lives = session.server(key).lives
    if len(lives) == len(log.lives):  # each restart was seen by both: then nothing is to be guessed
        for life, known in zip(lives, log.lives, strict=True):
            life.fingerprint = known.fingerprint
    elif log.lives:
        session.attach_fingerprint(key, log.lives[-1].fingerprint)


def _feed(session: Session, key: str, events: Iterable[SourceEvent]) -> None:
    for event in events:
        session.feed(key, event)
        if isinstance(event, Refused):
            raise ConfigError(event.reason)


def _give_up(session: Session, address: SourceAddress, role: Role | None, error: SpecmonError) -> str:
    """A source that failed before or while it was read stays in the result, with the reason."""
    known = [server for server in session.servers if server.source == address.name]
    if not known:
        session.add(_next_key(session), address.name, role=role, label=address.label)
        known = [session.servers[-1]]
    session.mark_unreadable(known[-1].key, address.name, str(error))
    return str(error)


def _next_key(session: Session) -> str:
    return str(len(session.servers) + 1)
