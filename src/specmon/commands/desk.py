"""Answers what the screen asks of its session: the stored references, another choice, a new recording."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

from specmon.commands.recordings import Measured
from specmon.commands.reference import folder_to_write
from specmon.commands.reference_write import NotRecorded, write_sessions
from specmon.errors import ConfigError, SpecmonError
from specmon.monitor.difftables import conditions_key, diff_tables
from specmon.monitor.diffview import DiffTable
from specmon.monitor.feed import Feed
from specmon.monitor.ranking import rank
from specmon.monitor.recording import recording_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.shelfview import Recorded, Shelf
from specmon.monitor.snapshot import Role
from specmon.monitor.sweepview import SweepPicture
from specmon.monitor.sweepwords import level_cells, sweep_view
from specmon.references.model import Reference
from specmon.references.store import load, require_name, stored
from specmon.reports.reference import level_line
from specmon.reports.shelf import Stored, shelf_of
from specmon.reports.sweep import sweep_markdown
from specmon.sources.address import LocalPlace, host_of, parse_source

_GIVEN = "given"  # the key of a reference that lies in none of the folders
_MOST = 200  # files of one folder that are read; more than that is no folder of references


class HeldFeed(Feed, Protocol):
    """A feed whose session can be asked, and held against another reference."""

    @property
    def session(self) -> Session:
        """What is filled."""
        ...

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]]) -> None:
        """Another reference for the session, or none."""
        ...


class SessionDesk:
    """The desk of one feed. `is_utc` says that stamps without a zone are UTC, as in a capture."""

    def __init__(
        self,
        feed: HeldFeed,
        folders: Sequence[Path],
        *,
        is_utc: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._feed = feed
        self._folders = tuple(folders)
        self._is_utc = is_utc
        self._now = now
        self._given = feed.session.reference
        self._diffs: tuple[DiffTable, ...] = ()
        self._diffs_key: tuple[object, ...] | None = None
        self._found: dict[str, Stored] = {}  # as last read
        self._chosen: str | None = None if self._given is None else _GIVEN

    # -- references ------------------------------------------------------------------------------

    async def references(self) -> Shelf:
        """What the folders hold now, and what the command line gave."""
        found = await asyncio.to_thread(read_folders, self._folders, self._now())
        given = self._given
        if given is not None:
            same = next((one for one in found if one.reference == given), None)
            if same is None:
                found.insert(0, Stored(_GIVEN, given.name, given))
            elif self._chosen == _GIVEN:
                self._chosen = same.key
        self._found = {one.key: one for one in found}
        session = self._feed.session
        places = self._folders
        return shelf_of(found, session, chosen=self._chosen, places=places, record_into=self._new_folder())

    def choose(self, key: str | None) -> None:
        """Hold the session against another reference."""
        one = None if key is None else self._found.get(key)
        if key is not None and (one is None or one.reference is None):
            raise SpecmonError(f"not chosen: {one.fault if one is not None else 'it is no longer there.'}")
        self._chosen = key
        self._feed.hold_against(None if one is None else one.reference, self._others)

    def _others(self) -> tuple[Reference, ...]:
        return tuple(one.reference for one in self._found.values() if one.reference is not None)

    # -- the sweep -------------------------------------------------------------------------------

    def sweep(self) -> SweepPicture:
        """Every run of the speculative servers against the baseline of the comparison, and every load of the pair."""
        session = self._feed.session
        names = session.names()
        baseline, speculative = session.pair()
        baselines = [] if baseline is None or baseline.role is not Role.BASELINE else [baseline]
        others = [server for server in session.servers if server not in baselines and server.role is not Role.BASELINE]
        ranking = rank(baselines, others, names, load=session.running, run=session.run)
        judged = session.judge_pair(is_exact=False)
        return SweepPicture(
            sweep_view(ranking),
            tuple(level_cells(level) for level in judged.levels) if judged is not None else (),
            (names[baseline.key] if baseline else "", names[speculative.key] if speculative else ""),
            sweep_markdown(ranking),
        )

    # -- conditions ------------------------------------------------------------------------------

    def diffs(self) -> tuple[DiffTable, ...]:
        """The pairs of conditions, worked out anew only when one of them changes."""
        session = self._feed.session
        trust = session.trust_view(session.pair()[0]).state if session.reference is not None else None
        key = (trust, *conditions_key(session))
        if key != self._diffs_key:
            self._diffs_key, self._diffs = key, diff_tables(session)
        return self._diffs

    # -- recording -------------------------------------------------------------------------------

    async def record(self, name: str) -> Recorded:
        """The running baseline as a new reference."""
        require_name(name)
        return await self._write(self._new_folder() / f"{name}.toml", is_new=True)

    async def add_session(self, key: str) -> Recorded:
        """The running baseline as one more session of a reference that lies in a file."""
        one = self._found.get(key)
        if one is None or one.path is None or one.reference is None:
            raise SpecmonError("not recorded: this is no reference in a file. Record a new one instead.")
        written = await self._write(one.path, is_new=False)
        if self._chosen == key:
            self._found[key] = Stored(key, one.name, await asyncio.to_thread(load, one.path), one.path)
            self.choose(key)
        return written

    def _new_folder(self) -> Path:
        return folder_to_write(None)

    async def _write(self, path: Path, *, is_new: bool) -> Recorded:
        session = self._feed.session
        baseline, _ = session.pair()
        if baseline is None:
            raise SpecmonError("not recorded: there is no baseline in this session yet. Wait for its first lines.")
        now = self._now()
        recording = recording_of(baseline, is_utc=self._is_utc, now=now)
        if recording.faults:
            raise SpecmonError(f"not recorded: {'; '.join(recording.faults)}.")
        measured = Measured(session.names()[baseline.key], self._host_of(baseline), recording)
        told: list[str] = []

        def write() -> Reference:
            return write_sessions(
                path,
                [measured.as_reference(path.stem)],
                now=now,
                tell=told.append,
                is_new=is_new,
                clock_note=recording.recorded_at_note,
            )

        try:
            # Another program may hold the folder, and the disk may be slow: the screen goes on.
            written = await asyncio.to_thread(write)
        except NotRecorded as error:
            raise SpecmonError(f"not recorded: {error.reason}.") from error
        return Recorded(str(path), "; ".join([*_written(path, written), *told]))

    def _host_of(self, server: ServerMonitor) -> str | None:
        try:
            place = parse_source(server.source).place
        except ConfigError:
            return None
        if (there := host_of(place)) is not None:
            return there.name
        # Whether a file is of this machine is known where its process was found here.
        is_here = isinstance(place, LocalPlace) and self._feed.controls is None and server.life is not None
        fingerprint = server.life.fingerprint if is_here and server.life is not None else None
        return platform.node() or None if fingerprint is not None and fingerprint.env is not None else None


def read_folders(folders: Sequence[Path], now: datetime) -> list[Stored]:
    """Every file of the folders, also those that are no reference, with the reason."""
    found = []
    for folder in folders:
        try:
            paths = list(islice(stored((folder,)), _MOST))
        except ConfigError as error:
            found.append(Stored(str(folder), folder.name, fault=str(error)))
            continue
        for path in paths:
            try:
                found.append(Stored(str(path), path.stem, load(path, now=now), path))
            except ConfigError as error:
                found.append(Stored(str(path), path.stem, None, path, str(error)))
    return found


def _written(path: Path, reference: Reference) -> list[str]:
    count = len(reference.sessions)
    levels = [level_line(reference, level) for level in reference.levels[:2]]
    more = [f"{len(reference.levels) - 2} levels more"] if len(reference.levels) > 2 else []
    said = [f"{path}, {count} session{'s' * (count != 1)}", *levels, *more]
    if reference.fingerprint.env is None:
        said.append("the environment is not known, so a variable that gets lost will not be seen")
    return said
