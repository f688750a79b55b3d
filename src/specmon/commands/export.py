"""`specmon export prometheus`: the live figures on a page that Prometheus reads."""

from __future__ import annotations

import asyncio
import signal
import sys
from functools import partial
from typing import Any

import click

from specmon.commands.asking import UserPrompt
from specmon.commands.connect import follow
from specmon.commands.pageserver import serving
from specmon.errors import ConfigError
from specmon.feeds.live import LiveFeed
from specmon.monitor.feed import Feed
from specmon.monitor.snapshot import Snapshot
from specmon.reports.prometheus import prometheus_text
from specmon.sources.loopback import is_loopback

PATH = "/metrics"
_KEPT_S = 0.5  # what is asked for again within this time is the same


def export_prometheus(*, listen: str, **followed: Any) -> int:
    """Follow servers as `connect` does and serve their figures until a signal ends it, or every source has ended.

    Raises ConfigError when nothing can listen at `listen`.
    """
    host, port = listening_place(listen)
    if not is_loopback(host):
        click.echo(
            f"specmon: {host} can be reached from other machines, and there is no login: whoever asks is told the "
            "names and speeds of your servers. Let a firewall choose who may, or listen on 127.0.0.1.",
            err=True,
        )
    return follow(**followed, rivals="tell", prompt=UserPrompt(), present=partial(publish, host=host, port=port))


def listening_place(listen: str) -> tuple[str, int]:
    """Address and port of `ADDRESS:PORT`, `[V6]:PORT` or `PORT`, which is one on this machine's loopback.

    Raises ConfigError when it is none of them.
    """
    host, _, digits = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    is_whole = digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) < 65536
    if not is_whole or (":" in host and not listen.startswith("[")) or (not host and ":" in listen):
        raise ConfigError(f"--listen {listen!r} is no address and port. Write it as 127.0.0.1:9753.")
    return host or "127.0.0.1", int(digits)


async def publish(feed: LiveFeed, *, host: str, port: int) -> int:
    """Run a feed and serve its figures; the exit status, 128 and the signal's number when one has ended it."""
    page = Page(feed)
    signals: list[int] = []
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(feed.run())

    def end(number: int) -> None:
        signals.append(number)
        running.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        async with serving(lambda accept: page.text(accept, now=loop.time()), path=PATH, host=host, port=port) as bound:
            shown = f"[{host}]" if ":" in host else host
            click.echo(f"The figures are at http://{shown}:{bound}{PATH} for Prometheus. Ctrl+C ends it.")
            sys.stdout.flush()
            await asyncio.wait({running})
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another address with --listen."
        ) from error
    finally:
        running.cancel()
        await asyncio.wait({running})
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    if signals:
        return 128 + signals[0]
    running.result()
    return 0


class Page:
    """The page of a feed; its picture is kept for a moment, so that one is made now and then, however many ask."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._kept: Snapshot | None = None
        self._at = 0.0

    def text(self, accept: str, *, now: float) -> tuple[bytes, str]:
        """The page and its content type for a scraper that reads `accept`, at a moment of any steady clock."""
        if self._kept is None or now - self._at >= _KEPT_S:
            self._kept, self._at = self._feed.snapshot(), now
        return prometheus_text(self._kept, accept)
