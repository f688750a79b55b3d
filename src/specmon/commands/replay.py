"""`specmon replay`: captured logs on the live screen."""

from __future__ import annotations

import asyncio
import math
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from specmon.captures.reader import Arrivals, Capture, CapturedLog, is_capture, open_capture
from specmon.commands.dialects import reader_of
from specmon.commands.loop import run_whole
from specmon.commands.metrics import GivenMetrics, clock_shift, metrics_by_server, pages_of, read_metrics
from specmon.commands.places import (
    Hosts,
    SshOptions,
    local_folder,
    open_source,
    parse_sides,
    readable_file,
    resolved,
)
from specmon.commands.progress import progress
from specmon.commands.reference import chosen_reference, other_references, reference_places
from specmon.commands.show import has_screen, show
from specmon.commands.span import chosen_window
from specmon.errors import ConfigError, SpecmonError, UnreadableInput
from specmon.feeds.replay import Look, ReplayFeed, ReplayLog
from specmon.feeds.timeline import Timeline, timeline_of
from specmon.formats.reader import LogReader
from specmon.formats.window import TimeWindow
from specmon.monitor.asking import asked_load
from specmon.monitor.axis import zone_between
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.address import LocalPlace, SourceAddress
from specmon.sources.events import Chunk, Refused
from specmon.sources.files import is_compressed, is_pipe


class _Cast:
    """The logs of a replay and how a session announces them."""

    def __init__(self) -> None:
        self.logs: list[ReplayLog] = []
        self.servers: list[tuple[str, str, Role | None, str | None]] = []
        self.captures: list[Capture] = []
        self._lie_at: dict[str, Path] = {}  # by key: the log itself, where that is a file of this machine

    def add(self, log: ReplayLog, source: str, role: Role | None, label: str | None, lies_at: Path | None) -> None:
        if lies_at is not None:
            self._lie_at[log.key] = lies_at
        self.logs.append(log)
        self.servers.append((log.key, source, role, label))

    def newest_stamp(self) -> float | None:
        """The newest time that any of the logs tells."""
        return max((at for log in self.logs if (at := log.timeline.newest_stamp) is not None), default=None)

    def align(self) -> None:
        """Put logs whose stamps say their zones onto the clock of the first such one; arrivals are on one already."""
        zones = [log.timeline.utc_offset_s for log in self.logs if log.timeline.utc_offset_s is not None]
        self.logs = [
            log
            if log.timeline.utc_offset_s is None
            else replace(log, timeline=log.timeline.moved(zones[0] - log.timeline.utc_offset_s))
            for log in self.logs
        ]

    def logs_with(
        self, given: Sequence[GivenMetrics], session: Session, *, windowed_by: TimeWindow | None
    ) -> list[ReplayLog]:
        """The logs with what was looked up of their servers' metrics, each look on the clock of its log."""
        files = metrics_by_server(session, given, self._lie_at)
        return [
            replace(log, looks=_looks(log, files[log.key], windowed_by)) if log.key in files else log
            for log in self.logs
        ]

    @property
    def next_key(self) -> str:
        return str(len(self.logs) + 1)


def replay(
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
    warm_up_s: float,
    format_files: Sequence[Path],
    metrics: Sequence[str],
    speed: float,
    is_plain: bool,
    interval_s: float,
    theme: str | None,
    is_ascii: bool,
) -> int:
    """Play logs until the user quits; as plain lines until they end."""
    chosen, others = chosen_reference(reference, reference_tok_s), other_references(reference)
    load = asked_load(running)
    reader = reader_of(format_files)
    looks = read_metrics(metrics)
    given = parse_sides(sources, baseline, speculative)
    if not given:
        raise ConfigError("replay needs a log: name a file, a capture directory or - for stdin, or try `specmon demo`.")

    async def play() -> int:
        with ExitStack() as stack:
            cast = _Cast()
            async with Hosts(ssh) as hosts:
                for role, address in given:
                    for single in await resolved(address, hosts, follow=False):
                        await _join(cast, single, role, hosts, stack, reader)
            cast.align()
            window = chosen_window(since, until, cast.newest_stamp)
            windowed = reader if window is None else reader_of(format_files, window)

            def new_session() -> Session:
                session = Session(
                    reference=chosen,
                    others=others,
                    mode="replay",
                    reader=windowed,
                    run=run,
                    warm_up_s=warm_up_s,
                    running=load,
                )
                for key, source, declared, label in cast.servers:
                    session.add(key, source, role=declared, label=label)
                return session

            feed = ReplayFeed(
                new_session,
                cast.logs_with(looks, new_session(), windowed_by=window),
                speed=speed,
                clock=time.monotonic,
                stays=not is_plain and has_screen(),
                starts_at=min((capture.starts_at for capture in cast.captures), default=None),
                told=cast.captures[0].note_at if len(cast.captures) == 1 else lambda _: "",
            )
            return await show(
                feed,
                is_plain=is_plain,
                interval_s=interval_s,
                theme=theme,
                is_ascii=is_ascii,
                folders=reference_places(reference),
                is_utc=bool(cast.captures) and all(each.manifest.clock == "utc" for each in cast.captures),
            )

    return run_whole(play())


