"""Reads the sources of a command to their ends, into a session."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specmon.commands.places import Hosts, SshOptions, local_folder, open_source, resolved
from specmon.commands.progress import Progress, progress
from specmon.errors import ConfigError, SpecmonError
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import LocalPlace, SourceAddress
from specmon.sources.events import Chunk, Refused, SourceEvent
from specmon.sources.files import is_compressed, is_pipe, read_whole

if TYPE_CHECKING:
    from specmon.captures.reader import CapturedLog

Given = Sequence[tuple[Role | None, SourceAddress]]


def read_all(session: Session, given: Given, ssh: SshOptions) -> list[str]:
    """Read every source to its end and finish the session; answer why some of them could not be read."""
    unread = _finished(_read_all(session, given, ssh), given)
    session.finish()
    return unread


def refuse_twice(given: Given) -> None:
    """One log on two places of a command line is a slip: ConfigError with the log's name."""
    seen: set[object] = set()
    for name, key in _places(given):
        if key in seen:
            raise ConfigError(f"{name} is given twice: a log cannot be compared with itself. Give it once.")
        seen.add(key)


def without_twins(given: Given) -> Given:
    """Less the undeclared sources that are a baseline, too, as in `*.log --baseline base.log`; all if none is left."""
    taken = {key for _, key in _places([one for one in given if one[0] is not None])}
    kept = [one for one in given if one[0] is not None or not {key for _, key in _places([one])} <= taken]
    return kept if any(role is None for role, _ in kept) else given


def _places(given: Given) -> Iterator[tuple[str, object]]:
    """Each log by its name and by what tells it from others: a file by its inode, whatever it is called."""
    for _, address in given:
        place = address.place
        if not isinstance(place, LocalPlace):
            yield address.name, place
            continue
        paths = [place.path]
        if (folder := local_folder(address)) is not None and (folder / "manifest.toml").is_file():
            from specmon.captures.reader import open_capture

            paths = [str(log.path) for log in open_capture(folder).logs]
        for path in paths:
            try:
                found = Path(path).stat()
            except (OSError, ValueError):  # a pattern, or a file that is not there: told when it is opened
                yield path, path
            else:
                yield path, (found.st_dev, found.st_ino)


def _finished(reading: Coroutine[object, None, list[str]], given: Given) -> list[str]:
    """What a coroutine answers. Files of this machine never make it wait, so they need no event loop."""
    if all(_is_at_hand(address) for _, address in given):
        try:
            reading.send(None)
        except StopIteration as end:
            unread: list[str] = end.value
            return unread
    from specmon.commands.loop import run_whole

    return run_whole(reading)


def _is_at_hand(address: SourceAddress) -> bool:
    """A file of this machine; a pipe may let one wait."""
    return isinstance(address.place, LocalPlace) and (address.place.is_glob or not is_pipe(address.place.path))


async def _read_all(session: Session, given: Given, ssh: SshOptions) -> list[str]:
    """Feed every source to its end, one after the other; what could not be read comes back as sentences."""
    unread: list[str] = []
    async with Hosts(ssh) as hosts:
        for role, address in given:
            try:
                singles = await resolved(address, hosts, follow=False)
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
    with progress(f"reading {address.name}", size_of(address)) as shown:
        if isinstance(address.place, LocalPlace) and _is_at_hand(address):
            _feed(session, key, read_whole(address.place.path), shown)
        else:
            async for event in open_source(address, hosts, follow=False).events():
                _feed(session, key, (event,), shown)
    session.finish(key)


def _read_captured(session: Session, folder: Path, log: CapturedLog, role: Role | None) -> None:
    key = _next_key(session)
    declared = role or (None if log.server.role == "unknown" else Role(log.server.role))
    session.add(key, str(folder / log.path.name), role=declared)
    with progress(f"reading {folder / log.path.name}") as shown:
        _feed(session, key, _captured_events(log), shown)
    session.finish(key)
    lives = session.server(key).lives
    if len(lives) == len(log.lives):  # each restart was seen by both: then nothing is to be guessed
        for life, known in zip(lives, log.lives, strict=True):
            life.fingerprint = known.fingerprint
    elif log.lives:
        session.attach_fingerprint(key, log.lives[-1].fingerprint)


def size_of(address: SourceAddress) -> int | None:
    """How many bytes a plain file of this machine has; None when that cannot be told before it is read."""
    place = address.place
    if not isinstance(place, LocalPlace) or is_compressed(place.path):
        return None
    try:
        return Path(place.path).stat().st_size
    except (OSError, ValueError):
        return None


def _captured_events(log: CapturedLog) -> Iterator[SourceEvent]:
    offset = 0
    for data in log.chunks():
        yield Chunk(0.0, offset, data)
        offset += len(data)


def _feed(session: Session, key: str, events: Iterable[SourceEvent], shown: Progress | None = None) -> None:
    for event in events:
        session.feed(key, event)
        if isinstance(event, Refused):
            raise ConfigError(event.reason)
        if shown is not None and isinstance(event, Chunk):
            shown.advance(len(event.data))


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
