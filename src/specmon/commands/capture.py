"""`specmon capture`: logs and the conditions of their servers, as they come, into one directory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import click

from specmon.captures.writer import make_folder
from specmon.commands.connect import found_channels, named_channels
from specmon.commands.loop import run_whole
from specmon.commands.page_access import PageOptions, page_access
from specmon.commands.places import Hosts, SshOptions
from specmon.commands.recording import recorder_of
from specmon.commands.survey import THIS_MACHINE, machine_of
from specmon.commands.tail_output import Teller
from specmon.errors import UnreadableInput
from specmon.feeds.live import Channel, LiveFeed
from specmon.feeds.recorder import Recorder
from specmon.monitor.session import Session
from specmon.sources.address import SourceAddress, host_of, parse_source, path_exists
from specmon.sources.events import SourceEvent
from specmon.sources.follow import BACKFILL_BYTES
from specmon.visible import visible

EXIT_REFUSED = 2
_POLL_S = 0.2


def capture(
    *, sources: Sequence[str], out: Path, for_s: float | None, from_start: bool, ssh: SshOptions, pages: PageOptions
) -> int:
    """Capture until the user quits or the time is over; 2 when writing has failed or every source was refused."""
    access = page_access(pages, first_host=_first_host(sources), environ=os.environ)
    make_folder(out)  # before anybody is asked for a password
    hosts = [word for word in sources if is_host(word)]
    named = [parse_source(word) for word in sources if not is_host(word)]
    backfill_bytes = None if from_start else BACKFILL_BYTES

    async def run() -> int:
        async with Hosts(ssh, access=access) as open_hosts:
            session = Session(is_watched=False, is_measured=False)
            channels: list[Channel] = []
            if named:
                given: list[tuple[None, SourceAddress]] = [(None, address) for address in named]
                channels += await named_channels(session, given, open_hosts, backfill_bytes=backfill_bytes)
            if hosts:
                machines = [machine_of(word, open_hosts) for word in dict.fromkeys(hosts)]
                first = len(channels) + 1
                channels += await found_channels(
                    session, machines, first=first, backfill_bytes=backfill_bytes, access=access
                )
            if not channels:
                raise UnreadableInput("there is no log to capture. Name logs as HOST:PATH.")
            recorder = recorder_of(out, session, channels)
            tellers = {channel.key: Teller(channel.source.name) for channel in channels}
            for channel in channels:
                click.echo(f"specmon: capturing {visible(channel.source.name)}", err=True)
            feed = _TellingFeed(session, channels, recorder, tellers)
            return await _until_over(feed, recorder, for_s, len(channels), out)

    return run_whole(run())


def is_host(word: str) -> bool:
    """Whether a word names a machine whose servers are to be found, and not a log."""
    if word == THIS_MACHINE:
        return True
    if path_exists(word) or "/" in word or word == "-" or "=" in word:
        return False
    if word.startswith("["):
        return word.endswith("]")
    return ":" not in word


def _first_host(sources: Sequence[str]) -> str:
    """The first machine that a word means."""
    if is_host(sources[0]):
        return sources[0]
    host = host_of(parse_source(sources[0]).place)
    return THIS_MACHINE if host is None else host.name


class _TellingFeed(LiveFeed):
    """A live feed that tells on stderr what becomes of its sources."""

    def __init__(
        self, session: Session, channels: Sequence[Channel], recorder: Recorder, tellers: dict[str, Teller]
    ) -> None:
        super().__init__(session, channels, clock=time.time, recorder=recorder)
        self._tellers = tellers

    def take(self, key: str, event: SourceEvent) -> None:
        super().take(key, event)
        if (sentence := self._tellers[key].sentence(event)) is not None:
            click.echo(f"specmon: {visible(sentence)}", err=True)

    def tell(self, key: str, reason: str) -> None:
        super().tell(key, reason)
        if self._recorder is None or reason != self._recorder.fault:  # that is told at the end
            click.echo(f"specmon: {visible(f'{self._tellers[key].name}: {reason}')}.", err=True)


async def _until_over(feed: LiveFeed, recorder: Recorder, for_s: float | None, sources: int, out: Path) -> int:
    loop = asyncio.get_running_loop()
    signals: list[int] = []
    signalled = asyncio.Event()

    def end(number: int) -> None:
        signals.append(number)
        signalled.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    running = asyncio.create_task(feed.run())
    ends_at = None if for_s is None else time.monotonic() + for_s
    try:
        while not running.done() and not signals and recorder.fault is None:
            if ends_at is not None and time.monotonic() >= ends_at:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(signalled.wait(), _POLL_S)
    finally:
        running.cancel()
        await asyncio.wait({running})
        recorder.close()
    if not running.cancelled() and (error := running.exception()) is not None:
        raise error
    if recorder.fault is not None:
        click.echo(f"specmon: {visible(recorder.fault)}", err=True)
        return EXIT_REFUSED
    shown = visible(os.fspath(out))
    click.echo(
        f"specmon: {recorder.size_bytes:,} bytes of {sources} logs are in {shown}. See `specmon replay {shown}`.",
        err=True,
    )
    if signals:
        return 128 + signals[0]  # 130 after Ctrl-C
    return EXIT_REFUSED if len(feed.refusals) == sources else 0