def _looks(log: ReplayLog, files: Sequence[Path], window: TimeWindow | None) -> tuple[Look, ...]:
    pages = list(pages_of(files))
    times = [at for at in log.timeline.arrivals.at if math.isfinite(at)]
    shift = clock_shift(pages, times[0], times[-1]) if times else 0.0
    found = [Look(math.inf if page.at is None else page.at + shift, page) for page in pages]
    # A capture plays by the clock of its arrivals, and the window is on that of the log's stamps.
    stamp, last = log.timeline.newest_stamp, times[-1] if times else None
    zone_s = 0.0 if stamp is None or last is None else zone_between(stamp, last)
    inside = [look for look in found if window is None or window.holds(look.at + zone_s)]
    return tuple(sorted(inside, key=lambda look: look.at))


async def _join(
    cast: _Cast,
    address: SourceAddress,
    role: Role | None,
    hosts: Hosts,
    stack: ExitStack,
    reader: Callable[[], LogReader],
) -> None:
    if (folder := local_folder(address)) is not None and is_capture(folder):
        capture = open_capture(folder)
        cast.captures.append(capture)
        for log in capture.logs:
            path = _unpacked(log, stack) if log.is_packed else log.path
            timeline = await _timeline(path, log.arrivals, reader)
            declared = role or (Role(log.server.role) if log.server.role != "unknown" else None)
            source = f"{log.server.host}:{log.server.source}" if log.server.host else log.path.name
            cast.add(ReplayLog(cast.next_key, path, timeline, log.lives), source, declared, None, log.path)
        return
    path = await _as_file(address, hosts, stack)
    timeline = await _timeline(path, None, reader)
    lies_at = Path(address.place.path) if isinstance(address.place, LocalPlace) else None
    cast.add(ReplayLog(cast.next_key, path, timeline), address.name, role, address.label, lies_at)


async def _timeline(path: Path, arrivals: Arrivals | None, reader: Callable[[], LogReader]) -> Timeline:
    """The timeline of a log, read in a thread: the loop stays free for Ctrl+C, which ends the reading."""
    is_over = threading.Event()
    size = await asyncio.to_thread(lambda: path.stat().st_size)
    with progress(f"reading {path.name}", size) as shown:

        def advance(size: int) -> None:
            if is_over.is_set():
                raise SpecmonError("the reading was interrupted")
            shown.advance(size)

        try:
            return await asyncio.to_thread(timeline_of, path, arrivals, reader=reader, advance=advance)
        finally:
            is_over.set()


def _unpacked(log: CapturedLog, stack: ExitStack) -> Path:
    copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="specmon-replay-"))  # noqa: SIM115 (the stack closes it)
    for data in log.chunks():
        copy.write(data)
    copy.flush()
    return Path(copy.name)


async def _as_file(address: SourceAddress, hosts: Hosts, stack: ExitStack) -> Path:
    """The log as a plain file on this machine: itself, or a copy of what is piped in, packed or far away."""
    if isinstance(address.place, LocalPlace):
        path = address.place.path
        if not is_compressed(path) and not is_pipe(path):
            return readable_file(path)
    source = open_source(address, hosts, follow=False)
    copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="specmon-replay-"))  # noqa: SIM115 (the stack closes it)
    async for event in source.events():
        if isinstance(event, Chunk):
            copy.write(event.data)
        elif isinstance(event, Refused):
            raise UnreadableInput(event.reason)
    copy.flush()
    return Path(copy.name)
